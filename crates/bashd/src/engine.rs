//! The engine: the pipeline from a call to its reply.
//!
//! [`EngineCore::stages`] and [`EngineCore::show`] list the pipeline in order and contain no
//! stage's logic. Every future of an engine may be dropped at any time: the command that it waits
//! for is then ended by its keeper.

mod approving;
mod at_terminal;
mod drafting;
mod effects;
mod elsewhere;
mod far_ends;
mod far_jobs;
mod far_parts;
mod jobs;
mod mapping;
mod orders;
mod permission;
mod profiles;
mod queueing;
mod repeating;
mod session_state;
mod tools;
mod veil;
mod warnings;

pub use far_ends::FarDelivery;

use crate::activity::Activity;
use crate::approval::Approver;
use crate::approval::desk::ApprovalDesk;
use crate::artifact::{ArtifactKind, ArtifactStore};
use crate::call::Call;
use crate::config::{Config, Surroundings};
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::excerpts::NewestExcerpt;
use crate::exec::terminal_seats::TerminalSeats;
use crate::exec::{
    self, Exit, Keepers, Keyboard, OutputWatch, PlanOutcome, Run, RunFailure, Sessions,
};
use crate::feed::Feed;
use crate::guard::safe_mode::RunForm;
use crate::ledger::{Ledger, LedgerEntry};
use crate::minimize;
use crate::output::line_limits::Hidden;
use crate::place::{FarPlace, PlaceSettings};
use crate::plan::{self, DecidedConfinements, Inheritance, Outline, Programs, Setting, Streams};
use crate::profile::Profile;
use crate::profile::finished::{self, ShownOutput};
use crate::profile::library::Library;
use crate::profile::minimized;
use crate::profile::reply::{self, Ending, Finished};
use crate::profile::rules::Within;
use crate::profile::views::Views;
use crate::rc::RcScripts;
use crate::reply::Reply;
use crate::request::{self, Accepted, By, Refusal, RefusalKind, Request};
use crate::rewrite::{self, Command};
use crate::run_id::RunId;
use crate::running::Running;
use crate::script::Script;
use bashd_keeper::keeper::KeeperSource;
use bashd_keeper::os::memory;
use drafting::{BeforeStart, DraftParts, LONG_COMMAND};
use elsewhere::AwayCall;
pub(crate) use elsewhere::HERE;
pub(crate) use mapping::{ItemFate, ItemRecord};
use session_state::BorrowedState;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// Events that may queue for a slow receiver.
const EVENTS_AHEAD: usize = 16;

/// Memory growth since the last quiet time that is too small to be worth giving back.
const WORTH_GIVING_BACK: usize = 512 * 1024;

/// Output above which reading it takes long enough to be noticed by other calls.
const MUCH_OUTPUT: u64 = 256 * 1024;

/// Runs shell commands. Cheap to clone; clones share everything.
///
/// Its futures need a tokio runtime with I/O and time enabled; one thread is enough.
#[derive(Clone)]
pub struct Engine(Arc<EngineCore>);

struct EngineCore {
    config: Config,
    surroundings: Surroundings,
    keepers: Keepers,
    sessions: Sessions,
    /// The shells of sessions whose terminal stays.
    terminals: TerminalSeats,
    rc_scripts: RcScripts,
    profiles: Library,
    ledger: Arc<Ledger>,
    feed: Arc<Feed>,
    artifacts: ArtifactStore,
    activity: Activity,
    programs: Programs,
    decided: DecidedConfinements,
    inheritance: Inheritance,
    /// Sessions whose effects are held.
    held_sessions: effects::HeldSessions,
    /// The other places at which commands can run.
    places: Vec<Arc<FarPlace>>,
    /// Ends of jobs there.
    far_ends: far_ends::FarEnds,
    /// `None` if output is not minimized.
    minimizer: Option<minimize::FilterSettings>,
    /// Who is asked when a rule requires approval.
    desk: ApprovalDesk,
    /// Told once, to people: a call's reply is the wrong place for it.
    warnings: Mutex<Vec<String>>,
    warned: Notify,
}

