//! One order and what becomes of it, whoever is connected.

use super::along::goes_along;
use super::{Outpost, facts};
use crate::errand;
use crate::event::{Event, Stream};
use crate::exec::excerpts::NewestExcerpt;
use crate::exec::{Exit, OutputWatch, PlanOutcome, Run, RunFailure};
use crate::output::run_output::RunOutput;
use crate::output::veiled::Veil;
use crate::output::view::View;
use crate::output::{Source, StreamPiece};
use crate::place::conclusion::{Along, Conclusion, FarError, FarJobName, RunReport};
use crate::place::order::{AlongLimits, Order, ToldMeanwhile};
use crate::place::wire::{FarEvent, FarPiece, FromOutpost};
use crate::profile::finished;
use crate::profile::reply::Ending;
use crate::request::RefusalKind;
use crate::run_id::RunId;
use std::fs::{self, DirBuilder};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Events that may wait to be asked for.
const EVENTS_AHEAD: usize = 16;

/// Ids of orders that are kept: as long as an engine could ask again, and much longer.
const IDS_KEPT: Duration = Duration::from_hours(7 * 24);

/// The longest script that goes back with the end: beyond it nothing is minimized.
const LONGEST_SCRIPT: usize = 64 * 1024;

/// Bytes of the end of its output that somebody is shown who asks again.
const SHOWN_END: u64 = 4096;

/// Orders that were cancelled before they came and are remembered.
const MOST_CANCELLED: usize = 1000;

/// An order that was begun.
pub(crate) struct OrderedRun {
    pub(crate) cancel: CancellationToken,
    events: tokio::sync::Mutex<EventFeed>,
    end: watch::Sender<Option<Arc<RunEnd>>>,
    /// Who is connected that asked for it.
    attached: AtomicUsize,
}

/// What happened, as far as somebody asked.
struct EventFeed {
    events: mpsc::Receiver<Event>,
    excerpts: Option<Arc<NewestExcerpt>>,
    /// The newest that was asked for, in case it has to be sent again.
    last: Option<(u64, FarEvent)>,
}

/// How it ended.
pub(crate) struct RunEnd {
    pub(crate) conclusion: Conclusion,
    pub(crate) along: Vec<Along>,
    run: Option<Arc<Run>>,
    /// What must not be told of its output. Who asked for it knows other secrets.
    veil: Veil,
}

impl Outpost {
    /// Begins an order, unless it was begun before. `None` if another outpost began it.
    pub(crate) fn begin(self: &Arc<Self>, order: Order) -> Option<Arc<OrderedRun>> {
        let mut runs = self.runs();
        if let Some(run) = runs.get(&order.id) {
            return Some(Arc::clone(run));
        }
        if self.is_ending() {
            return Some(OrderedRun::that_ended(Conclusion::TooLate, Vec::new()));
        }
        let was_cancelled = take_out(&mut self.cancelled(), &order.id);
        if !was_cancelled && !self.note(&order.id) {
            return None;
        }
        let (sender, events) = mpsc::channel(EVENTS_AHEAD);
        let slot = Arc::new(NewestExcerpt::default());
        let watch = match order.watching {
            ToldMeanwhile::Nothing => None,
            ToldMeanwhile::All => Some(OutputWatch::new(sender)),
            ToldMeanwhile::End => Some(OutputWatch::of_the_end(sender, Arc::clone(&slot))),
        };
        let run = Arc::new(OrderedRun {
            cancel: CancellationToken::new(),
            events: tokio::sync::Mutex::new(EventFeed {
                events,
                excerpts: (order.watching == ToldMeanwhile::End).then_some(slot),
                last: None,
            }),
            end: watch::Sender::new(None),
            attached: AtomicUsize::new(0),
        });
        if was_cancelled {
            run.cancel.cancel();
        }
        runs.insert(order.id.clone(), Arc::clone(&run));
        drop(runs);
        let (outpost, begun) = (Arc::clone(self), Arc::clone(&run));
        tokio::spawn(async move {
            let mut end = outpost.carry_out(&order, watch, &begun.cancel).await;
            if end.conclusion.is_by_signal() {
                outpost.hears_that_too().await;
            }
            if outpost.is_ending() {
                end.conclusion.ended_with_place();
            }
            begun.end.send_replace(Some(Arc::new(end)));
        });
        Some(run)
    }

