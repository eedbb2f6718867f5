//! Places: running commands somewhere else.
//!
//! The near side reads, judges and records a call, and shows its output; the far side, an *outpost*
//! (`crate::outpost`), plans it there, runs it and keeps its output. Between them an *order*
//! travels one way (`order`), and a *conclusion* the other (`conclusion`), in the frames of `wire`,
//! over a *carrier*: a program of the user's (`carrier`). `link` is the near end of one carrier,
//! which all runs of a place share; `far_run` is the near half of one run, whatever becomes of its
//! carriers.

mod allocations;
mod applying;
mod asking;
pub(crate) mod carrier;
pub(crate) mod conclusion;
mod container;
pub(crate) mod far_run;
pub(crate) mod flow;
mod greeting;
mod housed;
mod kubernetes;
mod line;
pub(crate) mod link;
pub(crate) mod managed;
pub(crate) mod order;
pub(crate) mod outbox;
mod program;
mod queue;
mod reaching;
mod settings;
mod slurm;
pub(crate) mod stored;
mod stream_there;
mod survey;
pub(crate) mod wire;

pub(crate) use allocations::{Berth, CallClaim, CallThere};
pub use container::{ContainerEngine, ContainerSettings};
pub(crate) use far_run::{FarCall, FarEnd};
pub use kubernetes::PodSettings;
pub use managed::PlaceFacts;
pub use program::ProgramSources;
pub(crate) use settings::OrderSettings;
pub use settings::{PlaceKind, PlaceSettings};
pub use slurm::{SlurmSettings, SlurmSharing};
pub use stored::{FarPart, StoredThere};
pub use survey::{NodeSurvey, PlaceSurvey};
pub use wire::{Assembler, LARGEST_FRAME, frames, is_message, whole_frame};

use crate::config::Config;
use crate::engine::default_owner;
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::jobs::FarJobs;
use allocations::Allocations;
use carrier::Carrier;
use greeting::{DialFailure, Greeted, Greeter};
use housed::ReachFor;
use line::LineMark;
use link::Link;
use managed::{ManagedCall, ManagedReply};
use program::ProgramToSend;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use stored::{PartThere, StoredWish};
use tokio::sync::{Mutex as AsyncMutex, watch};
use wire::{CONTROL, ToOutpost};

/// What this program is: an outpost of another build is another outpost.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "-1");

/// A place, and the link to it while there is one.
#[derive(Debug)]
pub(crate) struct FarPlace {
    pub(crate) settings: PlaceSettings,
    /// The places on the way, the nearest first.
    through: Vec<PlaceSettings>,
    /// What its carriers inherit.
    env: Vec<(OsString, OsString)>,
    link: AsyncMutex<Option<Arc<Link>>>,
    /// Its allocations, if it is of Slurm.
    slurm: Allocations,
    /// Ids of runs that were cancelled while nobody could be told, and where those are.
    cancelled: Mutex<Vec<(Option<Berth>, String)>>,
    /// The kind of the machine there, as far as known, and what is sent to it.
    program: Mutex<(String, Option<Arc<ProgramToSend>>)>,
    /// Where it is remembered whether it can be reached.
    seen: FarJobs,
    /// What is waited for before it can be reached; nothing most of the time.
    progress: watch::Sender<String>,
}

impl FarPlace {
    pub(crate) fn new(
        settings: PlaceSettings,
        config: &Config,
        env: Vec<(OsString, OsString)>,
    ) -> Self {
        let all = &config.places;
        let mut through: Vec<PlaceSettings> = Vec::new();
        let mut via = settings.via.clone();
        while let Some(next) = via.take().and_then(|via| {
            let mut known = all.iter();
            known.find(|place| place.name == via)
        }) {
            // A circle is refused with the configuration; nobody goes round in one.
            if through.len() >= all.len() {
                break;
            }
            via.clone_from(&next.via);
            through.insert(0, next.clone());
        }
        Self {
            settings,
            through,
            env,
            link: AsyncMutex::default(),
            slurm: Allocations::default(),
            cancelled: Mutex::default(),
            program: Mutex::new((program::own_machine(), None)),
            seen: FarJobs::of(config),
            progress: watch::Sender::default(),
        }
    }

    /// The link to it, for something new.
    pub(crate) async fn link(&self) -> Result<Arc<Link>> {
        self.link_for(ReachFor::Beginning).await
    }

    /// What is waited for while somebody reaches it.
    pub(crate) fn progress(&self) -> watch::Receiver<String> {
        self.progress.subscribe()
    }

