//! Places that are allocations of Slurm: one is asked for when a call needs it (`applying`), shared
//! as configured, and its nodes get what runs by their load.
//!
//! A call whose command was running on a node finds it there, or hears Slurm's word for what became
//! of the allocation; what the outpost wrote down before its end is read where the same files are.

use super::asking::ask;
use super::greeting::Greeted;
use super::housed::HouseState;
use super::line;
use super::link::Link;
use super::queue::{QueueTold, SlurmQueue};
use super::slurm::{self, SlurmGround, SlurmJob, SlurmSettings, SlurmSharing};
use super::{FarPlace, PlaceKind, applying};
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::outpost::NOBODY_HERE;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

/// How long a node is left alone that did not answer.
const LEFT_ALONE: Duration = Duration::from_secs(5);

/// Ways that are tried for one call.
const MOST_STEPS: usize = 8;

/// A node of an allocation: where one outpost is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Berth {
    pub(crate) job: u64,
    pub(crate) node: String,
}

impl fmt::Display for Berth {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}.{}", self.job, self.node)
    }
}

impl Berth {
    /// One as it is written: `4711.n2`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (job, node) = text.split_once('.')?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_node = !node.is_empty() && !node.starts_with('-') && node.chars().all(is_plain);
        Some(Self {
            job: job.parse().ok().filter(|_| is_node)?,
            node: node.to_owned(),
        })
    }
}

/// For whom an outpost is reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallClaim {
    /// Whose call it is.
    pub(crate) owner: String,
    /// The call's id.
    pub(crate) id: String,
    /// The session of the call, whose next call has to find it.
    pub(crate) session: Option<String>,
}

/// What is known of a place's allocations.
#[derive(Debug, Default)]
pub(super) struct Allocations {
    pub(super) queue: Arc<SlurmQueue>,
    pub(super) ground: AsyncMutex<Option<SlurmGround>>,
    /// One caller at a time asks for the allocation of a key.
    pub(super) asking: AsyncMutex<HashMap<String, Arc<AsyncMutex<()>>>>,
    known: Mutex<KnownAllocations>,
}

/// What one lock holds together.
#[derive(Debug, Default)]
pub(super) struct KnownAllocations {
    /// Allocations that ran when they were looked at last, with their nodes.
    pub(super) running: HashMap<String, (u64, Vec<String>)>,
    links: HashMap<Berth, Arc<AsyncMutex<Option<Arc<Link>>>>>,
    /// Calls that are under way.
    calls: HashMap<Berth, usize>,
    /// Until when a node is left alone.
    away: HashMap<Berth, Instant>,
    /// Nodes on which there is no outpost any more; there will be none again.
    deserted: HashSet<Berth>,
    /// Who waits in the queue.
    pub(super) waiting: HashMap<u64, usize>,
}

/// A call at a node, for as long as it is under way.
#[derive(Debug)]
pub(crate) struct CallThere {
    place: Arc<FarPlace>,
    berth: Berth,
    /// The key of its allocation, if that is for this call alone: nobody will ask for it again.
    only_key: Option<String>,
}

impl Drop for CallThere {
    fn drop(&mut self) {
        let Self {
            place,
            berth,
            only_key,
        } = self;
        if let Some(key) = only_key.take() {
            place.slurm.forget_key(&key, berth);
        }
        let mut known = place.slurm.known();
        if let Some(calls) = known.calls.get_mut(berth) {
            *calls -= 1;
            if *calls == 0 {
                known.calls.remove(berth);
            }
        }
    }
}

/// Whether a carrier came to a node and found no outpost.
fn has_nobody(error: &Error) -> bool {
    error.to_string().contains(NOBODY_HERE)
}

impl Allocations {
    /// The ways to nodes that are open now, as far as nobody makes one.
    pub(super) fn links(&self) -> Vec<Arc<Link>> {
        let known = self.known();
        let slots = known.links.values();
        slots
            .filter_map(|slot| slot.try_lock().ok()?.clone())
            .collect()
    }