/// Whether the output of a run may be stored while it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Storing {
    Allowed,
    /// It is stored already: the run is a job.
    Needless,
}

impl Engine {
    /// An engine that is ready for its first call.
    pub fn new(config: Config, surroundings: Surroundings, source: KeeperSource) -> Result<Self> {
        let expected = drafting::expected_calls(&config);
        let keepers = Keepers::new(source, config.storage(), expected, config.lease)?
            .with_started_shells(config.started_shells);
        let sessions = Sessions::new(config.sessions);
        let rc_scripts = RcScripts::new(config.shells_dir());
        let profiles =
            Library::new(config.profiles_dir.clone()).showing_of_the_start(config.head_bytes);
        if !keepers.is_for_one_call() {
            // Most calls name none. If it cannot be loaded, each of them says why.
            let _ = profiles.get(&config.profile);
            effects::finish_what_is_left(&config);
        }
        let unread = config.secrets.learn(&surroundings.env);
        drafting::expect_confined(&keepers, &config, &surroundings);
        let ledger = Ledger::new(config.ledger, config.ledger_dir())
            .hiding(config.secrets.known.clone())
            .watching_the_clock(config.runs_dir())
            .telling(config.on_record.clone())
            .chained(config.state_dir.clone());
        let feed = Feed::new(config.feed_dir()).switched(config.feed);
        let artifacts = ArtifactStore::of(&config).for_one_call(keepers.is_for_one_call());
        let (minimizer, mut problems) = config.minimizer.load();
        problems.extend(veil::told(unread));
        let warnings = Mutex::new(problems);
        let desk = ApprovalDesk::new(&config.state_dir);
        let places = config.places.iter().cloned();
        let here = &surroundings.cwd;
        let place = |place: PlaceSettings| {
            FarPlace::new(place.for_directory(here), &config, surroundings.env.clone())
        };
        let places = places.map(|settings| Arc::new(place(settings))).collect();
        Ok(Self(Arc::new(EngineCore {
            config,
            surroundings,
            keepers,
            sessions,
            terminals: TerminalSeats::default(),
            rc_scripts,
            profiles,
            ledger: Arc::new(ledger),
            feed: Arc::new(feed),
            artifacts,
            activity: Activity::default(),
            programs: Programs::default(),
            decided: DecidedConfinements::default(),
            inheritance: Inheritance::default(),
            held_sessions: effects::HeldSessions::default(),
            places,
            far_ends: far_ends::FarEnds::default(),
            minimizer,
            desk,
            warnings,
            warned: Notify::new(),
        })))
    }

    /// Runs one call to its reply, whatever happens.
    pub async fn run(&self, call: impl Into<Call>) -> Reply {
        // Boxed: it is too large to be part of every caller's future.
        Box::pin(self.0.perform(&call.into(), None)).await
    }

    /// A call that has arrived: calls of one session run in the order in which they arrived. One
    /// that did not arrive by this does so when it begins to run; so does every call of a session
    /// that clients share, since nobody waits for another client's call that may never begin.
    #[must_use]
    pub fn arrive(&self, call: impl Into<Call>) -> Call {
        let call = call.into();
        if let Ok(profile) = self.0.profile(call.profile())
            && let Ok(request) = call.request(&profile)
            && !plan::is_shared(&profile, &request)
        {
            let ticket = self.0.place_in_line(&profile, &call, &request);
            call.ticket.keep(ticket);
        }
        call
    }

    /// The reply to a call that can't even begin, because its front end could not be set up: in the
    /// profile's form, and recorded like any other. It needs no runtime.
    pub fn fail(&self, call: &Call, error: Error) -> Reply {
        let (shared, begun) = (&self.0, Instant::now());
        let entry = LedgerEntry::new((&*shared.ledger, &*shared.feed), call.raw_text());
        let found = shared.profile(call.profile());
        let profile = found.unwrap_or_else(|_| shared.fallback(call.profile()));
        let ending = Err(Ending::Failed(error, None));
        shared.close(call, entry, (&profile, ending), begun)
    }