    /// The link to it; a new one, if there is none. One caller at a time makes one.
    pub(crate) async fn link_for(&self, why: ReachFor) -> Result<Arc<Link>> {
        if self.of_slurm().is_some() {
            let text = "an allocation has several nodes, and none was meant";
            return Err(Error::new(ErrorKind::Place, text));
        }
        let mut slot = self.link.lock().await;
        if let Some(link) = slot.as_ref().filter(|link| !link.is_closed()) {
            return Ok(Arc::clone(link));
        }
        *slot = None;
        let name = &self.settings.name;
        let dialled = match self.dial_house(why).await {
            Some(linked) => linked,
            None => self.dial().await,
        };
        let dialled = dialled.map_err(|error| self.unreached(error));
        let (seen, place) = (self.seen.clone(), name.clone());
        let failure = dialled.as_ref().err().map(Error::to_string);
        errand::here_or_aside(move || seen.reached(&place, failure.as_deref()));
        let link = self.ready(dialled?, None);
        *slot = Some(Arc::clone(&link));
        Ok(link)
    }

    /// A new link, before anything else is begun: what was cancelled meanwhile is told first.
    fn ready(&self, link: Link, berth: Option<&Berth>) -> Arc<Link> {
        self.cancelled().retain(|(there, id)| {
            let is_there = there.as_ref() == berth;
            if is_there {
                link.send_first(CONTROL, &ToOutpost::Cancel { id: id.clone() });
            }
            !is_there
        });
        Arc::new(link)
    }

    /// The link for a call, and what counts it as under way there.
    pub(crate) async fn link_for_call(
        self: &Arc<Self>,
        claim: &CallClaim,
    ) -> Result<(Arc<Link>, Option<CallThere>)> {
        let Some(settings) = self.of_slurm() else {
            return Ok((self.link().await?, None));
        };
        let linked = self.link_to_node(settings, claim).await;
        let (link, call) = linked.map_err(|error| self.unreached(error))?;
        Ok((link, Some(call)))
    }

    /// The link to where something was begun.
    pub(crate) async fn link_back(&self, berth: Option<&Berth>) -> Result<Arc<Link>> {
        match berth {
            Some(berth) => {
                let linked = self.link_again(berth).await;
                linked.map_err(|error| self.unreached(error))
            }
            None => self.link_for(ReachFor::Finding).await,
        }
    }

    fn unreached(&self, error: Error) -> Error {
        let name = &self.settings.name;
        let text = format!("the place `{name}` can't be reached: {error}");
        match error.kind() {
            ErrorKind::PlaceLost => error,
            _ => Error::new(ErrorKind::Place, text),
        }
    }

    /// Starts a carrier; another one if somebody kills it before it has answered, or if the machine
    /// is another than was expected.
    async fn dial(&self) -> Result<Link> {
        let (begun, mut tries) = (Instant::now(), 0);
        loop {
            let program = self.program().await?;
            let hash = program.as_ref().map(|program| &*program.hash);
            let (words, mark) = line::words(&self.settings, &self.through, hash);
            tries += 1;
            let connect = self.settings.connect;
            match self.greet(&words, mark, program, connect).await {
                Ok(Greeted::Link(link)) => return Ok(*link),
                Ok(Greeted::Kept(_)) => {
                    return Err(Error::new(ErrorKind::Place, "no outpost answers"));
                }
                Ok(Greeted::OtherMachine { system, machine }) => {
                    self.expect_machine(&system, machine).await?;
                }
                Err(DialFailure {
                    was_killed: true, ..
                }) if tries < MOST_TRIES || begun.elapsed() < connect => {
                    // Who kills one after the other lets one of them through at last.
                    if tries >= MOST_TRIES {
                        tokio::time::sleep(FIRST_PAUSE).await;
                    }
                }
                Err(failure) => return Err(failure.error),
            }
        }
    }

    /// Starts a carrier, and greets the outpost at its other end.
    async fn greet(
        &self,
        words: &[String],
        mark: Option<LineMark>,
        program: Option<Arc<ProgramToSend>>,
        connect: Duration,
    ) -> Result<Greeted, DialFailure> {
        let failed = |error| {
            let program = words.first().map_or("", String::as_str);
            DialFailure {
                error: Error::io(ErrorKind::Place, format!("start {program}"), error),
                was_killed: false,
                had_begun: false,
            }
        };
        let started = Carrier::start(words, &self.env, connect).await;
        let (carrier, stream) = started.map_err(failed)?;
        let progress = self.tell_of(carrier.teller());
        let greeter = Greeter {
            carrier,
            stream,
            mark,
            program,
            connect,
            had_begun: false,
        };
        tokio::select! {
            spoken = greeter.greet() => spoken,
            never = progress => match never {},
        }
    }