    /// An allocation is not needed any more; a job that it may have is found by its name.
    fn forget_key(&self, key: &str, berth: &Berth) {
        let mut known = self.known();
        known.running.remove(key);
        known.links.remove(berth);
        drop(known);
        if let Ok(mut asking) = self.asking.try_lock() {
            asking.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
    }

    /// Whether there is an outpost on a node, as far as who could not reach it was told.
    fn heard_of(&self, berth: &Berth, error: &Error) {
        if has_nobody(error) {
            self.known().deserted.insert(berth.clone());
        }
    }

    /// Whether an allocation that runs has no outpost at all. That of its first node started those
    /// of the others, which end with it; Slurm keeps the rest of an allocation whose node failed,
    /// and takes a node back that only seemed to have.
    fn is_deserted(&self, job: u64, nodes: &[String]) -> bool {
        let known = self.known();
        let mut nodes = nodes.iter();
        nodes.len() > 0
            && nodes.all(|node| {
                let node = node.clone();
                known.deserted.contains(&Berth { job, node })
            })
    }

    pub(super) fn known(&self) -> MutexGuard<'_, KnownAllocations> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FarPlace {
    /// Its settings, if it is of Slurm.
    pub(super) fn of_slurm(&self) -> Option<&SlurmSettings> {
        match &self.settings.kind {
            PlaceKind::Slurm(settings) => Some(settings),
            _ => None,
        }
    }

    /// Whether it is of several nodes, each with jobs of its own.
    pub(crate) fn has_nodes(&self) -> bool {
        self.of_slurm().is_some()
    }

    /// A link to a node for a call, which counts as its load as long as the call is under way.
    pub(super) async fn link_to_node(
        self: &Arc<Self>,
        settings: &SlurmSettings,
        claim: &CallClaim,
    ) -> Result<(Arc<Link>, CallThere)> {
        let key = self.key(settings, claim);
        let linked = self.find_node(settings, &key, claim).await;
        self.tell("");
        linked
    }

    async fn find_node(
        self: &Arc<Self>,
        settings: &SlurmSettings,
        key: &str,
        claim: &CallClaim,
    ) -> Result<(Arc<Link>, CallThere)> {
        let mut failure = None;
        for _ in 0..MOST_STEPS {
            let (job, nodes) = self.allocation(settings, key).await?;
            let Some(mut call) = self.choose(job, &nodes, claim) else {
                if self.is_other_now((job, &nodes), key).await? {
                    continue;
                }
                // Those that are left alone may be all.
                let error = failure.take();
                let none = || Error::new(ErrorKind::Place, format!("no node of job {job} answers"));
                return Err(error.unwrap_or_else(none));
            };
            match self.dial_node(&call.berth).await {
                Ok(link) => {
                    let is_alone = settings.sharing == SlurmSharing::Job && claim.session.is_none();
                    call.only_key = is_alone.then(|| key.to_owned());
                    return Ok((link, call));
                }
                Err(error) => {
                    let until = Instant::now() + LEFT_ALONE;
                    let berth = call.berth.clone();
                    self.slurm.known().away.insert(berth, until);
                    self.slurm.heard_of(&call.berth, &error);
                    let looked = self.is_other_now((job, &nodes), key).await;
                    looked
                        .map_err(|word| Error::new(ErrorKind::Place, format!("{error}; {word}")))?;
                    failure = Some(error);
                }
            }
        }
        let never = || Error::new(ErrorKind::Place, "its allocations come and go");
        Err(failure.unwrap_or_else(never))
    }

    /// Whether the allocation of a key is another now, or has other nodes. One without outposts is
    /// given up.
    async fn is_other_now(
        self: &Arc<Self>,
        (job, nodes): (u64, &[String]),
        key: &str,
    ) -> Result<bool> {
        let told = self.look(job, true).await.map_err(|word| {
            let text = format!("Slurm could not be asked: {word}");
            Error::new(ErrorKind::Place, text)
        })?;
        let running = told.filter(|told| matches!(told.told(), HouseState::Running));
        let Some(told) = running else {
            self.slurm.known().running.remove(key);
            return Ok(true);
        };
        if self.slurm.is_deserted(job, &told.nodes) {
            self.desert(job, key).await;
            return Ok(true);
        }
        let is_other = told.nodes != nodes;
        let held = (job, told.nodes);
        self.slurm.known().running.insert(key.to_owned(), held);
        Ok(is_other)
    }

    /// The node for a call: that of its session, or else where fewest calls are under way.
    fn choose(
        self: &Arc<Self>,
        job: u64,
        nodes: &[String],
        claim: &CallClaim,
    ) -> Option<CallThere> {
        let mut known = self.slurm.known();
        let now = Instant::now();
        known.away.retain(|_, until| *until > now);
        let berths = nodes.iter().map(|node| Berth {
            job,
            node: node.clone(),
        });
        let berths = berths
            .filter(|berth| !known.away.contains_key(berth) && !known.deserted.contains(berth));
        // By a hash of both, so that few move when a node goes.
        let drawn = |berth: &Berth, of: &str| {
            let digest = Sha256::digest(format!("{} {of} {}", claim.owner, berth.node));
            digest.as_slice().to_vec()
        };
        let chosen = match &claim.session {
            Some(session) => berths.max_by_key(|berth| drawn(berth, session)),
            // Among equals by lot: other processes send theirs there, too.
            None => berths.min_by_key(|berth| {
                let calls = known.calls.get(berth).copied().unwrap_or_default();
                (calls, drawn(berth, &claim.id))
            }),
        }?;
        *known.calls.entry(chosen.clone()).or_default() += 1;
        drop(known);
        Some(CallThere {
            place: Arc::clone(self),
            berth: chosen,
            only_key: None,
        })
    }

    /// The link to a node, another one if it was lost. One caller at a time makes one.
    pub(super) async fn dial_node(&self, berth: &Berth) -> Result<Arc<Link>> {
        let slot = {
            let mut known = self.slurm.known();
            Arc::clone(known.links.entry(berth.clone()).or_default())
        };
        let mut slot = slot.lock().await;
        if let Some(link) = slot.as_ref().filter(|link| !link.is_closed()) {
            return Ok(Arc::clone(link));
        }
        *slot = None;
        let ground = self.ground().await?;
        let words = SlurmSettings::enter(berth.job, &berth.node, &ground);
        let mut link = self.dial_words(words).await?;
        link.berth = Some(berth.clone());
        let link = self.ready(link, Some(berth));
        *slot = Some(Arc::clone(&link));
        Ok(link)
    }

    async fn dial_words(&self, words: Vec<String>) -> Result<Link> {
        let (words, mark) = self.on_the_way(words, None);
        let connect = self.settings.connect;
        match self.greet(&words, mark, None, connect).await {
            Ok(Greeted::Link(link)) => Ok(*link),
            Ok(_) => Err(Error::new(ErrorKind::Place, "no outpost answers")),
            Err(failure) => Err(failure.error),
        }
    }

    /// The link to a node on which something was begun.
    pub(super) async fn link_again(&self, berth: &Berth) -> Result<Arc<Link>> {
        let failure = match self.dial_node(berth).await {
            Ok(link) => return Ok(link),
            Err(error) => error,
        };
        self.slurm.heard_of(berth, &failure);
        let Berth { job, node } = berth;
        let mut is_all_ended = false;
        let word = match self.look(*job, false).await {
            Err(word) => {
                let text = format!("{failure}; Slurm could not be asked: {word}");
                return Err(Error::new(ErrorKind::Place, text));
            }
            Ok(None) => format!("Slurm knows nothing of job {job} any more"),
            Ok(Some(told)) => match told.told() {
                // Its commands ended with it.
                HouseState::Running if has_nobody(&failure) => {
                    format!("{}, without an outpost on node {node}", told.word())
                }
                HouseState::Running if told.nodes.contains(node) => {
                    let text = format!("{failure}; {}", told.word());
                    return Err(Error::new(ErrorKind::Place, text));
                }
                // What is being ended may still say how it ended.
                _ if told.is_ending() => return Err(Error::new(ErrorKind::Place, told.word())),
                HouseState::Running => format!("{}, without node {node}", told.word()),
                // It was given back to the queue: what ran in it runs no more.
                HouseState::Held(_) if told.is_waiting() => told.word(),
                HouseState::Stopped(word) => {
                    is_all_ended = told.is_all_ended();
                    word
                }
                HouseState::Held(word) | HouseState::Absent(word) | HouseState::NotKnown(word) => {
                    return Err(Error::new(ErrorKind::Place, word));
                }
            },
        };
        self.forget_running(berth);
        // What was written down before the end is read where the same files are.
        let ground = self.ground().await?;
        let reading = self.dial_words(SlurmSettings::read_left(*job, node, &ground));
        match reading.await {
            Ok(mut link) => {
                link.berth = Some(berth.clone());
                link.word = Some(word);
                link.is_all_ended = is_all_ended;
                Ok(Arc::new(link))
            }
            Err(_) => Err(Error::new(ErrorKind::PlaceLost, word)),
        }
    }

    /// The allocation has ended, or lost that node.
    fn forget_running(&self, berth: &Berth) {
        let mut known = self.slurm.known();
        known.running.retain(|_, (job, nodes)| {
            if *job == berth.job {
                nodes.retain(|node| *node != berth.node);
            }
            !nodes.is_empty()
        });
        known.links.remove(berth);
    }

    /// The allocation is coming to an end: what comes next asks for another.
    pub(super) fn forget_allocation(&self, job: u64) {
        let mut known = self.slurm.known();
        known.running.retain(|_, (running, _)| *running != job);
        known.links.retain(|berth, _| berth.job != job);
        known.deserted.retain(|berth| berth.job != job);
    }

    /// Ends an allocation in which there is no outpost, so that the next call asks for another.
    async fn desert(self: &Arc<Self>, job: u64, key: &str) {
        let (place, file) = (Arc::clone(self), self.allocation_file(key));
        let ending = errand::wait(move |_| {
            // Who shares it looks into that file.
            if let Ok(_alone) = applying::lock(&file)
                && fs::read_to_string(&file).is_ok_and(|known| known.trim() == job.to_string())
            {
                let _ = fs::remove_file(&file);
            }
            place.give_back(job);
        });
        let _ = ending.await;
        self.forget_allocation(job);
    }

    /// Slurm's word for an allocation, as far as it can be asked.
    pub(super) async fn word_of(&self, berth: &Berth) -> String {
        match self.look(berth.job, true).await {
            Ok(Some(job)) => job.word(),
            Ok(None) => format!("Slurm knows nothing of job {} any more", berth.job),
            Err(word) => format!("Slurm could not be asked: {word}"),
        }
    }

    /// What Slurm says of a job: `None` if it knows none.
    pub(super) async fn look(&self, job: u64, is_urgent: bool) -> Result<Option<SlurmJob>, String> {
        let told = self.look_at_queue(is_urgent).await?;
        Ok(told.get(&job).cloned())
    }

    pub(super) async fn look_at_queue(&self, is_urgent: bool) -> QueueTold {
        let asking = || self.ask_slurm(slurm::query(), b"");
        self.slurm.queue.look(is_urgent, asking).await
    }

    pub(super) async fn ask_slurm(
        &self,
        words: Vec<String>,
        input: &[u8],
    ) -> Result<String, String> {
        let words = line::behind(words, &self.through);
        ask(&words, &self.env, input, self.settings.connect).await
    }

    /// A node for an owner, if there is an allocation for it: none is asked for.
    pub(super) async fn berth_of(
        self: &Arc<Self>,
        settings: &SlurmSettings,
        owner: &str,
    ) -> Result<Berth> {
        let claim = CallClaim {
            owner: owner.to_owned(),
            ..CallClaim::default()
        };
        let key = self.key(settings, &claim);
        let none = || {
            let text = format!("the place `{}` has no allocation now", self.settings.name);
            Error::new(ErrorKind::Place, text)
        };
        let known = self.slurm.known().running.get(&key).cloned();
        let (job, nodes) = if let Some(known) = known {
            known
        } else {
            let file = self.allocation_file(&key);
            let read = errand::wait(move |_| fs::read_to_string(file).ok()).await;
            let job = read.ok().flatten().and_then(|job| job.trim().parse().ok());
            let job = job.ok_or_else(none)?;
            let told = self.look(job, false).await.ok().flatten();
            (job, told.ok_or_else(none)?.nodes)
        };
        let call = self.choose(job, &nodes, &claim).ok_or_else(none)?;
        Ok(call.berth.clone())
    }

    /// What tells allocations of this place apart: who shares one, and what it is made of.
    fn key(&self, settings: &SlurmSettings, claim: &CallClaim) -> String {
        let who = match settings.sharing {
            SlurmSharing::Shared => String::new(),
            SlurmSharing::Session => claim.owner.clone(),
            SlurmSharing::Job => match &claim.session {
                Some(session) => format!("{} {session}", claim.owner),
                None => claim.id.clone(),
            },
        };
        let digits = Sha256::digest(format!("{who} {settings:?} {:?}", self.settings.program));
        let digits: Vec<String> = digits
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        digits.concat()
    }

    pub(super) fn allocation_file(&self, key: &str) -> PathBuf {
        let folder = self.seen.folder(&self.settings.name);
        folder.join("allocations").join(key)
    }

    /// The jobs that somebody asked for from here.
    pub(super) async fn own_jobs(&self) -> Vec<u64> {
        let folder = self.allocation_file("x");
        let read = errand::read(move |_| {
            let files = folder.parent().and_then(|folder| fs::read_dir(folder).ok());
            let files = files.into_iter().flatten().flatten();
            let jobs = files.filter_map(|file| fs::read_to_string(file.path()).ok()?.parse().ok());
            jobs.collect::<Vec<u64>>()
        });
        read.await.unwrap_or_default()
    }
}