    /// Like `run`, reporting events while the call runs.
    pub fn stream(&self, call: impl Into<Call>) -> Running {
        let (sender, events) = mpsc::channel(EVENTS_AHEAD);
        let (shared, call) = (Arc::clone(&self.0), self.arrive(call));
        let (keyboard, strokes) = Keyboard::new();
        let reply = async move {
            let mut watch = OutputWatch::new(sender).typed_by(strokes);
            shared.perform(&call, Some(&mut watch)).await
        };
        Running::new(reply, keyboard, events, None)
    }

    /// Like `stream`, but reports only the end of the output, at most every 50 ms: a viewer gets
    /// the newest [`Event::Excerpt`](crate::Event::Excerpt), and the last one always comes.
    pub fn follow(&self, call: impl Into<Call>) -> Running {
        let (sender, events) = mpsc::channel(EVENTS_AHEAD);
        let slot = Arc::new(NewestExcerpt::default());
        let (shared, call, filled) = (Arc::clone(&self.0), self.arrive(call), Arc::clone(&slot));
        let (keyboard, strokes) = Keyboard::new();
        let reply = async move {
            let mut watch = OutputWatch::of_the_end(sender, filled).typed_by(strokes);
            shared.perform(&call, Some(&mut watch)).await
        };
        Running::new(reply, keyboard, events, Some(slot))
    }

    /// Runs one request without judging or recording it, and hands out the run itself: its exit and
    /// its spools, before any window or reply.
    ///
    /// For programs that want the bytes of scripts of their own.
    pub async fn run_unjudged(&self, request: &Request, streams: Streams) -> Result<Run> {
        let shared = &self.0;
        let profile = shared.profile(&request.profile)?;
        let limit = Duration::from_secs(profile.limits.timeout_s);
        let accepted = Accepted::within(request.timeout.unwrap_or(limit));
        let command = rewrite::apply(&profile.rewrite, request);
        let id = RunId::new();
        let shape = Script::parse(&command.to_run).shape(&command.to_run);
        let owner = owner_of(request);
        let secrets = shared.ledger.secrets();
        let setting = Setting {
            streams: Some(streams),
            ..shared.setting((&id, &secrets), &RunForm::AsWritten, &owner, shape)
        };
        let draft = plan::draft(&profile, request, &command, &accepted, setting)?;
        let plan = plan::resolve(draft, None);
        let cancel = CancellationToken::new();
        let run = exec::run_alone(&plan, &shared.keepers, None, &cancel).await;
        match run.map_err(Error::from)? {
            PlanOutcome::Ended(run) => Ok(run),
            PlanOutcome::Backgrounded(_) => Err(Error::new(
                ErrorKind::Job,
                "the command became a job, which this call does not allow",
            )),
        }
    }

    /// Adds somebody who is asked when a rule wants approval; without anybody, such commands are
    /// denied. All of them are asked at once, and the approver of the call ([`Call::approved_by`])
    /// with them; the first answer counts, and the others see it
    /// ([`Approval::answered`](crate::approval::Approval::answered)).
    pub fn ask(&self, approver: Approver) {
        self.0.desk.add(approver);
    }

    /// The stored outputs of this engine's state directory.
    pub fn artifacts(&self) -> &ArtifactStore {
        &self.0.artifacts
    }

    /// Returns memory to the system whenever there were calls and then none for this long: for
    /// programs that outlive their calls. Never ends.
    pub async fn tidy_up(&self, after: Duration) {
        let mut least = 0;
        loop {
            self.0.activity.quiet(after).await;
            // What one call needs, the next will need again.
            if memory::own_bytes().is_none_or(|bytes| bytes > least + WORTH_GIVING_BACK) {
                memory::give_back();
                least = memory::own_bytes().unwrap_or(0);
            }
        }
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.0.config
    }
}