    /// What is sent there if it is missing: `None` if nothing ever is.
    async fn program(&self) -> Result<Option<Arc<ProgramToSend>>> {
        let settings = &self.settings;
        let is_installed = match &settings.kind {
            PlaceKind::Pipe { .. } => true,
            PlaceKind::Ssh { bin, .. } => bin.is_some(),
            PlaceKind::Container(container) => container.bin.is_some(),
            PlaceKind::Kubernetes(pod) => pod.bin.is_some(),
            PlaceKind::Slurm(slurm) => slurm.bin.is_some(),
        };
        if is_installed {
            return Ok(None);
        }
        let (machine, known) = self.machine().clone();
        if known.is_some() {
            return Ok(known);
        }
        let found = self.find_program(&machine).await;
        let machine = settings.program.is_none().then_some(machine);
        // What is there by another name, or another kind of machine, shows when it answers.
        let Some(path) = found else {
            return Ok(None);
        };
        let there = path.clone();
        let reading = errand::go(&there, move || ProgramToSend::of(&path, machine));
        let reading = tokio::time::timeout(settings.connect, reading).await;
        let failed = |why: std::io::Error| {
            let doing = format!("read {}, the program for the place,", there.display());
            Error::io(ErrorKind::Place, doing, why)
        };
        let reading = reading.map_err(|_| failed(std::io::ErrorKind::TimedOut.into()))?;
        let program = reading.map_err(|failure| failed(failure.into()))??;
        let program = Arc::new(program);
        self.machine().1 = Some(Arc::clone(&program));
        Ok(Some(program))
    }

    /// Where the program for this kind of machine is, if there is one.
    async fn find_program(&self, machine: &str) -> Option<PathBuf> {
        let PlaceSettings {
            program, programs, ..
        } = self.settings.clone();
        let near = programs.directories.first().cloned().unwrap_or_default();
        let machine = machine.to_owned();
        let looked = errand::look(&near, move || programs.find(program.as_deref(), &machine));
        looked.await.flatten()
    }

    /// It is another kind of machine than was thought.
    async fn expect_machine(&self, system: &str, machine: String) -> Result<()> {
        let is_known = self.machine().0 == machine;
        if is_known || system != "Linux" || self.find_program(&machine).await.is_none() {
            let text = self.settings.programs.missing(system, &machine);
            return Err(Error::new(ErrorKind::Place, text));
        }
        *self.machine() = (machine, None);
        Ok(())
    }

