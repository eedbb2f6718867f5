//! Applying for an allocation of Slurm: one that somebody asked for is shared, a new one is asked
//! for with what all its nodes need, and its time in the queue is told as progress.

use super::FarPlace;
use super::carrier::Carrier;
use super::greeting::Greeted;
use super::housed::HouseState;
use super::line;
use super::slurm::{self, SlurmGround, SlurmSettings};
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use bashd_keeper::file_lock::{self, LockKind};
use bashd_keeper::spool::write_private;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::time::Instant;

/// How long somebody else may take to ask for an allocation.
const LONGEST_SUBMIT: Duration = Duration::from_secs(30);

/// How long a job may be unknown to Slurm after it was accepted.
const APPEARS: Duration = Duration::from_secs(10);

/// How long a carrier that ends an allocation may take.
const SCANCEL: Duration = Duration::from_secs(10);

/// How long who serves many waits until that carrier was started.
const STARTED_WITHIN: Duration = Duration::from_millis(50);

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

/// What somebody holds who writes down, or takes away, which allocation a key has.
pub(super) fn lock(file: &Path) -> io::Result<File> {
    fs::create_dir_all(file.parent().unwrap_or(file))?;
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(file.with_extension("lock"))?;
    file_lock::lock_within(&lock, LockKind::Exclusive, LONGEST_SUBMIT)?;
    Ok(lock)
}

impl FarPlace {
    /// The allocation of a key, with its nodes; a new one, if there is none.
    pub(super) async fn allocation(
        &self,
        settings: &SlurmSettings,
        key: &str,
    ) -> Result<(u64, Vec<String>)> {
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
            let file = file.clone();
            errand::wait(move |_| {
                let lock = lock(&file)?;
                io::Result::Ok((lock, fs::read_to_string(&file).ok()))
            })
        };
        let locked = locked.await.map_err(io::Error::from).and_then(|lock| lock);
        let (_alone, known) = locked.map_err(|error| {
            Error::io(
                ErrorKind::Place,
                "wait for who asks for an allocation",
                error,
            )
        })?;
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
        let _ = errand::wait(move |_| write_private(&file, job.to_string().as_bytes())).await;
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
                        let file = self.allocation_file(key);
                        errand::here_or_aside(move || drop(fs::remove_file(file)));
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
    pub(super) fn give_back(&self, job: u64) {
        let words = line::behind(slurm::cancel(job), &self.through);
        let env = self.env.clone();
        let (tell, told) = mpsc::channel::<()>();
        let giving = move || {
            let started = Carrier::start_here(&words, &env, (Stdio::null(), Stdio::null()));
            drop(tell);
            if let Ok(carrier) = started {
                carrier.ends_within(SCANCEL);
            }
        };
        let thread = std::thread::Builder::new().name("bashd-carrier".to_owned());
        if thread.spawn(giving).is_ok() {
            // Once it was started, this process may end.
            let most = if errand::serves_many() {
                STARTED_WITHIN
            } else {
                SCANCEL
            };
            let _ = told.recv_timeout(most);
        }
    }

    /// The program and the directory that all nodes have.
    pub(super) async fn ground(&self) -> Result<SlurmGround> {
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
                    self.expect_machine(&system, machine).await?;
                }
                Ok(Greeted::Link(_)) => break,
                Err(failure) => return Err(failure.error),
            }
        }
        Err(Error::new(ErrorKind::Place, "the login keeps no program"))
    }
}
