//! The near half of a call at another place: where that is, what is sent there, and what its end
//! comes to here.

use super::drafting::BeforeStart;
use super::{Engine, EngineCore, Storing, owner_of};
use crate::call::Call;
use crate::changes::Effects;
use crate::config::Preset;
use crate::errand;
use crate::error::{Error, ErrorKind};
use crate::exec::{OutputWatch, PlanOutcome, Run, RunFailure, TurnTicket};
use crate::guard::Judgement;
use crate::jobs::FarJob;
use crate::ledger::LedgerEntry;
use crate::output::ends;
use crate::output::run_output::RunOutput;
use crate::output::veiled::Veil;
use crate::place::far_run;
use crate::place::order::{AlongLimits, Order, OrderParts, OrderTerms, ToldMeanwhile};
use crate::place::{Berth, CallClaim, FarCall, FarEnd, FarPlace, OrderSettings};
use crate::plan::confinement::granted::NeededThing;
use crate::plan::{self, Outline, StdinSource};
use crate::profile::Profile;
use crate::profile::reply::{Ending, Finished};
use crate::request::{Accepted, Refusal, RefusalKind, Request};
use crate::run_id::RunId;
use crate::urls::Expanded;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Bytes of stdin that are sent along.
const MOST_STDIN: usize = 32 * 1024 * 1024;

/// How often a reader of stdin looks whether anybody still waits.
const LOOK_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// The least and the most of each end of a stream that come with a run's end.
const LEAST_ALONG: usize = 16 * 1024;
const MOST_ALONG: usize = 96 * 1024;

/// How long places are told that nothing of them is needed any more.
const LEAVE_WITHIN: Duration = Duration::from_millis(100);

/// What a call names to say that it is for no other place.
pub(crate) const HERE: &str = "here";

/// Where a call is carried out, if not here.
pub(super) struct Destination {
    pub(super) place: Arc<FarPlace>,
    /// The directory there, if one is known here.
    cwd: Option<PathBuf>,
}

/// A call that is ready to be sent.
pub(super) struct AwayCall<'a> {
    pub(super) profile: &'a Arc<Profile>,
    pub(super) expanded: &'a Expanded,
    pub(super) accepted: Accepted,
    pub(super) judgement: &'a Judgement,
    pub(super) granted: Vec<NeededThing>,
    pub(super) ticket: Option<TurnTicket>,
}

/// What is said of a call that was to be recorded at another place.
const NOT_RECORDED: &str = "it was not recorded, since it ran at another place";

/// What the caller should know about what was decided.
fn notes_of(request: &Request, outline: &Outline) -> Vec<String> {
    let unrecorded = request.record == Some(true);
    let unrecorded = unrecorded.then(|| NOT_RECORDED.to_owned());
    outline.notes.iter().cloned().chain(unrecorded).collect()
}