    fn machine(&self) -> std::sync::MutexGuard<'_, (String, Option<Arc<ProgramToSend>>)> {
        self.program.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a call about jobs answered there, over another carrier if one dies meanwhile; not a
    /// second time if that could do more than the first.
    pub(crate) async fn manage(
        self: &Arc<Self>,
        call: ManagedCall,
        berth: Option<Berth>,
        longest: Duration,
        is_once: bool,
    ) -> Result<ManagedReply> {
        let name = &self.settings.name;
        let late = Instant::now() + longest + self.settings.patience;
        let mut pause = FIRST_PAUSE;
        loop {
            let link = self.link_to_manage(berth.as_ref(), &call.owner).await?;
            let left = late.saturating_duration_since(Instant::now());
            let lost = match tokio::time::timeout(left, link.manage(Box::new(call.clone()))).await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "it did not answer in time".to_owned(),
            };
            if is_once || Instant::now() + pause >= late {
                let known = if is_once {
                    "; it is not known whether it arrived"
                } else {
                    ""
                };
                let text = format!("the place `{name}` was lost: {lost}{known}");
                return Err(Error::new(ErrorKind::PlaceLost, text));
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    /// Waits for ends of jobs there of which their owner was not told, who knows of these.
    pub(crate) async fn next_ends(
        self: &Arc<Self>,
        (call, berth): (ManagedCall, Option<&Berth>),
        told: Vec<String>,
    ) -> Result<ManagedReply> {
        let link = self.link_to_ends(berth).await?;
        let ends = link.next_ends(Box::new(call), told).await;
        ends.map_err(|error| Error::io(ErrorKind::Place, "wait for the ends of jobs", error))
    }

    /// Its owner was told of the ends of these jobs; if that does not arrive it is told again.
    pub(crate) async fn tell_ends_told(
        self: &Arc<Self>,
        call: ManagedCall,
        berth: Option<Berth>,
        ids: Vec<String>,
    ) {
        if let Ok(link) = self.link_to_ends(berth.as_ref()).await {
            let call = Box::new(call);
            link.send_first(CONTROL, &ToOutpost::EndsTold { call, ids });
            link.flush().await;
        }
    }

    /// Reads a part of what is stored there, over another carrier if one dies meanwhile.
    pub(crate) async fn stored(
        &self,
        wish: StoredWish,
        berth: Option<&Berth>,
    ) -> Result<PartThere> {
        let failed = |error: std::io::Error| {
            let name = &self.settings.name;
            let doing = format!("read what is stored at the place `{name}`");
            Error::io(ErrorKind::Place, doing, error)
        };
        let link = async || match berth {
            Some(_) => self.link_back(berth).await,
            None => self.link().await,
        };
        for _ in 1..MOST_TRIES {
            match link().await?.stored(wish.clone()).await {
                Err(error) if error.kind() == std::io::ErrorKind::NotConnected => {}
                read => return read.map_err(failed),
            }
        }
        link().await?.stored(wish).await.map_err(failed)
    }

    /// The link to where jobs are or were; nothing is made for it.
    async fn link_to_ends(self: &Arc<Self>, berth: Option<&Berth>) -> Result<Arc<Link>> {
        if self.of_slurm().is_some() {
            return self.link_to_manage(berth, "").await;
        }
        self.link_for(ReachFor::Finding).await
    }

    /// The link to the jobs of an owner.
    async fn link_to_manage(
        self: &Arc<Self>,
        berth: Option<&Berth>,
        owner: &str,
    ) -> Result<Arc<Link>> {
        let Some(settings) = self.of_slurm() else {
            return self.link().await;
        };
        let berth = match berth {
            Some(berth) => berth.clone(),
            None => self.berth_of(settings, owner).await?,
        };
        self.link_back(Some(&berth)).await
    }

    /// What it is like, and how long its answer took.
    pub(crate) async fn facts(self: &Arc<Self>) -> Result<(PlaceFacts, Duration)> {
        let link = match self.of_slurm() {
            Some(_) => {
                let claim = CallClaim {
                    owner: default_owner(),
                    ..CallClaim::default()
                };
                self.link_for_call(&claim).await?.0
            }
            None => self.link().await?,
        };
        self.facts_over(&link).await
    }

    async fn facts_over(&self, link: &Link) -> Result<(PlaceFacts, Duration)> {
        let connect = self.settings.connect;
        let failed = |error: std::io::Error| {
            let name = &self.settings.name;
            Error::io(ErrorKind::Place, format!("ask the place `{name}`"), error)
        };
        let late = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
        let first = tokio::time::timeout(connect, link.facts()).await;
        let facts = first
            .map_err(late)
            .and_then(|facts| facts)
            .map_err(failed)?;
        // The first answer looks around there, the second is only the way.
        let asked = Instant::now();
        let pong = tokio::time::timeout(connect, link.round_trip()).await;
        pong.map_err(late).and_then(|pong| pong).map_err(failed)?;
        Ok((facts, asked.elapsed()))
    }

    /// Waits, for a moment, until what was sent is written.
    pub(crate) async fn flush(&self) {
        let mut links: Vec<Arc<Link>> = self.link.lock().await.iter().cloned().collect();
        links.extend(self.slurm.links());
        for link in links {
            link.flush().await;
        }
    }

    /// Says what goes along with something else by itself, and waits for a moment until all is
    /// written: for who ends.
    pub(crate) async fn leave(&self) {
        let links: Vec<Arc<Link>> = self.slurm.links();
        for link in &links {
            link.nothing_follows();
        }
        self.flush().await;
    }

    /// Ends a run as soon as the place is reached again.
    pub(crate) fn cancel_later(&self, berth: Option<Berth>, id: &str) {
        let mut cancelled = self.cancelled();
        if cancelled.len() < MOST_CANCELLED {
            cancelled.push((berth, id.to_owned()));
        }
    }

    fn cancelled(&self) -> std::sync::MutexGuard<'_, Vec<(Option<Berth>, String)>> {
        self.cancelled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pause before the second attempt to ask about jobs; each further one is twice that.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// How many carriers are started at once, one after the other, if only somebody's kill keeps them
/// from answering; after that there is a pause before each.
const MOST_TRIES: usize = 3;

/// How many cancelled runs of a place that can't be reached are remembered: they have deadlines of
/// their own.
const MOST_CANCELLED: usize = 1000;
