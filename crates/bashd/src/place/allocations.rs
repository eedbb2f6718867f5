//! Places that are allocations of Slurm: one is asked for when a call needs it, waited for in the
//! queue, shared as configured, and its nodes get what runs by their load.
//!
//! A call whose command was running on a node finds it there, or hears Slurm's word for what became
//! of the allocation; what the outpost wrote down before its end is read where the same files are.

use super::asking::ask;
use super::carrier::Carrier;
use super::greeting::Greeted;
use super::housed::HouseState;
use super::line;
use super::link::Link;
use super::queue::{SlurmQueue, Told};
use super::slurm::{self, SlurmGround, SlurmJob, SlurmSettings, SlurmSharing};
use super::{FarPlace, PlaceKind};
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use bashd_keeper::file_lock::{self, LockKind};
use bashd_keeper::spool::write_private;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

/// How long a node is left alone that did not answer.
const LEFT_ALONE: Duration = Duration::from_secs(5);

/// How long somebody else may take to ask for an allocation.
const LONGEST_SUBMIT: Duration = Duration::from_secs(30);

/// How long a job may be unknown to Slurm after it was accepted.
const APPEARS: Duration = Duration::from_secs(10);

/// Ways that are tried for one call.
const MOST_STEPS: usize = 8;

/// How long a carrier that ends an allocation may take.
const SCANCEL: Duration = Duration::from_secs(10);

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
pub(crate) struct Claim {
    /// Whose call it is.
    pub(crate) owner: String,
    /// The call's id.
    pub(crate) id: String,
    /// The session of the call.
    pub(crate) session: Option<String>,
    /// Whether something of it stays there, so that the next call of this owner has to find it.
    pub(crate) is_bound: bool,
}

/// What is known of a place's allocations.
#[derive(Debug, Default)]
pub(super) struct Allocations {
    pub(super) queue: Arc<SlurmQueue>,
    ground: AsyncMutex<Option<SlurmGround>>,
    /// One caller at a time asks for the allocation of a key.
    asking: AsyncMutex<HashMap<String, Arc<AsyncMutex<()>>>>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Allocations that ran when they were looked at last, with their nodes.
    running: HashMap<String, (u64, Vec<String>)>,
    links: HashMap<Berth, Arc<AsyncMutex<Option<Arc<Link>>>>>,
    /// Calls that are under way.
    calls: HashMap<Berth, usize>,
    /// Until when a node is left alone.
    away: HashMap<Berth, Instant>,
    /// Who waits in the queue.
    waiting: HashMap<u64, usize>,
}

/// A call at a node, for as long as it is under way.
#[derive(Debug)]
pub(crate) struct CallThere(Arc<FarPlace>, Berth);

impl Drop for CallThere {
    fn drop(&mut self) {
        let Self(place, berth) = self;
        let mut known = place.slurm.known();
        if let Some(calls) = known.calls.get_mut(berth) {
            *calls -= 1;
            if *calls == 0 {
                known.calls.remove(berth);
            }
        }
    }
}

impl Allocations {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who waits in the queue: with the last of them an allocation that we asked for is given
/// back.
struct InQueue<'a> {
    place: &'a FarPlace,
    job: u64,
    is_over: bool,
}