impl EngineCore {
    /// The place that a call names, with everything that speaks against it said before anybody is
    /// asked and anything runs.
    pub(super) fn destination(
        &self,
        profile: &Profile,
        expanded: &Expanded,
        accepted: &Accepted,
    ) -> Result<Option<Destination>, Ending> {
        let request = &expanded.request;
        let refused = |text: String| Ending::Refused(Refusal::new(RefusalKind::InvalidValue, text));
        let name = match (&request.on, &self.config.default_place) {
            (Some(name), Some(only)) if name != only => {
                let text = format!("commands run at the place `{only}` here, not at `{name}`");
                return Err(refused(text));
            }
            (Some(here), None) if here == HERE => return Ok(None),
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => return Ok(None),
        };
        let place = self
            .places
            .iter()
            .find(|place| place.settings.name == *name);
        let place = place.ok_or_else(|| {
            let names = self.places.iter().map(|place| &*place.settings.name);
            let names: Vec<&str> = names.collect();
            let known = if names.is_empty() {
                "none is configured: docs/places.md says how".to_owned()
            } else {
                format!("there are: {}", names.join(", "))
            };
            refused(format!("there is no place `{name}` ({known})"))
        })?;
        let effects = plan::confinement::effects(&self.config, request);
        let effects = effects.map_err(|error| refused(error.to_string()))?;
        let is_job = accepted.wants_job();
        let missing = if request.until.is_some() {
            Some("waiting until a job is ready (use the job tool's wait)")
        } else if request.stdin_open && !is_job {
            Some("input that is sent later to a command that is no job")
        } else if profile.at_terminal.is_some() {
            Some("a terminal that stays")
        } else if request.pty && request.ui {
            Some("a terminal at which somebody types")
        } else if expanded.replaced {
            Some("an address, which is a path of this machine,")
        } else if effects != Effects::Now {
            Some("holding or undoing effects")
        } else {
            None
        };
        if let Some(what) = missing {
            let text = format!("{what} is not available at places yet; `{name}` is one");
            return Err(Ending::Refused(Refusal::new(
                RefusalKind::NotAvailable,
                text,
            )));
        }
        let preset = plan::confinement::preset(profile, &self.config, request);
        let is_confined = preset.map_err(|error| refused(error.to_string()))? != Preset::Off;
        let (config, here) = (&self.config, &self.surroundings.cwd);
        if is_confined && place.settings.workspace(config, here).is_none() {
            return Err(refused(format!(
                "a confined command needs a directory of the place `{name}` to work on: map the workspace (places.{name}.map), or name one (places.{name}.cwd)"
            )));
        }
        Ok(Some(Destination {
            place: Arc::clone(place),
            cwd: self.directory_there(place, request).map_err(refused)?,
        }))
    }

    /// The directory of a call at a place. Its own if it names one, which must be mapped; else what
    /// ours is mapped to, or the place's.
    fn directory_there(
        &self,
        place: &FarPlace,
        request: &Request,
    ) -> Result<Option<PathBuf>, String> {
        let settings = &place.settings;
        let here = &self.surroundings.cwd;
        let Some(cwd) = &request.cwd else {
            return Ok(settings.mapped(here).or_else(|| settings.cwd.clone()));
        };
        let cwd = here.join(cwd);
        // A model that works there names directories of there.
        let is_there = |root: &PathBuf| cwd.starts_with(root) && root.parent().is_some();
        let mut there = settings.map.iter().map(|(_, far)| far).chain(&settings.cwd);
        let mapped = settings.mapped(&cwd);
        let mapped = mapped.or_else(|| there.any(is_there).then(|| cwd.clone()));
        mapped.map(Some).ok_or_else(|| {
            let name = &settings.name;
            let shown = cwd.display();
            format!("{shown} is mapped to no directory of the place `{name}` (places.{name}.map)")
        })
    }

