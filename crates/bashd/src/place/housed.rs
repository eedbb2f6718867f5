//! Places that somebody keeps: containers, which podman or docker keep, and pods, which Kubernetes
//! keeps. Their keeper is asked how they fare, and what it says is told in its own words.
//!
//! A new call may have one made or started. A call whose command was running in one may not: once
//! its keeper says that it ended, everything in it has ended, and nobody will know how.

use super::asking::ask;
use super::container::ContainerSettings;
use super::greeting::{DialFailure, Greeted};
use super::kubernetes::PodSettings;
use super::line::{self, LineMark};
use super::link::Link;
use super::program::ProgramToSend;
use super::{FarPlace, PlaceKind};
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use std::convert::Infallible;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long one may take to start, unless that is configured: its image may have to be fetched.
const START: Duration = Duration::from_mins(5);

/// How often it is looked whether a pod has started: the first time, and at most.
const FIRST_LOOK: Duration = Duration::from_millis(100);
const LAST_LOOK: Duration = Duration::from_secs(2);

/// How often it is looked what a carrier says meanwhile.
const TOLD_EVERY: Duration = Duration::from_millis(500);

/// Ways that are tried for one link.
const MOST_STEPS: usize = 6;

/// Why a place is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReachFor {
    /// For something new: what is not there may be made.
    Beginning,
    /// For something that was begun there.
    Finding,
}

/// How a container or pod fares, as its keeper says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HouseState {
    Running,
    /// It is there, and nothing runs in it any more.
    Stopped(String),
    /// There is none.
    Absent(String),
    /// Nobody can enter it now; what runs in it may go on later.
    Held(String),
    /// It could not be asked for.
    NotKnown(String),
}

/// A container or a pod, with its name.
enum House<'a> {
    Container(&'a ContainerSettings, String),
    Pod(&'a PodSettings, String),
}

/// What is tried next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HouseStep {
    /// Make it.
    Make,
    /// Start it again.
    Wake,
    /// Enter it, while it runs.
    Enter,
    /// Enter it by the program that was put there.
    EnterCopied,
}

type OptionalProgram<'a> = Option<&'a ProgramToSend>;

impl House<'_> {
    fn is_own(&self) -> bool {
        match self {
            Self::Container(settings, _) => settings.name.is_none(),
            Self::Pod(settings, _) => settings.pod.is_none(),
        }
    }

    fn start(&self) -> Duration {
        let start = match self {
            Self::Container(settings, _) => settings.start,
            Self::Pod(settings, _) => settings.start,
        };
        start.unwrap_or(START)
    }

    /// What is said while it starts.
    fn starting(&self) -> String {
        match self {
            Self::Container(settings, _) => {
                let image = settings.image.as_deref().unwrap_or_default();
                format!("starting a container of {image}")
            }
            Self::Pod(settings, _) => {
                let image = settings.image.as_deref().unwrap_or_default();
                format!("starting a pod of {image}")
            }
        }
    }
}

impl FarPlace {
    /// A link to a place that somebody keeps; `None` if nobody keeps this one.
    pub(super) async fn dial_house(&self, why: ReachFor) -> Option<Result<Link>> {
        let is_kept = matches!(
            self.settings.kind,
            PlaceKind::Container(_) | PlaceKind::Kubernetes(_)
        );
        if !is_kept {
            return None;
        }
        let linked = Box::pin(self.enter(why)).await;
        self.tell("");
        Some(linked)
    }

