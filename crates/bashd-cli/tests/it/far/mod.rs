//! Places on far machines (`bashd_testkit::FarMachine`): real namespaces, a real ssh, real faults.
//!
//! The smoke case always runs; the whole with `./test --with places` and in `./soak`. The number in
//! a test's name is that of its row in `docs/places-faults.md`.
//!
//! | file | faults |
//! |---|---|
//! | `smoke` | none: a machine of its own, and nothing left of it |
//! | `carriers` | killed carriers, cut frames, sshd's processes (1 to 3) |
//! | `absence` | the machine, the network, the engine, the outpost are gone or stand still (4 to 7) |
//! | `furnishing` | disks, shells, programs, clocks that are not what they should be (14 to 20) |
//! | `letting_in` | logins that fail or are crowded (17, 21, 24) |
//! | `distance` | long and narrow wires, floods (25, 26) |
//! | `hostile` | outposts that lie (23, 27) |
//! | `liar` | (no tests) what lies |
//! | `oracle` | none: the scripts of the oracle through an outpost on this machine |
//! | `agent` | whole agent loops with their carriers killed |
//! | `upload` | a program that is sent, and what logins leave (15, 18, 22, 28) |
//! | `pages` | none: what the pages about places show, on a far machine |
//! | `kubernetes` | pods, in a Kubernetes of one node (12); `./test --with kubernetes` |
//! | `slurm`, `slurm_jobs`, `slurm_maps` | allocations, in a Slurm of three nodes (8 to 11); `./test --with slurm` |
//! | `containers` | containers, by podman (13); `./test --with containers` |
//! | `images` | images that lack something (16, 19); likewise |

mod absence;
mod agent;
mod carriers;
mod containers;
mod distance;
mod furnishing;
mod hostile;
mod images;
mod kubernetes;
mod letting_in;
mod liar;
mod oracle;
mod pages;
mod slurm;
mod slurm_jobs;
mod slurm_maps;
mod smoke;
mod upload;

use bashd::place::{PlaceKind, PlaceSettings};
use bashd::{Config, Engine, KeeperSource, Reply, Request, Surroundings};
use bashd_testkit::processes::Process;
use bashd_testkit::{FarMachine, Home, far_machine, loudly, processes, repeat};
use std::ffi::OsString;
use std::fs;
use std::future::Future;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a busy machine may add to any time.
const SLACK: Duration = Duration::from_secs(6);

/// A machine, and a home here from which it is a place.
pub(super) struct Far {
    runtime: Driven,
    pub(super) machine: FarMachine,
    pub(super) home: Home,
}

/// A runtime that a thread of its own drives: calls go on while a test does something else.
struct Driven {
    handle: Handle,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Driven {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (handle, stop) = (runtime.handle().clone(), CancellationToken::new());
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || runtime.block_on(stopped.cancelled()));
        Self {
            handle,
            stop,
            thread: Some(thread),
        }
    }

    fn spawn<T: Send + 'static>(
        &self,
        what: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.handle.spawn(what)
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.stop.cancel();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Whether the whole of these tests is asked for.
pub(super) fn is_whole() -> bool {
    repeat::is_soak() || std::env::var_os("BASHD_TEST_PLACES").is_some()
}

/// A machine, if the whole of these tests is asked for.
pub(super) fn whole() -> Option<Far> {
    if !is_whole() {
        loudly("places on far machines: only the smoke case (./test --with places has the whole)");
        return None;
    }
    any()
}

/// A machine.
pub(super) fn any() -> Option<Far> {
    // First, so that its leak check sees what is left of the machine.
    let home = Home::new().keeping_in_state(&["outpost", "places"]);
    let machine = FarMachine::start(Path::new(env!("CARGO_BIN_EXE_bashd")))?;
    Some(Far {
        runtime: Driven::new(),
        machine,
        home,
    })
}

impl Far {
    /// The environment here: `ssh` is the one that reaches the machine.
    pub(super) fn env(&self) -> Vec<(OsString, OsString)> {
        let mut env = self.home.env();
        for (name, value) in &mut env {
            if name == "PATH" {
                let mut path = self.machine.client().into_os_string();
                path.push(":");
                path.push(&*value);
                *value = path;
            }
        }
        env
    }