impl EngineCore {
    /// One command: its stages, its reply, its record.
    async fn perform_one(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        call: &Call,
        watch: Option<&mut OutputWatch>,
    ) -> Reply {
        let begun = Instant::now();
        let mut entry = LedgerEntry::new((&*self.ledger, &*self.feed), call.raw_text());
        let ending = self.stages(profile, call, &mut entry, watch).await;
        self.close(call, entry, (profile, ending), begun)
    }

    /// The last of a call: its reply and its record. `Err` is an ending before the last stage.
    fn close(
        &self,
        call: &Call,
        mut entry: LedgerEntry<'_>,
        (profile, ending): (&Profile, Result<Ending, Ending>),
        begun: Instant,
    ) -> Reply {
        let ending = ending.unwrap_or_else(|early| {
            entry.cwd = call.directory(profile, &self.surroundings.cwd);
            early
        });
        let mut reply = reply::reply(profile, &ending, begun.elapsed());
        reply.place.clone_from(&entry.place);
        let reply = reply.veiled(&self.veil_of(profile));
        self.warn(entry.close(profile, &ending, &reply));
        self.warn(self.keepers.complaint());
        reply
    }

    /// The pipeline. `Err` is an ending before the last stage.
    async fn stages(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        call: &Call,
        entry: &mut LedgerEntry<'_>,
        watch: Option<&mut OutputWatch>,
    ) -> Result<Ending, Ending> {
        let understood = self.understand(profile, call, entry)?;
        let ticket = self.place_in_line(profile, call, &understood.0);
        let expanding = self.expanded(profile, understood, &call.cancel);
        let (accepted, mut expanded) = Box::pin(expanding).await?;
        let owner = owner_of(&expanded.request);
        entry.begin(profile, &expanded.request, &owner);
        if ticket.is_none() {
            self.keepers.alert(entry.id.as_str());
        }
        let destination = self.destination(profile, &expanded, &accepted)?;
        let (asking, is_away) = (&mut *expanded, destination.is_some());
        let judged = self.judged_with_effects(profile, asking, entry, is_away);
        let (judgement, about_effects) = judged.await?;
        let (request, command) = (&expanded.request, &expanded.command);
        let asked = permission::asked(command, (entry, call.came), (request, &accepted));
        let whose = (profile, request, (call, &*owner));
        let permitted = self.permitted(&judgement, asked, whose, ticket);
        let (granted, ticket) = Box::pin(permitted).await?;
        if let Some(problem) = &expanded.problem {
            return Err(Ending::Refused(problem.clone()));
        }
        if let Some(destination) = destination {
            let away = AwayCall {
                profile,
                expanded: &expanded,
                accepted,
                judgement: &judgement,
                granted,
                ticket,
            };
            return Box::pin(self.elsewhere(destination, away, (call, entry), watch)).await;
        }
        self.check_room(&owner, accepted.backgrounding).await?;
        let client = call.terminal.as_ref();
        let (id, secrets) = (entry.id.clone(), Arc::clone(&entry.secrets));
        let setting = Setting {
            client: client.filter(|_| exec::terminal::suits(profile, request, &self.config)),
            make_directories: &expanded.parents,
            begun: call.came,
            granted: &granted,
            ..self.setting((&id, &secrets), &judgement.form, &owner, judgement.shape)
        };
        // Calls of a session run in the order in which they came, whatever their plans wait for.
        let asked = (request, &accepted);
        let before = BeforeStart::of(asked, call.came, &call.cancel);
        self.turn(ticket.as_ref(), profile, asked, before).await?;
        let before = BeforeStart::of(asked, call.came, &call.cancel);
        let state = self.session_state(profile, (request, &accepted), setting, call);
        let state = Box::pin(state).await;
        let setting = Setting {
            state: state.as_ref().map(|borrowed| &borrowed.state),
            ..setting
        };
        let parts = DraftParts {
            profile,
            request,
            command,
            accepted: &accepted,
            setting,
        };
        let plan = Box::pin(self.plan(parts, before, &mut entry.cwd)).await?;
        if let Some(rules) = self.terminal_of(profile, &plan, &judgement.form) {
            let begun = (profile, rules, plan, accepted);
            return Box::pin(self.begin_at_terminal(begun, request, (call, entry))).await;
        }
        let turn = (plan, ticket.as_ref());
        let carried_out = self.carry_out(turn, (&id, before), (request, call), watch);
        let (plan, mut run, proposed) = Box::pin(carried_out).await?;
        repeating::note_directory(&plan, &run, &mut entry.cwd);
        BorrowedState::is_used_by(state, &run);
        let cwd_reset = self.keep_directory(profile, request, &owner, &run);
        drop(ticket);
        let proposed = proposed.zip(about_effects);
        let asking = (&*expanded, &*entry, (call, &accepted));
        Box::pin(self.settle_by_asking(proposed, &mut run, asking)).await;
        let outline = Outline::of(&plan, &run).await;
        let mut ending = self.concluded(profile, outline, run, accepted).await;
        self.note_shown(profile, &mut ending, cwd_reset);
        Ok(Box::pin(self.when_ready(ending, request, &call.cancel)).await)
    }