    /// Has a call carried out at another place.
    pub(super) async fn elsewhere(
        self: &Arc<Self>,
        Destination { place, cwd }: Destination,
        away: AwayCall<'_>,
        (call, entry): (&Call, &mut LedgerEntry<'_>),
        watch: Option<&mut OutputWatch>,
    ) -> Result<Ending, Ending> {
        let AwayCall {
            profile,
            expanded,
            accepted,
            judgement,
            granted,
            ticket,
        } = away;
        let Expanded {
            request, command, ..
        } = expanded;
        entry.place = Some(place.settings.name.clone());
        entry.cwd = cwd.clone().unwrap_or_default();
        let asked = (request, &accepted);
        let before = BeforeStart::of(asked, call.came, &call.cancel);
        self.turn(ticket.as_ref(), profile, asked, before).await?;
        let stdin = stdin_in_time(request, accepted.timeout, &call.cancel).await?;
        let request = self.with_passed(&place, request);
        let watching = watch
            .as_ref()
            .map_or(ToldMeanwhile::Nothing, |watch| watch.watching());
        let terms = self.terms(
            (profile, &place),
            &request,
            (judgement, granted),
            (&entry.id, watching),
        )?;
        let parts = OrderParts {
            request: &request,
            cwd,
            stdin,
            command,
            accepted: &accepted,
        };
        let limits = profile.limits.with_timeout(accepted.timeout);
        let session = plan::session_of(profile, &request, &owner_of(&request));
        if let Some(ticket) = &ticket {
            ticket.is_placed();
        }
        let placed = |berth: Option<&Berth>| {
            entry.placed(&place.settings.name, berth.map(Berth::to_string));
        };
        let call = FarCall {
            place: &place,
            order: Order::of(parts, terms),
            claim: CallClaim {
                owner: owner_of(&request),
                id: entry.id.as_str().to_owned(),
                session: session.map(|(owner, name)| format!("{owner} {name}")),
            },
            longest: accepted.timeout,
            grace: limits.grace,
            cancel: &call.cancel,
            placed: &placed,
        };
        let veil = self.veil_of(profile);
        let FarEnd { outline, run } = Box::pin(carried_out(call, &veil, watch)).await;
        drop(ticket);
        self.note_away(&place.settings.name, &run, &request, &mut entry.cwd);
        let outline = outline.map_or_else(
            || Outline::unplanned(&request, command, limits),
            |outline| *outline,
        );
        let outline = Outline {
            notes: notes_of(&request, &outline),
            directory: self.config.runs_dir().join(entry.id.as_str()),
            owner: owner_of(&request),
            command: request.command.clone(),
            veil,
            ..outline
        };
        let ending = self.concluded(profile, outline, run, accepted).await;
        // The outpost need not keep what nobody will ask for.
        place.flush().await;
        Ok(ending)
    }

    /// What is here of the output of a run whose place was lost before all was read that is to be
    /// shown: how it ended is known.
    pub(super) fn show_held(
        &self,
        profile: &Profile,
        (outline, run): (&Outline, Run),
        accepted: &Accepted,
        error: io::Error,
    ) -> io::Result<Finished> {
        if !run.out.may_wait() && !run.err.as_ref().is_some_and(RunOutput::may_wait) {
            return Err(error);
        }
        let run = Run {
            out: run.out.held(),
            err: run.err.map(RunOutput::held),
            ..run
        };
        let mut outline = outline.clone();
        let note = format!("part of the output could not be read at its place: {error}");
        outline.notes.push(note);
        self.show(profile, (&outline, &run), accepted, Storing::Allowed)
    }

    /// Notes what went on at a place as a job, or in which directory it was.
    fn note_away(
        &self,
        place: &str,
        run: &Result<PlanOutcome, RunFailure>,
        request: &Request,
        cwd: &mut PathBuf,
    ) {
        match run {
            Ok(PlanOutcome::Backgrounded(job)) => {
                let names = (job.id.clone(), job.alias.clone());
                let job = FarJob::begun(names, &owner_of(request), &request.command);
                self.note_begun(place, job);
            }
            Ok(PlanOutcome::Ended(run)) => {
                if let Some(directory) = &run.began_in {
                    directory.clone_into(cwd);
                }
            }
            Err(_) => {}
        }
    }

    /// What an order says besides its call.
    fn terms(
        &self,
        (profile, place): (&Profile, &FarPlace),
        request: &Request,
        (judgement, granted): (&Judgement, Vec<NeededThing>),
        (id, watching): (&RunId, ToldMeanwhile),
    ) -> Result<OrderTerms, Ending> {
        // As much as is read to show that.
        let ends = ends::first_read(profile.output.window.max) as usize;
        let ends = ends + self.veil_of(profile).reach();
        let ends = ends.clamp(LEAST_ALONG, MOST_ALONG) as u64;
        Ok(OrderTerms {
            id: id.as_str().to_owned(),
            owner: owner_of(request),
            profile: profile.name.clone(),
            profile_text: (self.profiles.own_text(&profile.name)).map_err(failed)?,
            safe_mode: self.config.gate(profile, request).safe_mode,
            shape: judgement.shape,
            granted,
            is_guarded: self.config.guard(profile).is_on(),
            settings: {
                let preset = plan::confinement::preset(profile, &self.config, request);
                self.settings_for(place, preset.map_err(failed)?)
            },
            watching,
            along: AlongLimits {
                first: ends,
                last: ends,
            },
            shown_at: self.shown_at(place),
        })
    }

    /// What of the configuration goes to a place. Where nothing is confined, there is no workspace:
    /// it would only differ.
    pub(super) fn settings_for(&self, place: &FarPlace, preset: Preset) -> OrderSettings {
        let (config, here) = (&self.config, &self.surroundings.cwd);
        let workspace = place.settings.workspace(config, here);
        let workspace = workspace.filter(|_| preset != Preset::Off);
        OrderSettings::of(config, workspace).at(&place.settings.kind)
    }

    /// The request with the variables that the place gets from this side. Its own come last.
    fn with_passed(&self, place: &FarPlace, request: &Request) -> Request {
        let mut request = request.clone();
        let is_passed = |name: &str| place.settings.pass.iter().any(|passed| passed == name);
        let ours = self.surroundings.env.iter();
        let passed = ours.filter(|(name, _)| name.to_str().is_some_and(is_passed));
        let own = std::mem::take(&mut request.env);
        request.env = passed.cloned().chain(own).collect();
        request
    }
}

impl Engine {
    /// Tells places what they have not been told yet, for a moment at most: what is needed there
    /// no more. For who ends right after.
    pub async fn leave_places(&self) {
        let leaving = async {
            for place in &self.0.places {
                place.leave().await;
            }
        };
        let _ = tokio::time::timeout(LEAVE_WITHIN, leaving).await;
    }
}

/// What becomes of a call at a place. What is told meanwhile is veiled on this side.
async fn carried_out(
    call: FarCall<'_>,
    veil: &Veil,
    mut watch: Option<&mut OutputWatch>,
) -> FarEnd {
    if let Some(watch) = &mut watch {
        watch.behind(veil.clone());
    }
    let end = Box::pin(far_run::carry_out(call, watch.as_deref_mut())).await;
    if let Some(watch) = watch {
        watch.finish_forwarding().await;
    }
    end
}

fn failed(error: Error) -> Ending {
    Ending::Failed(error, None)
}

/// What a command reads, if that ends in time.
async fn stdin_in_time(
    request: &Request,
    longest: Duration,
    cancel: &CancellationToken,
) -> Result<Option<Vec<u8>>, Ending> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Ending::CancelledBeforeStart),
        () = tokio::time::sleep(longest) => {
            let text = "its stdin did not end in time: at a place all of it is read first (--stdin none)";
            Err(failed(Error::new(ErrorKind::Io, text)))
        }
        stdin = stdin_of(request) => stdin.map_err(|error| {
            failed(Error::io(ErrorKind::Io, "read the command's stdin", error))
        }),
    }
}