    async fn carry_out(
        &self,
        order: &Order,
        mut watch: Option<OutputWatch>,
        cancel: &CancellationToken,
    ) -> RunEnd {
        let trees = facts::held_trees();
        if let Some(why) = facts::not_held(trees) {
            return RunEnd::failed(&crate::Error::new(crate::ErrorKind::Place, why));
        }
        let engine = match self.engine(&order.settings).await {
            Ok(engine) => engine,
            Err(error) => return RunEnd::failed(&error),
        };
        // A large future, which lives as long as its command.
        let carried = Box::pin(engine.carry_out(order, watch.as_mut(), cancel)).await;
        let (mut outline, run) = match carried {
            Ok(carried) => carried,
            Err(Ending::CancelledBeforeStart) => return RunEnd::of(Conclusion::Cancelled),
            Err(Ending::Failed(error, _)) => return RunEnd::failed(&error),
            Err(Ending::Refused(refusal)) if refusal.kind == RefusalKind::TooManyJobs => {
                let text = refusal.detail.clone();
                return RunEnd::of(Conclusion::TooManyJobs { text });
            }
            Err(_) => {
                let error = crate::Error::new(crate::ErrorKind::Place, "the order was refused");
                return RunEnd::failed(&error);
            }
        };
        let is_short = |script: &String| script.len() <= LONGEST_SCRIPT;
        outline.script = outline.script.filter(is_short);
        outline.rc_script = None;
        // Whoever reads the reply should know that it is less than usual.
        outline.notes.extend(facts::less_held(trees));
        let outline = Box::new(outline);
        let (veil, along) = (outline.veil.clone(), order.along);
        match run {
            Ok(PlanOutcome::Ended(run)) => {
                let report = Box::new(RunReport::of(&run));
                let conclusion = Conclusion::Ended { outline, report };
                RunEnd::with_output(conclusion, run, (along, veil)).await
            }
            Ok(PlanOutcome::Backgrounded(job)) => {
                let alias = match &order.shown_at {
                    Some(place) => format!("{place}:{}", job.alias),
                    None => job.alias.clone(),
                };
                let name = FarJobName {
                    id: job.id.clone(),
                    alias,
                    pid: job.pid,
                    output_file: job.output_file.clone(),
                };
                let (run, _) = finished::backgrounded(&outline, job);
                let report = Box::new(RunReport::of(&run));
                let conclusion = Conclusion::Backgrounded {
                    outline,
                    report,
                    job: name,
                };
                RunEnd::with_output(conclusion, run, (along, veil)).await
            }
            Err(RunFailure::CancelledBeforeStart) => RunEnd::of(Conclusion::Cancelled),
            Err(RunFailure::TooManyJobs(text)) => RunEnd::of(Conclusion::TooManyJobs { text }),
            Err(RunFailure::Failed(error, partial)) => {
                let conclusion = Conclusion::Failed {
                    outline: Some(outline),
                    error: FarError::from(&error),
                    partial: (partial.as_deref()).map(|run| Box::new(RunReport::of(run))),
                };
                match partial {
                    Some(run) => RunEnd::with_output(conclusion, *run, (along, veil)).await,
                    None => RunEnd::of(conclusion),
                }
            }
        }
    }