    /// The stages that only read what was said. Separate from the others, so that their data is not
    /// held while the command runs.
    fn understand(
        &self,
        profile: &Profile,
        call: &Call,
        entry: &mut LedgerEntry<'_>,
    ) -> Result<(Request, Command, Accepted), Ending> {
        entry.profile.clone_from(&profile.name);
        entry.hide(&call.defaults().env);
        let request = call.request(profile).map_err(Ending::Refused)?;
        entry.command.clone_from(&request.command);
        entry.hide(&request.env);
        entry.is_kept_out = request.by == By::PersonApart;
        let accepted = request::validate(profile, &request).map_err(Ending::Refused)?;
        request::refuse_switched_off(profile, &request, &self.config).map_err(Ending::Refused)?;
        let accepted = accepted.with_auto_background(profile, &request, &self.config);
        let command = rewrite::apply(&profile.rewrite, &request);
        Ok((request, command, accepted))
    }

    /// What a plan that was carried out, or not, comes to. Much output or a long command is read by
    /// an errand, and so is what may wait for the lock under which it is stored.
    async fn concluded(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        outline: Outline,
        run: Result<PlanOutcome, RunFailure>,
        accepted: Accepted,
    ) -> Ending {
        let bytes = run.as_ref().map_or(0, PlanOutcome::output_bytes);
        let may_wait = run.as_ref().is_ok_and(PlanOutcome::may_wait);
        let is_short = bytes <= MUCH_OUTPUT && !may_wait;
        let is_quick = bytes == 0 || is_short && !self.artifacts.is_held_up();
        // Rules about statuses and the minimizer read the command as well.
        if is_quick && outline.command.len() <= LONG_COMMAND {
            return self.conclude(profile, &outline, run, &accepted);
        }
        let (core, profile) = (Arc::clone(self), Arc::clone(profile));
        let reading = errand::read(move |_| core.conclude(&profile, &outline, run, &accepted));
        reading.await.unwrap_or_else(|failure| {
            let error = Error::io(ErrorKind::Io, "read the output", failure.into());
            Ending::Failed(error, None)
        })
    }