    async fn enter(&self, why: ReachFor) -> Result<Link> {
        let mut step = HouseStep::Enter;
        let mut is_first = true;
        for _ in 0..MOST_STEPS {
            let program = self.program().await?;
            let program = program.as_deref();
            let house = self.house(program)?;
            let may_make = house.is_own() && why == ReachFor::Beginning;
            // Who has never seen it makes it first, and hears if it is there.
            if std::mem::take(&mut is_first) && may_make && !self.has_seen(&house).await {
                step = HouseStep::Make;
            }
            let failure = match self.take_step(&house, step, program).await {
                Ok(Greeted::Link(link)) => {
                    self.note_seen(&house);
                    return Ok(*link);
                }
                Ok(Greeted::OtherMachine { system, machine }) => {
                    self.expect_machine(&system, machine).await?;
                    continue;
                }
                Ok(Greeted::Kept(_)) => continue,
                Err(failure) => failure,
            };
            let state = self.state_of(&house).await;
            step = self.next_step(&house, (step, state), why, failure).await?;
        }
        Err(Error::new(
            ErrorKind::Place,
            "it comes and goes, and nobody could enter it",
        ))
    }

    /// What to do after a step failed.
    async fn next_step(
        &self,
        house: &House<'_>,
        (step, state): (HouseStep, HouseState),
        why: ReachFor,
        failure: DialFailure,
    ) -> Result<HouseStep> {
        let may_make = house.is_own() && why == ReachFor::Beginning;
        let kind = match why {
            // It is certain that what was begun there runs no more.
            ReachFor::Finding => ErrorKind::PlaceLost,
            ReachFor::Beginning => ErrorKind::Place,
        };
        match state {
            HouseState::Running if matches!(step, HouseStep::Make | HouseStep::Wake) => {
                Ok(HouseStep::Enter)
            }
            HouseState::Running if failure.was_killed => Ok(step),
            HouseState::Running => {
                let lacks_shell = step == HouseStep::Enter && lacks_shell(&failure);
                if lacks_shell && self.copy_in(house).await? {
                    return Ok(HouseStep::EnterCopied);
                }
                let error = if step == HouseStep::EnterCopied {
                    unfit(&failure.error)
                } else {
                    failure.error
                };
                Err(self.with_word_of_node(house, error).await)
            }
            HouseState::Stopped(word) | HouseState::Absent(word)
                if may_make && step == HouseStep::Make && matches!(house, House::Pod(..)) =>
            {
                let text = format!("{word}; {}", failure.error);
                Err(Error::new(ErrorKind::Place, text))
            }
            // What was made and could not run is of no use to anybody.
            HouseState::Stopped(_) if may_make && step == HouseStep::Make => {
                self.remove(house).await;
                Err(unfit(&failure.error))
            }
            HouseState::Stopped(_) if may_make && step == HouseStep::Wake => Err(failure.error),
            HouseState::Stopped(_) if may_make => match house {
                House::Container(..) => Ok(HouseStep::Wake),
                // A pod that has ended is never started again.
                House::Pod(..) => {
                    self.remove(house).await;
                    Ok(HouseStep::Make)
                }
            },
            HouseState::Absent(_) if may_make && step != HouseStep::Make => Ok(HouseStep::Make),
            HouseState::Absent(_) if may_make => Err(failure.error),
            HouseState::Stopped(word) | HouseState::Absent(word) => Err(Error::new(kind, word)),
            HouseState::Held(word) => Err(Error::new(ErrorKind::Place, word)),
            HouseState::NotKnown(word) => {
                let text = format!("{}; {word}", failure.error);
                Err(Error::new(ErrorKind::Place, text))
            }
        }
    }

    /// One attempt.
    async fn take_step(
        &self,
        house: &House<'_>,
        step: HouseStep,
        program: OptionalProgram<'_>,
    ) -> Result<Greeted, DialFailure> {
        let place = &self.settings;
        let connect = place.connect;
        let (words, mark, most) = match (house, step) {
            (House::Container(settings, called), HouseStep::Make) => {
                self.tell(&house.starting());
                (settings.make(called, place, program), None, house.start())
            }
            (House::Container(settings, called), HouseStep::Wake) => {
                self.tell("starting the container again");
                (settings.wake(called), None, house.start())
            }
            (House::Container(settings, called), _) => {
                let is_copied = step == HouseStep::EnterCopied;
                let (words, mark) = settings.enter(called, place, program, is_copied);
                (words, mark, connect)
            }
            (House::Pod(settings, called), step) => {
                if step == HouseStep::Make {
                    self.make_pod(house, (settings, called), program).await?;
                }
                let (words, mark) = settings.enter(called, place, program);
                (words, mark, connect)
            }
        };
        let (words, mark) = self.on_the_way(words, mark);
        let program = self.machine().1.clone();
        self.greet(&words, mark, program, most).await
    }