impl Drop for InQueue<'_> {
    fn drop(&mut self) {
        let mut known = self.place.slurm.known();
        let waiting = known.waiting.entry(self.job).or_default();
        *waiting = waiting.saturating_sub(1);
        let is_last = *waiting == 0;
        if is_last {
            known.waiting.remove(&self.job);
        }
        drop(known);
        if is_last && !self.is_over {
            self.place.give_back(self.job);
        }
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

    /// A link to a node for a call, which counts as its load as long as the call is under way.
    pub(super) async fn link_to_node(
        self: &Arc<Self>,
        settings: &SlurmSettings,
        claim: &Claim,
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
        claim: &Claim,
    ) -> Result<(Arc<Link>, CallThere)> {
        let mut failure = None;
        for _ in 0..MOST_STEPS {
            let (job, nodes) = self.allocation(settings, key).await?;
            let Some(call) = self.choose(job, &nodes, claim) else {
                // Those that are left alone may be all.
                let error = failure.take();
                let none = || Error::new(ErrorKind::Place, format!("no node of job {job} answers"));
                return Err(error.unwrap_or_else(none));
            };
            match self.dial_node(&call.1).await {
                Ok(link) => return Ok((link, call)),
                Err(error) => {
                    let until = Instant::now() + LEFT_ALONE;
                    self.slurm.known().away.insert(call.1.clone(), until);
                    let state = self.look(job, true).await;
                    match state.map(|job| job.map(|job| (job.told(), job.nodes))) {
                        Ok(Some((HouseState::Running, nodes))) => {
                            let held = (job, nodes);
                            self.slurm.known().running.insert(key.to_owned(), held);
                        }
                        Ok(_) => drop(self.slurm.known().running.remove(key)),
                        Err(word) => {
                            let text = format!("{error}; Slurm could not be asked: {word}");
                            return Err(Error::new(ErrorKind::Place, text));
                        }
                    }
                    failure = Some(error);
                }
            }
        }
        let never = || Error::new(ErrorKind::Place, "its allocations come and go");
        Err(failure.unwrap_or_else(never))
    }

    /// The node for a call: what stays there belongs to its owner's node, all else goes where
    /// fewest calls are under way.
    fn choose(self: &Arc<Self>, job: u64, nodes: &[String], claim: &Claim) -> Option<CallThere> {
        let mut known = self.slurm.known();
        let now = Instant::now();
        known.away.retain(|_, until| *until > now);
        let berths = nodes.iter().map(|node| Berth {
            job,
            node: node.clone(),
        });
        let berths = berths.filter(|berth| !known.away.contains_key(berth));
        let chosen = if claim.is_bound {
            // By a hash of both, so that few move when a node goes.
            berths.max_by_key(|berth| {
                let digest = Sha256::digest(format!("{} {}", claim.owner, berth.node));
                digest.as_slice().to_vec()
            })
        } else {
            berths.min_by_key(|berth| known.calls.get(berth).copied().unwrap_or_default())
        }?;
        *known.calls.entry(chosen.clone()).or_default() += 1;
        drop(known);
        Some(CallThere(Arc::clone(self), chosen))
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
        let Berth { job, node } = berth;
        let word = match self.look(*job, false).await {
            Err(word) => {
                let text = format!("{failure}; Slurm could not be asked: {word}");
                return Err(Error::new(ErrorKind::Place, text));
            }
            Ok(None) => format!("Slurm knows nothing of job {job} any more"),
            Ok(Some(told)) => match told.told() {
                HouseState::Running if told.nodes.contains(node) => {
                    let text = format!("{failure}; {}", told.word());
                    return Err(Error::new(ErrorKind::Place, text));
                }
                // What is being ended may still say how it ended.
                _ if told.is_ending() => return Err(Error::new(ErrorKind::Place, told.word())),
                HouseState::Running => format!("{}, without node {node}", told.word()),
                // It was given back to the queue: what ran in it runs no more.
                HouseState::Held(_) if told.is_waiting() => told.word(),
                HouseState::Stopped(word) => word,
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

    /// Slurm's word for an allocation, as far as it can be asked.
    pub(super) async fn word_of(&self, berth: &Berth) -> String {
        match self.look(berth.job, true).await {
            Ok(Some(job)) => job.word(),
            Ok(None) => format!("Slurm knows nothing of job {} any more", berth.job),
            Err(word) => format!("Slurm could not be asked: {word}"),
        }
    }

    /// What Slurm says of a job: `None` if it knows none.
    async fn look(&self, job: u64, is_urgent: bool) -> Result<Option<SlurmJob>, String> {
        let told = self.look_at_queue(is_urgent).await?;
        Ok(told.get(&job).cloned())
    }

    pub(super) async fn look_at_queue(&self, is_urgent: bool) -> Told {
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

    /// The allocation of a key, with its nodes; a new one, if there is none.
    async fn allocation(&self, settings: &SlurmSettings, key: &str) -> Result<(u64, Vec<String>)> {
        if let Some(known) = self.slurm.known().running.get(key) {
            return Ok(known.clone());
        }
        let turn = {
            let mut asking = self.slurm.asking.lock().await;
            Arc::clone(asking.entry(key.to_owned()).or_default())
        };
        let job = {
            let _turn = turn.lock().await;
            if let Some(known) = self.slurm.known().running.get(key) {
                return Ok(known.clone());
            }
            self.ask_for(settings, key).await?
        };
        let nodes = self.wait_in_queue(settings, key, job).await?;
        let held = (job, nodes);
        let mut known = self.slurm.known();
        known.running.insert(key.to_owned(), held.clone());
        Ok(held)
    }

    /// The number of the job of a key: that which somebody asked for, or a new one.
    async fn ask_for(&self, settings: &SlurmSettings, key: &str) -> Result<u64> {
        let file = self.allocation_file(key);
        let locked = {
            let file = file.with_extension("lock");
            errand::wait(move |_| {
                fs::create_dir_all(file.parent().unwrap_or(&file))?;
                let lock = File::options()
                    .create(true)
                    .truncate(false)
                    .write(true)
                    .open(file)?;
                file_lock::lock_within(&lock, LockKind::Exclusive, LONGEST_SUBMIT)?;
                std::io::Result::Ok(lock)
            })
        };
        let locked = locked
            .await
            .map_err(std::io::Error::from)
            .and_then(|lock| lock);
        let _alone = locked.map_err(|error| {
            Error::io(
                ErrorKind::Place,
                "wait for who asks for an allocation",
                error,
            )
        })?;
        let known = fs::read_to_string(&file).ok();
        if let Some(job) = known.and_then(|known| known.trim().parse().ok()) {
            let told = self.look(job, true).await.map_err(|word| {
                let text = format!("Slurm could not be asked for job {job}: {word}");
                Error::new(ErrorKind::Place, text)
            })?;
            let is_there = told.is_some_and(|job| !matches!(job.told(), HouseState::Stopped(_)));
            if is_there {
                return Ok(job);
            }
        }
        let ground = self.ground().await?;
        self.tell("asking Slurm for an allocation");
        let script = settings.script(&self.settings, &ground);
        let words = settings.submit(&self.settings.name, &ground.log());
        let told = self.ask_slurm(words, script.as_bytes()).await;
        let refused = |word: &str| {
            Error::new(
                ErrorKind::Place,
                format!("Slurm gives no allocation: {word}"),
            )
        };
        let told = told.map_err(|word| refused(&word))?;
        let job = slurm::submitted(&told).ok_or_else(|| refused(told.trim()))?;
        // Who does not find it asks for one of its own, and this one leaves when it was idle.
        let _ = write_private(&file, job.to_string().as_bytes());
        Ok(job)
    }

    /// Waits until an allocation has its nodes.
    async fn wait_in_queue(
        &self,
        settings: &SlurmSettings,
        key: &str,
        job: u64,
    ) -> Result<Vec<String>> {
        *self.slurm.known().waiting.entry(job).or_default() += 1;
        let mut turn = InQueue {
            place: self,
            job,
            is_over: false,
        };
        let begun = Instant::now();
        let mut silent_since = begun;
        let mut is_urgent = true;
        loop {
            let told = self.look(job, std::mem::take(&mut is_urgent)).await;
            let word = match told {
                Ok(Some(told)) => match told.told() {
                    HouseState::Running => {
                        turn.is_over = true;
                        return Ok(told.nodes);
                    }
                    HouseState::Stopped(word) => {
                        turn.is_over = true;
                        let _ = fs::remove_file(self.allocation_file(key));
                        return Err(Error::new(ErrorKind::Place, self.with_log(job, word).await));
                    }
                    HouseState::Held(word)
                    | HouseState::Absent(word)
                    | HouseState::NotKnown(word) => {
                        silent_since = Instant::now();
                        word
                    }
                },
                Ok(None) => {
                    if silent_since.elapsed() > APPEARS {
                        turn.is_over = true;
                        let text = format!("Slurm knows nothing of job {job}");
                        return Err(Error::new(ErrorKind::Place, text));
                    }
                    format!("waiting for job {job} to appear")
                }
                Err(word) => {
                    let text =
                        format!("not known how job {job} fares: Slurm could not be asked: {word}");
                    if silent_since.elapsed() > self.settings.patience {
                        return Err(Error::new(ErrorKind::Place, text));
                    }
                    text
                }
            };
            self.tell(&word);
            if settings.queue.is_some_and(|most| begun.elapsed() >= most) {
                let seconds = settings.queue.unwrap_or_default().as_secs();
                let text =
                    format!("it did not start within {seconds} s, and was given back: {word}");
                return Err(Error::new(ErrorKind::Place, text));
            }
            let left = settings
                .queue
                .map(|most| most.saturating_sub(begun.elapsed()));
            let due = self.slurm.queue.until_due();
            match left {
                Some(left) => drop(tokio::time::timeout(left, due).await),
                None => due.await,
            }
        }
    }

    /// Adds the last line that a batch script wrote, which may say why it ended.
    async fn with_log(&self, job: u64, word: String) -> String {
        let Ok(ground) = self.ground().await else {
            return word;
        };
        let log = ground.log().replace("%j", &job.to_string());
        let words = ["tail", "-n", "1", &log].map(str::to_owned).to_vec();
        match self.ask_slurm(words, b"").await {
            Ok(line) if !line.trim().is_empty() => {
                format!("{word}: {}", crate::output::plain(line.trim().as_bytes()))
            }
            _ => word,
        }
    }

    /// Ends an allocation that nobody waits for any more, whatever becomes of this process.
    fn give_back(&self, job: u64) {
        let words = line::behind(slurm::cancel(job), &self.through);
        if let Ok((carrier, stream)) = Carrier::start(&words, &self.env) {
            let waiting = move || {
                carrier.ends_within(SCANCEL);
                drop(stream);
            };
            drop(std::thread::Builder::new().spawn(waiting));
        }
    }

    /// The node of an owner, if there is an allocation for it: none is asked for.
    pub(super) async fn berth_of(
        self: &Arc<Self>,
        settings: &SlurmSettings,
        owner: &str,
    ) -> Result<Berth> {
        let claim = Claim {
            owner: owner.to_owned(),
            is_bound: true,
            ..Claim::default()
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
            let file = fs::read_to_string(self.allocation_file(&key)).map_err(|_| none())?;
            let job = file.trim().parse().map_err(|_| none())?;
            let told = self.look(job, false).await.ok().flatten();
            (job, told.ok_or_else(none)?.nodes)
        };
        let call = self.choose(job, &nodes, &claim).ok_or_else(none)?;
        Ok(call.1.clone())
    }

    /// What tells allocations of this place apart: who shares one, and what it is made of.
    fn key(&self, settings: &SlurmSettings, claim: &Claim) -> String {
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

    fn allocation_file(&self, key: &str) -> PathBuf {
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

    /// The program and the directory that all nodes have.
    async fn ground(&self) -> Result<SlurmGround> {
        let mut ground = self.slurm.ground.lock().await;
        if let Some(ground) = &*ground {
            return Ok(ground.clone());
        }
        let Some(settings) = self.of_slurm() else {
            return Err(Error::new(ErrorKind::Place, "it is not Slurm's"));
        };
        let failed = |word: String| Error::new(ErrorKind::Place, word);
        let given = settings.state_dir.as_ref();
        let given = given.map(|given| given.display().to_string());
        let words = slurm::find_state(given.as_deref());
        let told = self.ask_slurm(words, b"").await.map_err(failed)?;
        let state = slurm::found_state(&told);
        let state =
            state.ok_or_else(|| failed(format!("the login said no directory: {}", told.trim())))?;
        let (bin, build) = match &settings.bin {
            Some(bin) => (bin.clone(), None),
            None => self.keep_program().await?,
        };
        let found = SlurmGround { bin, state, build };
        *ground = Some(found.clone());
        Ok(found)
    }

    /// Sends the program to the login, where all nodes find it; its path, and which it is.
    async fn keep_program(&self) -> Result<(String, Option<String>)> {
        for _ in 0..2 {
            let program = self.program().await?;
            let hash = program.as_ref().map(|program| program.hash.clone());
            let to = self.settings.upload_to.as_ref();
            let to = to.map(|to| to.display().to_string());
            let (words, mark) = line::keeping(to.as_deref(), hash.as_deref());
            let words = line::behind(words, &self.through);
            let connect = self.settings.connect;
            match self.greet(&words, Some(mark), program, connect).await {
                Ok(Greeted::Kept(path)) => return Ok((path, hash)),
                Ok(Greeted::OtherMachine { system, machine }) => {
                    self.expect_machine(&system, machine)?;
                }
                Ok(Greeted::Link(_)) => break,
                Err(failure) => return Err(failure.error),
            }
        }
        Err(Error::new(ErrorKind::Place, "the login keeps no program"))
    }
}
