//! The scene of a fault: an engine in a hermetic home, and looks at the processes it is made of. No
//! tests here.

use bashd::KeeperSource;
use bashd::config::{Config, Surroundings};
use bashd::{CancellationToken, Engine, Event, Reply, Request, Running};
use bashd_testkit::Home;
use bashd_testkit::keeper_hook::{MARK, process_mark};
use bashd_testkit::processes::{self, Process};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// The profile of these tests: `default`, with any limit allowed and a short grace.
pub(super) const SWIFT: &str = "swift";

/// From TERM to KILL in [`SWIFT`].
pub(super) const GRACE: Duration = Duration::from_millis(200);

/// What a bound may be missed by: other programs run on the machine as well.
pub(super) const SLACK: Duration = Duration::from_secs(8);

/// A limit that a test never reaches unless something is wrong.
pub(super) const PATIENCE: Duration = Duration::from_secs(40);

/// An engine and its home. Fields are dropped in this order, and the home's end is the leak check.
pub(super) struct Scene {
    pub(super) engine: Engine,
    runtime: Runtime,
    pub(super) home: Home,
}

/// A reply, and how long it took.
pub(super) struct Answer {
    pub(super) reply: Reply,
    pub(super) took: Duration,
}

impl Scene {
    /// An engine in a fresh home.
    pub(super) fn new() -> Self {
        Self::with(Home::new(), |_| {})
    }

    /// A scene whose survivors leave a log, which may stay in the state directory.
    pub(super) fn with_logs() -> Self {
        Self::with(Home::new().keeping_in_state(&["runs"]), |_| {})
    }

    /// An engine in this home, with its configuration changed.
    pub(super) fn with(home: Home, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(home.state());
        config.profiles_dir = Some(write_profile(&home));
        change(&mut config);
        let runtime = runtime();
        let surroundings = Surroundings {
            cwd: home.workspace(),
            env: home.env(),
        };
        let engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
        Self {
            engine,
            runtime,
            home,
        }
    }

    /// Runs a request to its reply.
    pub(super) fn run(&self, request: Request) -> Answer {
        let begun = Instant::now();
        let reply = self.runtime.block_on(self.engine.run(request));
        let took = begun.elapsed();
        Answer { reply, took }
    }

    /// Runs requests at once, each to its reply.
    pub(super) fn run_at_once(&self, requests: impl IntoIterator<Item = Request>) -> Vec<Answer> {
        self.runtime.block_on(async {
            let calls: Vec<_> = requests
                .into_iter()
                .map(|request| {
                    let engine = self.engine.clone();
                    tokio::spawn(async move {
                        let begun = Instant::now();
                        let reply = engine.run(request).await;
                        let took = begun.elapsed();
                        Answer { reply, took }
                    })
                })
                .collect();
            let mut answers = Vec::new();
            for call in calls {
                answers.push(call.await.expect("a call that does not panic"));
            }
            answers
        })
    }

    /// Runs a request until `is_enough` of its output so far, then does something, and goes on to
    /// the reply.
    pub(super) fn run_and(
        &self,
        request: Request,
        is_enough: impl Fn(&str) -> bool,
        act: impl FnOnce(&str),
    ) -> Answer {
        self.runtime.block_on(async {
            let mut running = self.engine.stream(request);
            let seen = until_output(&mut running, is_enough).await;
            let begun = Instant::now();
            act(&seen);
            let reply = finished(running).await;
            let took = begun.elapsed();
            Answer { reply, took }
        })
    }

    /// Runs a request until it wrote a line, then cancels it.
    pub(super) fn run_and_cancel(&self, request: Request) -> Answer {
        let token = CancellationToken::new();
        self.runtime.block_on(async {
            let call = bashd::Call::from(request).cancel_by(token.clone());
            let mut running = self.engine.stream(call);
            until_output(&mut running, |text| text.contains('\n')).await;
            let begun = Instant::now();
            token.cancel();
            let reply = finished(running).await;
            let took = begun.elapsed();
            Answer { reply, took }
        })
    }

    /// Runs a request until it wrote a line, then forgets about it; returns what it wrote.
    pub(super) fn run_and_drop(&self, request: Request) -> String {
        self.runtime.block_on(async {
            let mut running = self.engine.stream(request);
            until_output(&mut running, |text| text.contains('\n')).await
        })
    }

    /// Runs a future where the engine's futures run.
    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Runs `echo` to show that the engine is as good as new.
    pub(super) fn still_works(&self) {
        let Answer { reply, .. } = self.run(request("echo again"));
        assert_eq!(reply.text, "again\n", "{reply:?}");
        assert_eq!(reply.exit_code, Some(0), "{reply:?}");
    }

    /// The processes of commands that run now.
    pub(super) fn commands(&self) -> Vec<Process> {
        processes::with_variable(MARK, self.home.mark())
    }

    /// Fails if anything of a command runs at this moment.
    pub(super) fn nothing_runs(&self) {
        let left = self.commands();
        assert!(left.is_empty(), "still there: {left:?}");
    }

    /// Fails unless everything of a command ends soon.
    pub(super) fn everything_ends(&self) {
        wait_until("everything of the command has ended", || {
            self.commands().is_empty()
        });
    }

    /// A path in the command's working directory.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.home.workspace().join(name)
    }

    /// The text of a file that a command writes, once it has a whole line.
    pub(super) fn line_of(&self, name: &str) -> String {
        let path = self.file(name);
        let read = || std::fs::read_to_string(&path).unwrap_or_default();
        wait_until("a file of the command has a line", || {
            read().ends_with('\n')
        });
        read().trim().to_owned()
    }

    /// Makes an empty file, for which a command waits (see [`WAIT_FOR_GO`]).
    pub(super) fn go(&self) {
        std::fs::write(self.file("go"), "").expect("a file in the workspace");
    }
}

