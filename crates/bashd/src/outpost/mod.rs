//! An outpost: the far side of a place. It carries orders out, each at most once, and keeps what
//! came of them until the near side has it.
//!
//! It outlives its carriers: a run goes on while nobody is connected, under the deadline of its
//! keeper, and is found again by its id. An order's id is written down before anything of it is
//! started, so that an order that comes again is not carried out again, not even by the next
//! outpost. Without carriers, runs and sessions it leaves after a while.

mod along;
mod connection;
mod facts;
mod hold;
mod lease;
mod runs;

pub use facts::cannot_hold;
pub use hold::{Dialled, NOBODY_HERE, dial, join, listener_of_stdin, was_here};

use crate::config::{Lease, Surroundings};
use crate::engine::Engine;
use crate::errand;
use crate::error::Result;
use crate::near;
use crate::place::OrderSettings;
use crate::secrets::KnownSecrets;
use bashd_keeper::keeper::KeeperSource;
use runs::OrderedRun;
use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Engines that an outpost has at a time: one for each configuration of a near side.
const MOST_ENGINES: usize = 8;

/// Pause after an accept failed for lack of descriptors or memory.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// How an outpost is set up.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OutpostSettings {
    /// Where runs and the ids of orders are.
    pub state_dir: PathBuf,
    /// What commands inherit there.
    pub surroundings: Surroundings,
    /// How long it stays without anything to do.
    pub idle: Duration,
    /// How long a run goes on, and its end is kept, while nobody is connected who asked for it.
    pub orphaned: Duration,
    /// Which program it is, if not just this version.
    pub build: Option<String>,
    /// What its end means for jobs: at a place that is lent they end, too.
    pub lease: Lease,
}

impl OutpostSettings {
    /// One that leaves after ten idle minutes.
    pub fn new(state_dir: PathBuf, surroundings: Surroundings) -> Self {
        Self {
            state_dir,
            surroundings,
            idle: Duration::from_mins(10),
            orphaned: Duration::from_mins(10),
            build: None,
            lease: Lease::None,
        }
    }
}

/// An outpost.
pub(crate) struct Outpost {
    settings: OutpostSettings,
    engines: Mutex<Vec<(OrderSettings, Engine)>>,
    runs: Mutex<HashMap<String, Arc<OrderedRun>>>,
    /// Orders that were cancelled before they came.
    cancelled: Mutex<Vec<String>>,
    connections: AtomicUsize,
    /// Whether somebody wanted something since the last look.
    was_used: AtomicBool,
    /// What must not be told of this side: it does not travel, not even to be hidden there.
    known: KnownSecrets,
    /// Whether it was told to end.
    ending: CancellationToken,
}

