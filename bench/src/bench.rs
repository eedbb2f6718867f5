//! What all workloads share: a temporary home, a runtime, engines, and an end of everything.

use crate::measure::Effort;
use crate::processes;
use anyhow::{Context, Result, ensure};
use bashd::{Call, Config, Engine, KeeperSource, Reply, Surroundings};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Pause before a short measurement. What the last one left to do (a keeper leaves, the next one is
/// forked) is then over and burdens neither side, as it is between two calls of an agent.
const PAUSE: Duration = Duration::from_millis(2);

/// How long the processes of a workload may take to leave.
const LEAVE_WITHIN: Duration = Duration::from_secs(10);

/// Longer than an engine waits before it asks for its next spare keeper.
const ASKED_WITHIN: Duration = Duration::from_millis(5);

/// The thread by which an engine removes old output.
const SWEEPER: &str = "bashd-sweep";

/// Processes of an engine at rest: the fork server, and the keeper for the next call.
const AT_REST: usize = 2;

/// The surroundings of every workload.
pub(crate) struct Bench {
    pub(crate) effort: Effort,
    /// Absolute path of bash, for what runs without an engine.
    pub(crate) bash: PathBuf,
    /// The environment on both sides.
    pub(crate) env: Vec<(OsString, OsString)>,
    home: TempDir,
    runtime: Runtime,
}

impl Bench {
    /// Makes a home that is removed at the end.
    pub(crate) fn new(effort: Effort) -> Result<Self> {
        // So everything that is started below this process can be found, and ended, by walking.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let path = std::env::var_os("PATH").context("there is no PATH")?;
        let bash = std::env::split_paths(&path)
            .map(|directory| directory.join("bash"))
            .find(|candidate| candidate.is_file())
            .context("there is no bash in PATH")?;
        let home = tempfile::Builder::new().prefix("bashd-bench-").tempdir()?;
        let env = vec![
            ("HOME".into(), home.path().into()),
            ("BASHD_HOME".into(), home.path().join("bashd").into()),
            ("PATH".into(), path),
        ];
        Ok(Self {
            effort,
            bash,
            env,
            home,
            runtime: runtime()?,
        })
    }

    /// The temporary directory.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// An engine with the default configuration, as changed.
    pub(crate) fn engine(&self, change: impl FnOnce(&mut Config)) -> Result<Engine> {
        let mut config = Config::new(self.home().join("state"));
        change(&mut config);
        engine(config, self.env.clone())
    }

    /// Likewise, with calls that run in the temporary directory unless they say where.
    pub(crate) fn engine_at_home(&self, change: impl FnOnce(&mut Config)) -> Result<Engine> {
        let mut config = Config::new(self.home().join("state"));
        change(&mut config);
        let surroundings = Surroundings {
            cwd: self.home().to_owned(),
            env: self.env.clone(),
        };
        Ok(Engine::new(config, surroundings, KeeperSource::Hook)?)
    }

    /// Waits for a future on this thread.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// One call; how long it took, and the reply, which must be a success.
    pub(crate) fn call(&self, engine: &Engine, call: impl Into<Call>) -> Result<(Duration, Reply)> {
        let call = call.into();
        let begun = Instant::now();
        let reply = self.runtime.block_on(engine.run(call));
        let took = begun.elapsed();
        ensure!(reply.exit_code == Some(0), "the reply is {reply:?}");
        Ok((took, reply))
    }

    /// Lets go by what the last short measurement left to do.
    #[expect(clippy::unnecessary_wraps, reason = "one of several ways to settle")]
    pub(crate) fn pause() -> Result<()> {
        std::thread::sleep(PAUSE);
        Ok(())
    }

    /// Waits until the only engine is at rest: closing a large spool takes a while.
    pub(crate) fn rest() -> Result<()> {
        // By then the keeper for the next call is there too: while there is none, one that still
        // clears up looks like it.
        std::thread::sleep(ASKED_WITHIN);
        until_at_most(AT_REST, "an engine did not come to rest")?;
        until_nothing_is_swept()
    }

    /// Ends what a workload left, and complains if there was anything.
    pub(crate) fn end_everything(workload: &str) -> Result<()> {
        if until_at_most(0, "").is_ok() {
            return Ok(());
        }
        let left = processes::below();
        for pid in &left {
            processes::end(*pid);
        }
        anyhow::bail!("{workload} left processes, which were killed: {left:?}")
    }
}

/// Waits for what engines of ours remove beside their calls: a file of 1 GiB takes a core a fifth
/// of a second.
fn until_nothing_is_swept() -> Result<()> {
    let begun = Instant::now();
    while processes::threads().iter().any(|name| name == SWEEPER) {
        let is_in_time = begun.elapsed() < LEAVE_WITHIN;
        ensure!(is_in_time, "a sweep does not come to its end");
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Waits for the processes below us to become so few.
fn until_at_most(count: usize, complaint: &str) -> Result<()> {
    let begun = Instant::now();
    while processes::below().len() > count {
        ensure!(begun.elapsed() < LEAVE_WITHIN, "{complaint}");
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// A runtime as a host with one thread has it.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

/// An engine whose keepers are this program.
pub(crate) fn engine(config: Config, env: Vec<(OsString, OsString)>) -> Result<Engine> {
    let cwd = std::env::current_dir()?;
    let surroundings = Surroundings { cwd, env };
    Ok(Engine::new(config, surroundings, KeeperSource::Hook)?)
}