/// A piece of script that waits, bounded, until the test says so.
pub(super) const WAIT_FOR_GO: &str =
    "for i in {1..500}; do [ -e go ] && break; sleep 0.02; done; [ -e go ] || exit 99";

/// A call of `command` in the profile of these tests.
pub(super) fn request(command: impl Into<String>) -> Request {
    Request::new(command).profile(SWIFT)
}

/// Whether this run of the test is the one that nothing is refused to.
pub(super) fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// The runtime that a small host would have.
pub(super) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Writes the profile of these tests into a home; returns the directory of its profiles.
pub(super) fn write_profile(home: &Home) -> PathBuf {
    let directory = home.config().join("profiles");
    std::fs::create_dir_all(&directory).expect("a directory for profiles");
    write_profile_as(&directory, SWIFT, |line| Some(line.to_owned()));
    directory
}

/// Writes a profile that is [`SWIFT`] with its lines changed.
pub(super) fn write_profile_as(
    directory: &Path,
    name: &str,
    change: impl Fn(&str) -> Option<String>,
) {
    let grace = format!("grace_ms = {}", GRACE.as_millis());
    let text: String = include_str!("../../../profiles/default.toml")
        .replace("name = \"default\"", &format!("name = \"{name}\""))
        .replace("grace_ms = 2000", &grace)
        .lines()
        .filter(|line| !line.starts_with("timeout_range_s"))
        .filter_map(change)
        .map(|line| line + "\n")
        .collect();
    assert!(text.contains(&grace), "{text}");
    std::fs::write(directory.join(format!("{name}.toml")), text).expect("a profile's file");
}

/// The directories in a state directory's place for runs.
pub(super) fn runs_in(state: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(state.join("runs")).expect("a directory of runs");
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.is_dir()).collect()
}

/// Reads events until the output so far is enough; returns it.
pub(super) async fn until_output(
    running: &mut Running,
    is_enough: impl Fn(&str) -> bool,
) -> String {
    let mut seen = String::new();
    while !is_enough(&seen) {
        match running.next().await {
            Some(Event::Output { text, .. }) => seen.push_str(&text),
            Some(Event::Finished(reply)) => panic!("it ended too early: {reply:?}"),
            Some(_) => {}
            None => panic!("no event after the last"),
        }
    }
    seen
}

/// Reads events to the last.
pub(super) async fn finished(mut running: Running) -> Reply {
    loop {
        match running.next().await {
            Some(Event::Finished(reply)) => return *reply,
            Some(_) => {}
            None => panic!("the last event did not come"),
        }
    }
}

/// Waits, bounded, for something that no descriptor tells.
pub(super) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not in {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A running process, held so that its pid can't come to mean another.
pub(super) struct Held {
    pid: Pid,
    fd: OwnedFd,
}

impl Held {
    /// Holds the process with this pid, which must be there.
    pub(super) fn open(pid: i32) -> Self {
        let pid = Pid::from_raw(pid).expect("a pid");
        let fd = rustix::process::pidfd_open(pid, PidfdFlags::empty());
        Self {
            pid,
            fd: fd.expect("the process is there"),
        }
    }

    /// Holds the process whose pid a command wrote.
    pub(super) fn written(text: &str) -> Self {
        Self::open(text.trim().parse().expect("a pid"))
    }

    /// Waits for its end; says whether it came in time.
    pub(super) fn ends_within(&self, limit: Duration) -> bool {
        let timeout = Timespec::try_from(limit).expect("a limit that fits a timespec");
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        rustix::event::poll(&mut fds, Some(&timeout)).expect("a poll") > 0
    }

    /// Whether it is still there.
    pub(super) fn lives(&self) -> bool {
        !self.ends_within(Duration::ZERO)
    }

    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) {
        rustix::process::pidfd_send_signal(&self.fd, signal).expect("a signal to our own process");
    }

    /// Stops it, and waits until it is stopped.
    pub(super) fn stop(&self) {
        self.signal(Signal::STOP);
        let pid = self.raw();
        wait_until("a process is stopped", || state_of(pid) == Some('T'));
    }

    /// Its pid.
    pub(super) fn raw(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Its pid for system calls that take no pidfd.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }
}

/// The state letter of a process.
pub(super) fn state_of(pid: i32) -> Option<char> {
    let all = processes::all();
    let found = all.into_iter().find(|process| process.pid == pid);
    found.map(|process| process.state)
}

/// The fork server of the one engine in this program.
pub(super) fn fork_server() -> Held {
    let all = keeper_processes();
    let is_child = |process: &Process| all.iter().any(|other| other.pid == process.parent);
    let mut servers = all.iter().filter(|process| !is_child(process));
    let server = servers.next().expect("a fork server");
    assert!(servers.next().is_none(), "more than one: {all:?}");
    Held::open(server.pid)
}

/// The keeper that waits for the next call, while nothing else runs.
pub(super) fn spare_keeper() -> Held {
    let server = fork_server().raw();
    // Exactly one: the keeper of the last call may still be on its way out. It sleeps once it has
    // opened its spool and rehearsed a start.
    let spare = || {
        let mut all = keeper_processes();
        all.retain(|process| process.parent == server);
        let [spare] = all.as_slice() else { return None };
        let stat = fs::read_to_string(format!("/proc/{}/stat", spare.pid)).ok()?;
        stat.contains(") S ").then_some(spare.pid)
    };
    wait_until("the spare keeper has got ready", || spare().is_some());
    Held::open(spare().expect("it stays until it is used"))
}

fn keeper_processes() -> Vec<Process> {
    let mut all = processes::with_variable(MARK, process_mark());
    all.retain(|process| process.command == "bashd-keeper");
    all
}