    /// The run with this id; `Err` says what is known of one that is not here.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<OrderedRun>, Conclusion> {
        if let Some(run) = self.runs().get(id) {
            return Ok(Arc::clone(run));
        }
        if let Some(run) = self.find_written(id) {
            return Ok(run);
        }
        let was_begun = RunId::received(id).is_some() && self.ids().join(id).exists();
        Err(if was_begun {
            Conclusion::Lost
        } else {
            Conclusion::Unknown
        })
    }

    /// Ends a run, or sees to it that it never begins. One that nobody is connected for is not
    /// asked for again.
    pub(crate) fn cancel(self: &Arc<Self>, id: String) {
        let run = self.runs().get(&id).cloned();
        if let Some(run) = run {
            run.cancel.cancel();
            if run.attached.load(Ordering::Relaxed) == 0 {
                let outpost = Arc::clone(self);
                tokio::spawn(async move {
                    run.ended().await;
                    outpost.forget(&id);
                });
            }
            return;
        }
        let mut cancelled = self.cancelled();
        if cancelled.len() >= MOST_CANCELLED {
            cancelled.remove(0);
        }
        cancelled.push(id);
    }

    /// The near side has all that it wants of a run. One that is not over stays; if it was told to
    /// end, until then.
    pub(crate) fn forget(self: &Arc<Self>, id: &str) {
        let mut runs = self.runs();
        let Some(run) = runs.get(id).cloned() else {
            return;
        };
        if run.is_over() {
            runs.remove(id);
            let _ = fs::remove_file(self.ids().join(id));
        } else if run.cancel.is_cancelled() {
            let (outpost, id) = (Arc::clone(self), id.to_owned());
            tokio::spawn(async move {
                run.ended().await;
                outpost.forget(&id);
            });
        }
    }

    /// Somebody who asked for a run is gone: it ends, or is forgotten, if nobody comes back.
    pub(crate) fn detach(self: &Arc<Self>, id: String, run: &Arc<OrderedRun>) {
        // One that was forgotten needs nobody who waits for ten minutes.
        let is_last = run.attached.fetch_sub(1, Ordering::Relaxed) == 1;
        if !is_last || !self.runs().contains_key(&id) {
            return;
        }
        let (outpost, run) = (Arc::clone(self), Arc::downgrade(run));
        tokio::spawn(async move {
            tokio::time::sleep(outpost.settings.orphaned).await;
            let Some(run) = run.upgrade() else {
                return;
            };
            if run.attached.load(Ordering::Relaxed) == 0 {
                run.cancel.cancel();
                run.ended().await;
                if run.attached.load(Ordering::Relaxed) == 0 {
                    outpost.forget(&id);
                }
            }
        });
    }

    /// Writes an id down; whether it was not there before. Where nothing can be written, at most
    /// once holds as long as this outpost lives.
    fn note(&self, id: &str) -> bool {
        if RunId::received(id).is_none() {
            return false;
        }
        let mut builder = DirBuilder::new();
        let _ = builder.recursive(true).mode(0o700).create(self.ids());
        let mut options = fs::File::options();
        options.write(true).create_new(true).mode(0o600);
        match options.open(self.ids().join(id)) {
            Ok(_) => true,
            Err(error) => error.kind() != io::ErrorKind::AlreadyExists,
        }
    }

    fn ids(&self) -> PathBuf {
        ids_of(&self.settings.state_dir)
    }
}

impl OrderedRun {
    /// One that has ended like this.
    pub(super) fn that_ended(conclusion: Conclusion, along: Vec<Along>) -> Arc<Self> {
        let (_, events) = mpsc::channel(1);
        let end = RunEnd {
            along,
            ..RunEnd::of(conclusion)
        };
        Arc::new(Self {
            cancel: CancellationToken::new(),
            events: tokio::sync::Mutex::new(EventFeed {
                events,
                excerpts: None,
                last: None,
            }),
            end: watch::Sender::new(Some(Arc::new(end))),
            attached: AtomicUsize::new(0),
        })
    }

    /// Somebody is connected who asks for it.
    pub(crate) fn attach(&self) {
        self.attached.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.end.borrow().is_some()
    }