    /// An engine with the place `far`.
    pub(super) fn engine(&self, set: impl FnOnce(&mut PlaceSettings)) -> Engine {
        let kind = PlaceKind::Ssh {
            host: "far".to_owned(),
            bin: Some(far_machine::BASHD.to_owned()),
        };
        let mut place = PlaceSettings::new("far", kind);
        set(&mut place);
        let mut config = Config::new(self.home.state());
        config.places = vec![place];
        let surroundings = Surroundings {
            cwd: self.home.workspace(),
            env: self.env(),
        };
        let made = async { Engine::new(config, surroundings, KeeperSource::Hook) };
        self.wait(made).unwrap()
    }

    pub(super) fn wait<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.handle.block_on(what)
    }

    /// Runs a command there.
    pub(super) fn run(&self, engine: &Engine, request: Request) -> Reply {
        self.wait(engine.run(request.on("far")))
    }

    /// Runs a command there, and something here once it has made the file `begun` in its home.
    pub(super) fn run_and(
        &self,
        engine: &Engine,
        request: Request,
        meanwhile: impl FnOnce(),
    ) -> Reply {
        let call = engine.clone();
        let call = (self.runtime).spawn(async move { call.run(request.on("far")).await });
        let begun = self.machine.file("/home/u/begun");
        wait_until("the command", || begun.exists() || call.is_finished());
        let has_begun = begun.exists();
        assert!(has_begun, "it never began: {:?}", self.wait(call));
        fs::remove_file(begun).unwrap();
        meanwhile();
        self.wait(call).unwrap()
    }

    /// Waits until a command has made the file `begun` in its home there, and removes it.
    pub(super) fn until_begun(&self) {
        let begun = self.machine.file("/home/u/begun");
        wait_until("the command", || begun.exists());
        fs::remove_file(begun).unwrap();
    }

    /// The configuration of `bashd run --on far`.
    pub(super) fn configure(&self, more: &str) {
        let bin = far_machine::BASHD;
        let text = format!("[places.far]\nkind = 'ssh'\nhost = 'far'\nbin = '{bin}'\n{more}");
        fs::write(self.home.config().join("config.toml"), text).unwrap();
    }

    /// `bashd run --on far`.
    pub(super) fn bashd(&self, arguments: &[&str]) -> bashd_testkit::Binary<'_> {
        self.any_bashd(&[&["run", "--on", "far"], arguments].concat())
    }

    /// bashd here, whose `ssh` is the one that reaches the machine.
    pub(super) fn any_bashd(&self, words: &[&str]) -> bashd_testkit::Binary<'_> {
        let asked = crate::bashd(&self.home, words);
        (self.env().into_iter()).fold(asked, |asked, (name, value)| asked.env(name, value))
    }

    /// The carriers that run now.
    pub(super) fn live_carriers(&self) -> Vec<Process> {
        let started = self.machine.carriers();
        let mut below = processes::below_this_one();
        below.retain(|process| started.contains(&process.pid) && process.state != 'Z');
        below
    }

    /// Lines of a file there.
    pub(super) fn lines(&self, path: &str) -> Vec<String> {
        let text = fs::read_to_string(self.machine.file(path)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

pub(super) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The error of a reply that has no status: a made-up one would be the worst of all.
pub(super) fn error_of(reply: &Reply) -> &str {
    assert_eq!(
        reply.exit_code, None,
        "a status that nobody knows: {reply:?}"
    );
    assert!(!reply.timed_out, "{reply:?}");
    reply
        .error
        .as_deref()
        .unwrap_or_else(|| panic!("no error: {reply:?}"))
}

/// That the end of a command is not known, and is said not to be.
pub(super) fn assert_unknown(reply: &Reply) {
    let error = error_of(reply);
    assert!(
        error.contains("it is not known how the command ended at the place `far`"),
        "{error}"
    );
}

/// Ends the outposts of a home: one whose engine was in no state to say that it has everything
/// keeps that for ten minutes.
pub(super) fn end_outposts(home: &Home) {
    for process in processes::with_variable(bashd_testkit::MARK, home.mark()) {
        if process.command.contains("outpost --serve") {
            process.kill();
        }
    }
}
