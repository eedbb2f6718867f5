//! An engine in a process of its own, which a test may stop and kill.
//!
//! The process is this test program once more, running the one test of this file, which sees by
//! [`JOB`] that it is to be the host. What happens there is told by lines on its stdout that begin
//! with `@`.

use super::scene::{SWIFT, runtime, wait_until, write_profile};
use bashd::KeeperSource;
use bashd::config::{Config, Surroundings};
use bashd::{Engine, Event, Request};
use bashd_testkit::keeper_hook::{MARK, process_mark};
use bashd_testkit::{Home, as_each_user, forked, processes};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The variable that holds a host's [`Job`].
const JOB: &str = "BASHD_TEST_HOST_JOB";

/// The test that is a host.
const NAME: &str = "faults::host::a_host_runs_a_command_and_tells_how_it_went";

/// What a host does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Job {
    state: PathBuf,
    profiles: PathBuf,
    cwd: PathBuf,
    env: Vec<(OsString, OsString)>,
    command: String,
    profile: String,
    limit: Duration,
    aside: Aside,
}

/// What a host does besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Aside {
    /// Nothing.
    Nothing,
    /// Forks without exec while the command runs, so that another process holds its sockets.
    Forks,
}

impl Job {
    /// One call of `command`.
    pub(super) fn new(home: &Home, command: impl Into<String>, limit: Duration) -> Self {
        Self {
            state: home.state(),
            profiles: write_profile(home),
            cwd: home.workspace(),
            env: home.env(),
            command: command.into(),
            profile: SWIFT.to_owned(),
            limit,
            aside: Aside::Nothing,
        }
    }

    /// The same with something besides.
    pub(super) fn aside(mut self, aside: Aside) -> Self {
        self.aside = aside;
        self
    }

    /// The same with its state elsewhere.
    pub(super) fn state(mut self, state: PathBuf) -> Self {
        self.state = state;
        self
    }

    /// The same under another profile.
    pub(super) fn profile(mut self, name: &str) -> Self {
        name.clone_into(&mut self.profile);
        self
    }

    /// The variable that makes a copy of this program a host, and its value.
    pub(super) fn variable(&self) -> (&'static str, String) {
        let job = serde_json::to_string(self).expect("a job as text");
        (JOB, job)
    }
}

/// The arguments that make a copy of this program run its one test as host.
pub(super) const ARGUMENTS: [&str; 5] = [
    "--exact",
    NAME,
    "--nocapture",
    "--include-ignored",
    "--test-threads=1",
];

/// A running host.
pub(super) struct Host {
    child: Child,
    lines: BufReader<ChildStdout>,
    /// What every process carries that the host started.
    mark: String,
}

impl Host {
    /// Starts a host.
    pub(super) fn start(job: &Job) -> Self {
        Self::start_by(&mut Command::new("/proc/self/exe"), job)
    }

    /// Starts a host by another program, which execs the rest of its arguments.
    pub(super) fn start_by(program: &mut Command, job: &Job) -> Self {
        let (name, value) = job.variable();
        let mut child = program
            .args(ARGUMENTS)
            .env(name, value)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a host");
        let lines = BufReader::new(child.stdout.take().expect("its stdout"));
        let mark = String::new();
        let mut host = Self { child, lines, mark };
        host.mark = host.hear("mark");
        host
    }

    /// Waits for the host's word about `what`.
    pub(super) fn hear(&mut self, what: &str) -> String {
        let mut all = String::new();
        loop {
            let begins = all.len();
            let count = self.lines.read_line(&mut all).expect("the host's stdout");
            assert!(count > 0, "no {what:?} in what the host said:\n{all}");
            let line = all.get(begins..).unwrap_or_default().trim_end();
            let word = line.strip_prefix('@').and_then(|line| line.split_once(' '));
            if let Some((_, text)) = word.filter(|(name, _)| *name == what) {
                return text.to_owned();
            }
        }
    }

    /// Waits for the reply.
    pub(super) fn reply(&mut self) -> Value {
        serde_json::from_str(&self.hear("reply")).expect("a reply as JSON")
    }

    /// What every process carries that it started.
    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// Its pid.
    pub(super) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits for its end; it must be a good one.
    pub(super) fn ends_well(mut self) {
        let mut rest = String::new();
        let _ = self.lines.read_to_string(&mut rest);
        let status = self.child.wait().expect("the host's status");
        assert!(status.success(), "{status}: {rest}");
    }

    /// Waits until nothing is left that this host started.
    pub(super) fn leaves_nothing(&self) {
        wait_until("keepers of the host have left", || {
            processes::with_variable(MARK, &self.mark).is_empty()
        });
    }

    /// Kills it, and waits for that.
    pub(super) fn kill(&mut self) {
        self.child.kill().expect("a signal to our child");
        self.child.wait().expect("our child's status");
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // A test that failed: the keepers see to the rest.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_host_runs_a_command_and_tells_how_it_went() {
    if let Ok(job) = std::env::var(JOB) {
        return be_host(&serde_json::from_str(&job).expect("a job"));
    }
    as_each_user(|| {
        let home = Home::new();
        let job = Job::new(&home, "echo hello; exit 3", Duration::from_secs(10));
        let mut host = Host::start(&job);
        host.hear("started");
        assert_eq!(host.hear("output"), "\"hello\\n\"");
        assert_eq!(host.reply()["exit_code"], 3);
        host.ends_well();
    });
}

fn be_host(job: &Job) {
    say("mark", process_mark());
    let mut config = Config::new(&job.state);
    config.profiles_dir = Some(job.profiles.clone());
    let surroundings = Surroundings {
        cwd: job.cwd.clone(),
        env: job.env.clone(),
    };
    let runtime = runtime();
    let engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
    let request = Request::new(&job.command)
        .profile(&job.profile)
        .timeout(job.limit);
    runtime.block_on(async {
        let mut running = engine.stream(request);
        while let Some(event) = running.next().await {
            match event {
                Event::Started { pid } => {
                    if job.aside == Aside::Forks {
                        say("forked", &forked::without_exec().to_string());
                    }
                    say("started", &pid.to_string());
                }
                Event::Output { text, .. } => say("output", &Value::from(text).to_string()),
                Event::Finished(reply) => {
                    let reply = serde_json::to_string(&reply).expect("a reply as JSON");
                    say("reply", &reply);
                }
                other => panic!("an event that nobody told us about: {other:?}"),
            }
        }
    });
}

/// Says something to the test; on a line of its own, whatever the harness has printed.
fn say(name: &str, text: &str) {
    let mut stdout = std::io::stdout();
    write!(stdout, "\n@{name} {text}\n")
        .and_then(|()| stdout.flush())
        .expect("the test listens");
}