    /// What is known of its end, its exit status, and the last bytes of its output.
    pub(crate) fn told(&self) -> (String, Option<i32>, String) {
        let Some(end) = self.end.borrow().clone() else {
            return ("it still runs".to_owned(), None, String::new());
        };
        let Some(run) = &end.run else {
            let text = "it was ended, or never began".to_owned();
            return (text, None, String::new());
        };
        let (text, code) = match run.exit {
            Exit::Code(code) => (format!("exit {code}"), Some(code)),
            Exit::Signal(signal) => (format!("signal {signal}"), None),
            Exit::Unknown => ("nobody knows how it ended".to_owned(), None),
        };
        let length = run.out.len();
        let view = View::of(&run.out, &end.veil);
        let pieces = view.source().read(length.saturating_sub(SHOWN_END)..length);
        let shown = pieces.unwrap_or_default().into_iter();
        let bytes: Vec<u8> = shown.filter_map(StreamPiece::shown).flatten().collect();
        (text, code, String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) -> Arc<RunEnd> {
        let mut end = self.end.subscribe();
        loop {
            if let Some(end) = &*end.borrow_and_update() {
                return Arc::clone(end);
            }
            // The sender lives as long as this does.
            let _ = end.changed().await;
        }
    }

    /// The event behind this one; `None` if no more come.
    pub(crate) async fn next_event(&self, after: u64) -> Option<FromOutpost> {
        let mut feed = self.events.lock().await;
        if let Some((number, event)) = &feed.last
            && *number == after + 1
        {
            let (number, event) = (*number, event.clone());
            return Some(FromOutpost::Event { number, event });
        }
        let event = feed.next().await?;
        let number = after + 1;
        feed.last = Some((number, event.clone()));
        Some(FromOutpost::Event { number, event })
    }
}

impl EventFeed {
    async fn next(&mut self) -> Option<FarEvent> {
        loop {
            let event = tokio::select! {
                biased;
                event = self.events.recv() => event?,
                excerpt = next_excerpt(self.excerpts.as_deref()) => Event::Excerpt(excerpt),
            };
            return Some(match event {
                Event::Started { pid } => FarEvent::Started { pid },
                Event::Output {
                    stream,
                    offset,
                    text,
                } => FarEvent::Output {
                    stream,
                    offset,
                    text,
                },
                Event::Excerpt(excerpt) => FarEvent::Excerpt(excerpt),
                Event::Preparing { .. } | Event::Terminal { .. } | Event::Finished(_) => continue,
            });
        }
    }
}

async fn next_excerpt(slot: Option<&NewestExcerpt>) -> crate::event::Excerpt {
    match slot {
        Some(slot) => slot.next().await,
        None => std::future::pending().await,
    }
}

impl RunEnd {
    fn of(conclusion: Conclusion) -> Self {
        Self {
            conclusion,
            along: Vec::new(),
            run: None,
            veil: Veil::default(),
        }
    }

    fn failed(error: &crate::Error) -> Self {
        Self::of(Conclusion::Failed {
            outline: None,
            error: FarError::from(error),
            partial: None,
        })
    }

    async fn with_output(conclusion: Conclusion, run: Run, shown: (AlongLimits, Veil)) -> Self {
        let ((limits, veil), run) = (shown, Arc::new(run));
        let (hidden, reading) = (veil.clone(), Arc::clone(&run));
        let along = errand::read(move |_| goes_along(&reading, limits, &hidden)).await;
        Self {
            conclusion,
            // What can't be read now is asked for, and then says why.
            along: along.unwrap_or_default(),
            run: Some(run),
            veil,
        }
    }

    /// A part of a stream of it.
    pub(crate) fn read(&self, stream: Stream, range: Range<u64>) -> io::Result<Vec<FarPiece>> {
        let run = self.run.as_ref();
        let output: Option<&RunOutput> = match stream {
            Stream::Out => run.map(|run| &run.out),
            Stream::Err => run.and_then(|run| run.err.as_ref()),
        };
        let output = output.ok_or(io::ErrorKind::NotFound)?;
        let pieces = View::of(output, &self.veil).source().read(range)?;
        Ok(pieces.into_iter().map(FarPiece::from).collect())
    }
}

/// Where the ids of orders are that were begun.
fn ids_of(state: &Path) -> PathBuf {
    state.join("orders")
}

/// Removes ids that nobody will ask for.
pub(super) fn sweep_ids(state: &Path) {
    for id in fs::read_dir(ids_of(state)).into_iter().flatten().flatten() {
        let written = id.metadata().and_then(|found| found.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        if age.is_some_and(|age| age > IDS_KEPT) {
            let _ = fs::remove_file(id.path());
        }
    }
}

fn take_out(ids: &mut Vec<String>, id: &str) -> bool {
    let before = ids.len();
    ids.retain(|known| known != id);
    ids.len() < before
}