    /// The same through the places on the way, where something may be printed first.
    pub(super) fn on_the_way(
        &self,
        words: Vec<String>,
        mark: Option<LineMark>,
    ) -> (Vec<String>, Option<LineMark>) {
        if self.through.is_empty() {
            return (words, mark);
        }
        let (words, mark) = if let Some(mark) = mark {
            (words, mark)
        } else {
            line::marked(&words)
        };
        (line::behind(words, &self.through), Some(mark))
    }

    /// Makes a pod, and waits until it runs.
    async fn make_pod(
        &self,
        house: &House<'_>,
        (settings, called): (&PodSettings, &str),
        program: OptionalProgram<'_>,
    ) -> Result<(), DialFailure> {
        let failed = |text: String| DialFailure {
            error: Error::new(ErrorKind::Place, text),
            was_killed: false,
            had_begun: false,
        };
        self.tell(&house.starting());
        let manifest = settings.manifest(called, &self.settings, program);
        let manifest = manifest.to_string();
        let made = self.asked(settings.make(), manifest.as_bytes()).await;
        if let Err(word) = made {
            // Somebody else may have been faster.
            if !matches!(
                self.state_of(house).await,
                HouseState::Running | HouseState::Held(_)
            ) {
                return Err(failed(word));
            }
        }
        let (begun, mut pause) = (Instant::now(), FIRST_LOOK);
        loop {
            let word = match self.state_of(house).await {
                HouseState::Running => return Ok(()),
                HouseState::Stopped(word) | HouseState::Absent(word) => return Err(failed(word)),
                HouseState::Held(word) | HouseState::NotKnown(word) => word,
            };
            self.tell(&word);
            if begun.elapsed() > house.start() {
                let seconds = house.start().as_secs();
                return Err(failed(format!(
                    "it did not start within {seconds} s: {word}"
                )));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_LOOK);
        }
    }

    /// What its keeper says of it.
    async fn state_of(&self, house: &House<'_>) -> HouseState {
        match house {
            House::Container(settings, called) => {
                let word = match self.asked(settings.inspect(called), b"").await {
                    Ok(state) => return settings.told(called, &state),
                    Err(word) => word,
                };
                match self.asked(settings.exists(called), b"").await {
                    Ok(found) if found.trim().is_empty() => {
                        let engine = settings.engine.name();
                        HouseState::Absent(format!("{engine} says: {word}"))
                    }
                    Ok(_) | Err(_) => HouseState::NotKnown(word),
                }
            }
            House::Pod(settings, called) => match self.asked(settings.get(called), b"").await {
                Ok(pod) => settings.told(called, &pod),
                Err(word) => {
                    let text = format!("Kubernetes could not be asked for the pod: {word}");
                    HouseState::NotKnown(text)
                }
            },
        }
    }

    /// Adds what is wrong with its node, if something is.
    async fn with_word_of_node(&self, house: &House<'_>, error: Error) -> Error {
        let House::Pod(settings, called) = house else {
            return error;
        };
        let pod = self.asked(settings.get(called), b"").await;
        let Some(node) = pod.ok().and_then(|pod| PodSettings::node_of(&pod)) else {
            return error;
        };
        let node = self.asked(settings.get_node(&node), b"").await;
        match node.ok().and_then(|node| PodSettings::told_of_node(&node)) {
            Some(word) => Error::new(ErrorKind::Place, format!("{word}; {error}")),
            None => error,
        }
    }