/// Serves carriers at a socket until there was nothing to do for a while, or until it is told to
/// end.
pub async fn serve(
    settings: OutpostSettings,
    listener: UnixListener,
    told_to_end: impl Future<Output = ()>,
) -> io::Result<()> {
    let idle = settings.idle;
    runs::sweep_ids(&settings.state_dir);
    let known = KnownSecrets::default();
    known.learn(&settings.surroundings.env);
    let outpost = Arc::new(Outpost {
        known,
        settings,
        engines: Mutex::default(),
        runs: Mutex::default(),
        cancelled: Mutex::default(),
        connections: AtomicUsize::new(0),
        was_used: AtomicBool::new(true),
        ending: CancellationToken::new(),
    });
    let mut siblings = HashMap::new();
    let mut told_to_end = std::pin::pin!(told_to_end);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut told_to_end => {
                outpost.wind_up().await;
                return Ok(());
            }
            accepted = tokio::time::timeout(idle, listener.accept()) => accepted,
        };
        match accepted {
            Ok(Ok((stream, _))) => {
                outpost.say_busy().await;
                let outpost = Arc::clone(&outpost);
                outpost.connections.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(async move {
                    connection::attend(&outpost, stream).await;
                    outpost.connections.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Ok(Err(_)) => tokio::time::sleep(ACCEPT_AGAIN).await,
            Err(_) if outpost.is_busy().await => outpost.say_busy().await,
            Err(_) if outpost.has_busy_sibling(&mut siblings).await => {}
            Err(_) => {
                if outpost.leaves(&listener).await? {
                    return Ok(());
                }
            }
        }
    }
}

impl Outpost {
    /// Somebody wants something.
    fn is_used(&self) {
        self.was_used.store(true, Ordering::Relaxed);
    }

    /// Whether carriers come through Slurm, whose TCP holds small writes back.
    fn is_held_back(&self) -> bool {
        self.settings.lease == Lease::OfEngine
    }

    async fn is_busy(&self) -> bool {
        let has_sessions = {
            let engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
            engines.iter().any(|(_, engine)| engine.has_sessions())
        };
        // What is lent is not kept for who is connected and wants nothing.
        let is_wanted = match self.settings.lease {
            Lease::None => self.connections.load(Ordering::Relaxed) > 0,
            Lease::OfEngine => self.was_used.swap(false, Ordering::Relaxed),
        };
        is_wanted || has_sessions || self.live_jobs().await > 0 || !self.runs().is_empty()
    }

    /// Gives its name up, unless somebody comes or something begins first. Who stays connected,
    /// to what is lent, is told from then on that it is too late.
    async fn leaves(self: &Arc<Self>, listener: &UnixListener) -> io::Result<bool> {
        let (outpost, listener) = (Arc::clone(self), listener.as_fd().try_clone_to_owned()?);
        let leaving = errand::wait(move |_| {
            let OutpostSettings {
                state_dir, build, ..
            } = &outpost.settings;
            hold::leave(state_dir, build.as_deref(), listener.as_fd(), || {
                outpost.begins_no_more()
            })
        });
        let has_left = leaving.await.map_err(io::Error::from)??;
        if has_left && self.connections.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(lease::LAST_WORDS).await;
        }
        Ok(has_left)
    }

    /// Whether nothing runs, and from now on nothing will.
    fn begins_no_more(&self) -> bool {
        // An order begins under the same lock.
        let runs = self.runs();
        if runs.is_empty() {
            self.ending.cancel();
        }
        runs.is_empty()
    }

    /// Commands that run now.
    fn running(&self) -> usize {
        let runs = self.runs();
        runs.values().filter(|run| !run.is_over()).count()
    }

    /// Jobs that have not ended.
    async fn live_jobs(&self) -> usize {
        let first = {
            let engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
            engines.first().map(|(_, engine)| engine.clone())
        };
        match first {
            Some(engine) => engine.live_jobs().await,
            None => 0,
        }
    }

    /// The engine for orders with these settings.
    pub(crate) async fn engine(&self, settings: &OrderSettings) -> Result<Engine> {
        if let Some(engine) = self.known_engine(settings) {
            return Ok(engine);
        }
        let mut config = settings.config(&self.settings.state_dir);
        config.lease = self.settings.lease;
        config.secrets.known = self.known.clone();
        if let Some(other) = settings.other_shell()
            && !self.has_bash().await
        {
            config.shell = Some(other.to_owned());
        }
        // Somebody else may have begun one meanwhile.
        if let Some(engine) = self.known_engine(settings) {
            return Ok(engine);
        }
        let surroundings = self.settings.surroundings.clone();
        let engine = Engine::new(config, surroundings, KeeperSource::Hook)?;
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        if engines.len() >= MOST_ENGINES {
            // The one unused for longest; its runs hold it until they end.
            engines.remove(0);
        }
        engines.push((settings.clone(), engine.clone()));
        Ok(engine)
    }

    /// The one that there is, which is the last used from now on.
    fn known_engine(&self, settings: &OrderSettings) -> Option<Engine> {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        let at = engines.iter().position(|(known, _)| known == settings)?;
        let known = engines.remove(at);
        let engine = known.1.clone();
        engines.push(known);
        Some(engine)
    }

    /// Whether commands find a bash here. A directory that does not answer has none.
    async fn has_bash(&self) -> bool {
        let env = &self.settings.surroundings.env;
        let path = env.iter().find(|(name, _)| name == "PATH");
        let path = path.map_or("/usr/local/bin:/usr/bin:/bin".into(), |(_, path)| {
            path.clone()
        });
        let programs = std::env::split_paths(&path).map(|folder| folder.join("bash"));
        let (near, far): (Vec<PathBuf>, _) =
            programs.partition(|program| near::is_near_or_missing(program));
        if near.iter().any(|program| program.is_file()) {
            return true;
        }
        let looks = far.into_iter().map(|program| async move {
            let there = program.clone();
            errand::look(&program, move || there.is_file()).await
        });
        let mut looks: JoinSet<Option<bool>> = looks.collect();
        while let Some(looked) = looks.join_next().await {
            if matches!(looked, Ok(Some(true))) {
                return true;
            }
        }
        false
    }

    pub(crate) fn runs(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<OrderedRun>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn cancelled(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.cancelled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
