//! A profile on the real engine in a hermetic home, and what a contract needs to ask of it. No
//! tests here.

use crate::at_a_place;
use crate::engine_under_test;
use bashd::config::{Config, Surroundings};
use bashd::ledger::{Ledger, Record, RecordQuery};
use bashd::{Call, Engine, Reply, Request};
use bashd_testkit::Home;
use bashd_testkit::keeper_hook::MARK;
use bashd_testkit::processes::{self, Process};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Limits that are tried one after the other until the command got as far as the test wants.
const LIMITS: [Duration; 4] = [
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(16),
];

/// How long a process may take to end after it was told to: its grace of 2 s, and a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The compiled-in profiles as text, for copies that differ in a few words.
const TEXTS: &[(&str, &str)] = &[
    ("default", include_str!("../../profiles/default.toml")),
    ("gemini", include_str!("../../profiles/gemini.toml")),
    ("harness", include_str!("../../profiles/harness.toml")),
    ("openhands", include_str!("../../profiles/openhands.toml")),
    ("phoenix", include_str!("../../profiles/phoenix.toml")),
    ("voice", include_str!("../../profiles/voice.toml")),
];

/// A profile and the engine that runs it.
pub(crate) struct Contract {
    pub(crate) engine: Engine,
    profile: String,
}

impl Contract {
    /// The profile of that name on an engine of its own.
    pub(crate) fn new(home: &Home, profile: &str) -> Self {
        Self::on(&engine_under_test::engine(home), profile)
    }

    /// The profile of that name on this engine.
    pub(crate) fn on(engine: &Engine, profile: &str) -> Self {
        Self {
            engine: engine.clone(),
            profile: profile.to_owned(),
        }
    }

    /// A request that names the profile.
    pub(crate) fn request(&self, command: impl Into<String>) -> Request {
        let request = Request::new(command).profile(&self.profile);
        match at_a_place::program() {
            Some(_) => request.on(at_a_place::NAME),
            None => request,
        }
    }

    /// Runs a command to its reply.
    pub(crate) async fn run(&self, command: impl Into<String>) -> Reply {
        self.engine.run(self.request(command)).await
    }

    /// Runs a command; only what the model sees of the reply.
    pub(crate) async fn text(&self, command: impl Into<String>) -> String {
        self.run(command).await.text
    }

    /// Runs a model's JSON arguments.
    pub(crate) async fn json(&self, input: &str) -> Reply {
        self.engine.run(Call::json(input, self.request(""))).await
    }

    /// Calls the tool of that name with a model's arguments.
    pub(crate) async fn tool(&self, name: &str, input: &Value) -> Reply {
        let call = Call::json(input.to_string(), self.request(""));
        self.engine.run(call.tool(name)).await
    }

    /// Lets a command run into its limit, and longer limits until it was `ready` by then.
    ///
    /// A fixed limit would be a guess at how fast this machine starts a shell.
    pub(crate) async fn timed_out(
        &self,
        command: &str,
        ready: impl Fn(&Reply) -> bool,
    ) -> (Reply, Duration) {
        for limit in LIMITS {
            let reply = self.engine.run(self.request(command).timeout(limit)).await;
            assert!(reply.timed_out, "no timeout after {limit:?}: {reply:?}");
            if ready(&reply) {
                return (reply, limit);
            }
        }
        panic!("not ready after {LIMITS:?}: {command}");
    }
}

/// A directory of the user's own profiles, where copies of compiled-in ones can be put.
pub(crate) fn profiles_dir(home: &Home) -> PathBuf {
    home.config().join("profiles")
}

/// Makes the user's own profile `name`: the compiled-in `original` with some words replaced.
pub(crate) fn copy_profile(home: &Home, original: &str, name: &str, words: &[(&str, &str)]) {
    let (_, text) = TEXTS
        .iter()
        .find(|(known, _)| *known == original)
        .expect("a compiled-in profile");
    let own_name = (
        &*format!("name = \"{original}\""),
        &*format!("name = \"{name}\""),
    );
    let mut text = (*text).to_owned();
    for (from, to) in words.iter().chain([&own_name]) {
        assert!(text.contains(from), "{original}.toml has no {from}");
        text = text.replacen(from, to, 1);
    }
    fs::create_dir_all(profiles_dir(home)).expect("a directory for profiles");
    fs::write(profiles_dir(home).join(format!("{name}.toml")), text).expect("a profile");
}

/// An engine that finds the user's own profiles, and runs in `cwd`.
pub(crate) fn engine_with_own_profiles(home: &Home, cwd: PathBuf) -> Engine {
    let mut config = Config::new(home.state());
    config.profiles_dir = Some(profiles_dir(home));
    let surroundings = Surroundings {
        cwd,
        env: home.env(),
    };
    engine_under_test::engine_of(config, surroundings)
}

/// What runs of the test's commands at this moment. Keepers carry another mark.
pub(crate) fn running(home: &Home) -> Vec<Process> {
    let mut running = processes::with_variable(MARK, home.mark());
    if at_a_place::program().is_some() {
        running.retain(|process| !process.is_of_outpost());
    }
    running
}

/// The running process with this id, if there is one.
pub(crate) fn process(pid: i32) -> Option<Process> {
    let mut all = processes::all().into_iter();
    all.find(|process| process.pid == pid && process.state != 'Z')
}

/// Waits until nothing of the test's commands runs. What was in the middle of its exec is seen at a
/// later look.
pub(crate) fn wait_until_nothing_runs(home: &Home) {
    let begun = Instant::now();
    loop {
        let running = running(home);
        if running.is_empty() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{running:?}");
        for process in running {
            process.wait_for_end(PATIENCE);
        }
    }
}

/// Ends what a command left on purpose, and waits for its end. It is held first: it may be about to
/// start something.
pub(crate) fn end(reply: &Reply) {
    let mut left: Vec<Process> = Vec::new();
    let mut found: Vec<i32> = reply.left_behind.iter().map(|left| left.pid).collect();
    while let Some(pid) = found.pop() {
        let Some(process) = process(pid) else {
            continue;
        };
        process.hold();
        found.extend(process.children());
        left.push(process);
    }
    for process in left {
        process.kill();
        process.wait_for_end(PATIENCE);
    }
}

/// The ledger's records, oldest first.
pub(crate) fn records(home: &Home) -> Vec<Record> {
    let config = Config::new(home.state());
    let ledger = Ledger::new(config.ledger, config.ledger_dir());
    let records = ledger.read(RecordQuery::default()).expect("a ledger");
    let mut records: Vec<Record> = records.map(|record| record.expect("a record")).collect();
    records.reverse();
    records
}