    /// Puts the program into a container without a shell; whether that can be tried at all.
    async fn copy_in(&self, house: &House<'_>) -> Result<bool> {
        let House::Container(settings, called) = house else {
            return Ok(false);
        };
        let program = self.program().await?;
        let Some(program) = program.filter(|_| settings.name.is_some() && settings.bin.is_none())
        else {
            return Ok(false);
        };
        let copied = self.asked(settings.copy_in(called, &program), b"").await;
        copied.map(|_| true).map_err(|word| {
            let text = format!("it has no /bin/sh, and the program can't be put there: {word}");
            Error::new(ErrorKind::Place, text)
        })
    }

    async fn remove(&self, house: &House<'_>) {
        let words = match house {
            House::Container(settings, called) => settings.remove(called),
            House::Pod(settings, called) => settings.remove(called),
        };
        // If it fails, making it again says why.
        let _ = self.asked(words, b"").await;
    }

    async fn asked(&self, words: Vec<String>, input: &[u8]) -> Result<String, String> {
        let words = line::behind(words, &self.through);
        ask(&words, &self.env, input, self.settings.connect).await
    }

    fn house(&self, program: OptionalProgram<'_>) -> Result<House<'_>> {
        let place = &self.settings;
        let (house, bin) = match &place.kind {
            PlaceKind::Container(settings) => {
                let called = settings.called(place, program);
                (House::Container(settings, called), &settings.bin)
            }
            PlaceKind::Kubernetes(settings) => {
                let called = settings.called(place, program);
                (House::Pod(settings, called), &settings.bin)
            }
            PlaceKind::Pipe { .. } | PlaceKind::Ssh { .. } | PlaceKind::Slurm(_) => {
                return Err(Error::new(ErrorKind::Place, "nobody keeps it"));
            }
        };
        if house.is_own() && bin.is_none() && program.is_none() {
            let machine = self.machine().0.clone();
            let text = place.programs.missing("Linux", &machine);
            return Err(Error::new(ErrorKind::Place, text));
        }
        Ok(house)
    }

    /// The file that says that this one was seen: it saves a question.
    fn seen_file(&self, house: &House<'_>) -> PathBuf {
        let (House::Container(_, called) | House::Pod(_, called)) = house;
        self.seen.folder(&self.settings.name).join(called)
    }

    async fn has_seen(&self, house: &House<'_>) -> bool {
        let file = self.seen_file(house);
        // Who reads output waits for the place itself, so the threads that read may all be taken.
        let looking = errand::wait(move |_| file.exists());
        looking.await.unwrap_or(false)
    }

    fn note_seen(&self, house: &House<'_>) {
        if !house.is_own() {
            return;
        }
        let file = self.seen_file(house);
        errand::here_or_aside(move || {
            if !file.exists() {
                if let Some(folder) = file.parent() {
                    let _ = std::fs::create_dir_all(folder);
                }
                let _ = std::fs::write(file, "");
            }
        });
    }

    /// Says what a carrier says that has something started, as long as it does.
    pub(super) async fn tell_of(&self, teller: impl Fn() -> Option<String>) -> Infallible {
        loop {
            tokio::time::sleep(TOLD_EVERY).await;
            let is_starting = !self.progress.borrow().is_empty();
            if let Some(line) = teller().filter(|_| is_starting) {
                self.tell(&line);
            }
        }
    }

    /// Says what is waited for; nothing, if that is over.
    pub(super) fn tell(&self, what: &str) {
        self.progress.send_if_modified(|told| {
            let is_new = told != what;
            what.clone_into(told);
            is_new
        });
    }
}

/// Whether there was no shell to find a program by.
fn lacks_shell(failure: &DialFailure) -> bool {
    let text = failure.error.to_string().to_lowercase();
    let is_missing = ["not found", "no such file"];
    let is_missing = is_missing.iter().any(|word| text.contains(word));
    !failure.had_begun && text.contains("/bin/sh") && is_missing
}

/// What may be wrong with a program that was put somewhere and does not run.
fn unfit(error: &Error) -> Error {
    let text =
        format!("{error}; can the program run there (only a static one needs no libraries)?");
    Error::new(ErrorKind::Place, text)
}