/// What a command at another place reads: all of it, before the command begins.
async fn stdin_of(request: &Request) -> io::Result<Option<Vec<u8>>> {
    let bytes = match &request.stdin {
        StdinSource::Null => return Ok(None),
        StdinSource::Bytes(bytes) => bytes.clone(),
        StdinSource::Open(file) => {
            let file = file.try_clone()?;
            errand::wait(move |called_back| read_all(file, || called_back.check())).await??
        }
    };
    if bytes.len() > MOST_STDIN {
        return Err(too_long());
    }
    Ok(Some(bytes))
}

/// Reads a file or pipe to its end, as long as somebody waits.
fn read_all(file: OwnedFd, is_wanted: impl Fn() -> io::Result<()>) -> io::Result<Vec<u8>> {
    let mut file = File::from(file);
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
    loop {
        is_wanted()?;
        let mut ready = [PollFd::new(&file, PollFlags::IN)];
        if rustix::event::poll(&mut ready, Some(&LOOK_EVERY))? == 0 {
            continue;
        }
        match file.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
        if bytes.len() > MOST_STDIN {
            return Err(too_long());
        }
    }
}

fn too_long() -> io::Error {
    let most = MOST_STDIN / (1024 * 1024);
    io::Error::other(format!("at a place it may have {most} MiB"))
}