    /// What a plan that was carried out, or not, comes to.
    fn conclude(
        &self,
        profile: &Profile,
        outline: &Outline,
        run: Result<PlanOutcome, RunFailure>,
        accepted: &Accepted,
    ) -> Ending {
        let unreadable = |error| {
            let error = Error::io(ErrorKind::Io, "read the output", error);
            Ending::Failed(error, None)
        };
        let shown = |run: &Run, effects| self.show(profile, (outline, run), accepted, effects);
        match run {
            Ok(PlanOutcome::Ended(run)) => {
                let finished = shown(&run, Storing::Allowed)
                    .or_else(|error| self.show_held(profile, (outline, run), accepted, error));
                finished.map_or_else(unreadable, |finished| Ending::Ran(Box::new(finished)))
            }
            Ok(PlanOutcome::Backgrounded(job)) => {
                let (run, backgrounded) = finished::backgrounded(outline, job);
                match shown(&run, Storing::Needless) {
                    Ok(so_far) => Ending::Backgrounded(Box::new(backgrounded(so_far))),
                    Err(error) => unreadable(error),
                }
            }
            Err(RunFailure::CancelledBeforeStart) => Ending::CancelledBeforeStart,
            Err(RunFailure::TooManyJobs(text)) => {
                Ending::Refused(Refusal::new(RefusalKind::TooManyJobs, text))
            }
            Err(RunFailure::Failed(error, None))
                if finished::is_written(profile, outline, &error) =>
            {
                match finished::never_started(profile, outline, accepted, &error) {
                    Ok(finished) => Ending::Ran(Box::new(finished)),
                    Err(_) => Ending::Failed(error, None),
                }
            }
            Err(RunFailure::Failed(error, partial)) => {
                let partial = partial.and_then(|run| shown(&run, Storing::Allowed).ok());
                Ending::Failed(error, partial.map(Box::new))
            }
        }
    }

    /// The last arrows of the pipeline: readers, minimize, keep, window; what they make is the
    /// reply's.
    fn show(
        &self,
        profile: &Profile,
        (outline, run): (&Outline, &Run),
        accepted: &Accepted,
        storing: Storing,
    ) -> std::io::Result<Finished> {
        let keep = |kind| match storing {
            Storing::Allowed => self.artifacts.keep_run(profile, outline, run, kind),
            Storing::Needless => None,
        };
        let is_over = storing == Storing::Allowed;
        let is_benign = profile.reply.tolerates(&outline.command, run.exit);
        let views = Views::of(profile, outline, run)?;
        let minimizer = self.minimizer.as_ref();
        let minimizer = minimizer.filter(|_| storing == Storing::Allowed);
        let digest = minimized::digest(profile, outline, run, views.out(), minimizer)?;
        // The raw output is stored before less than that is shown.
        let kept = digest
            .as_ref()
            .and_then(|_| keep(ArtifactKind::BashOriginal));
        let shown = if let Some((digest, raw)) = digest
            && let Some(kept) = kept.clone().filter(|kept| kept.dropped == 0)
        {
            let (captured, window) = minimized::in_window(profile, run, (&digest, &raw), &kept)?;
            ShownOutput {
                captured,
                hidden: Hidden::default(),
                minimized_by: Some(digest.filter),
                digest: Some(window),
                kept: Some(kept),
            }
        } else {
            let within = Within {
                failed: is_over && !is_benign && run.exit != Exit::Code(0),
                most: accepted.most_bytes,
                window: None,
            };
            let cut = views.cut(profile, outline.lines, within)?;
            let kept =
                kept.or_else(|| cut.leaves_out().then(|| keep(ArtifactKind::Bash)).flatten());
            cut.arrange(kept)
        };
        // What is recorded is stored, however much of it was shown.
        if outline.records && shown.kept.is_none() {
            keep(ArtifactKind::Recording);
        }
        let mut finished = finished::finished(outline, run, accepted, shown);
        finished.is_benign = is_benign;
        Ok(finished)
    }
}

/// Whose job a run would be.
fn owner_of(request: &Request) -> String {
    request.owner.clone().unwrap_or_else(default_owner)
}

/// The owner for a host that names nobody.
pub(crate) fn default_owner() -> String {
    format!("library:{}", rustix::process::getuid().as_raw())
}
