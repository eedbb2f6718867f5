//! The near half of a run at another place: its order is sent, and its conclusion awaited, over as
//! many carriers as that takes.
//!
//! The order may be sent again, since an outpost carries it out at most once. What a call waits for
//! is bounded whatever the other side does: the command's own time, its grace, and the place's
//! patience. After that nobody knows how the command ended, and the call says so.

use super::conclusion::{Along, Conclusion, RunReport};
use super::link::{Link, RunChannel};
use super::order::Order;
use super::reaching::{NotReached, reach, reach_first};
use super::stream_there::StreamThere;
use super::wire::{FromOutpost, ToOutpost, Welcome};
use super::{Berth, CallClaim, FarPlace};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Stream;
use crate::exec::{BackgroundedRun, OutputWatch, PlanOutcome, Run, RunFailure};
use crate::output::StreamPiece;
use crate::output::run_output::{FarOutput, StreamCounts};
use crate::plan::Outline;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a cancelled call waits, past its grace, to hear that its command has ended.
pub(super) const CANCEL_PATIENCE: Duration = Duration::from_secs(1);

/// How long it may take to read what was left of an allocation that is over.
const READING_LEFT: Duration = Duration::from_secs(3);

/// How many allocations an order is sent to that come to an end before they begin it.
const MOST_ATTEMPTS: usize = 4;

/// What a run at a place is given.
pub(crate) struct FarCall<'a> {
    pub(crate) place: &'a Arc<FarPlace>,
    pub(crate) order: Order,
    /// For whom the place is reached.
    pub(crate) claim: CallClaim,
    /// The time of the command.
    pub(crate) longest: Duration,
    pub(crate) grace: Duration,
    pub(crate) cancel: &'a CancellationToken,
    /// Hears to which node it was sent.
    pub(crate) placed: &'a (dyn Fn(Option<&Berth>) + Sync),
}

/// What is waited for, however often its order is sent.
struct FarWait<'a> {
    place: &'a Arc<FarPlace>,
    claim: CallClaim,
    longest: Duration,
    grace: Duration,
    cancel: &'a CancellationToken,
    placed: &'a (dyn Fn(Option<&Berth>) + Sync),
}

/// How a run at a place went; its outline, if it was planned there.
pub(crate) struct FarEnd {
    pub(crate) outline: Option<Box<Outline>>,
    pub(crate) run: Result<PlanOutcome, RunFailure>,
}

/// A run that was ordered, and can be found again by its id.
pub(super) struct OrderedAway {
    place: Arc<FarPlace>,
    id: String,
    /// The node of an allocation on which it runs.
    berth: Option<Berth>,
    /// The link on which it was asked for last, and its channel there.
    at: Mutex<(Arc<Link>, u32)>,
    is_over: AtomicBool,
    /// Whether a part of its output did not come in time: nobody waits for another one.
    pub(super) is_unread: AtomicBool,
}

/// An order that was not begun, since what would have carried it out was told to end before.
struct NotBegun {
    order: Box<Order>,
    /// What became of that.
    word: String,
}

/// What a call hears next.
enum Next {
    Message(FromOutpost),
    Closed,
    Cancelled,
    Late,
}

/// Has an order carried out. One that certainly was not begun, since its allocation came to an end,
/// goes to the next.
pub(crate) async fn carry_out(call: FarCall<'_>, mut watch: Option<&mut OutputWatch>) -> FarEnd {
    let FarCall {
        place,
        order,
        claim,
        longest,
        grace,
        cancel,
        placed,
    } = call;
    let wait = FarWait {
        place,
        claim,
        longest,
        grace,
        cancel,
        placed,
    };
    let shown_at = order.shown_at.clone();
    let mut order = Box::new(order);
    let mut tries = 0;
    loop {
        let attempt = Box::pin(attempt(&wait, order, watch.as_deref_mut()));
        let failed = match attempt.await {
            Ok(end) => return end,
            Err(failed) => failed,
        };
        tries += 1;
        if tries == MOST_ATTEMPTS || cancel.is_cancelled() {
            let text = format!("{}; nothing was begun", failed.word);
            return never_begun(Error::new(ErrorKind::Place, text).into());
        }
        order = failed.order;
        order.shown_at.clone_from(&shown_at);
    }
}

/// Sends an order, and awaits how it goes.
async fn attempt(
    wait: &FarWait<'_>,
    order: Box<Order>,
    mut watch: Option<&mut OutputWatch>,
) -> Result<FarEnd, NotBegun> {
    let (id, is_watched) = (order.id.clone(), watch.is_some());
    // Until it was sent it is certain that nothing runs.
    let reached = reach_first(wait.place, &wait.claim, wait.cancel, watch.as_deref_mut()).await;
    let (mut link, _there) = match reached {
        Ok(reached) => reached,
        Err(failure) => return Ok(never_begun(failure)),
    };
    let (order, mut channel, away) = match sent(wait.place, order, &link) {
        Ok(sent) => sent,
        Err(error) => return Ok(never_begun(error.into())),
    };
    (wait.placed)(link.berth.as_ref());
    let first = link.welcome.clone();
    let guard = EndsIfDropped(Arc::clone(&away));
    let mut seen = 0;
    let mut late = Instant::now() + wait.longest + wait.grace + wait.place.settings.patience;
    let mut is_cancelled = false;
    if is_watched {
        link.ask(channel.number, &ToOutpost::NextEvent { after: seen });
    }
    loop {
        match next(&link, &mut channel, late, wait.cancel, is_cancelled).await {
            Next::Message(FromOutpost::Event { number, event }) => {
                if number == seen + 1 {
                    seen = number;
                    if let Some(watch) = &mut watch {
                        watch.forward(event.into()).await;
                    }
                }
                link.ask(channel.number, &ToOutpost::NextEvent { after: seen });
            }
            Next::Message(FromOutpost::Concluded { conclusion, along }) => {
                guard.is_over();
                return away.ended((*conclusion, along), &link, order).await;
            }
            Next::Message(_) => {}
            Next::Cancelled => {
                is_cancelled = true;
                late = late.min(Instant::now() + wait.grace + CANCEL_PATIENCE);
                link.send_first(channel.number, &ToOutpost::Cancel { id: id.clone() });
            }
            Next::Late if link.word.is_some() => {
                // Whoever is still there has no right to be: with the guard it is told to end.
                return Ok(away.over(link.word.as_deref().unwrap_or_default()));
            }
            Next::Late => {
                guard.is_over();
                let why = "it did not say in time how the command ended";
                return Ok(away.given_up(why, is_cancelled));
            }
            Next::Closed => {
                let lost = link.why_closed();
                let back = (wait.place, away.berth.as_ref());
                let again = reach(back, late, wait.cancel, &mut is_cancelled, wait.grace).await;
                link = match again {
                    Ok(reached) => reached,
                    Err(not) => {
                        guard.is_over();
                        return Ok(away.not_reached(not, &lost, is_cancelled));
                    }
                };
                if link.word.is_some() {
                    late = late.min(Instant::now() + READING_LEFT);
                }
                channel = match away.asked_again(&link, (&order, &first), is_cancelled) {
                    Ok(channel) => channel,
                    Err(unknown) => return Ok(*unknown),
                };
                if is_watched {
                    link.ask(channel.number, &ToOutpost::NextEvent { after: seen });
                }
            }
        }
    }
}

/// Sends an order for the first time.
fn sent(
    place: &Arc<FarPlace>,
    mut order: Box<Order>,
    link: &Arc<Link>,
) -> Result<(ToOutpost, RunChannel, Arc<OrderedAway>)> {
    let id = order.id.clone();
    if let (Some(shown), Some(berth)) = (&mut order.shown_at, &link.berth) {
        // Each node has jobs of its own.
        *shown = format!("{shown}/{berth}");
    }
    let order = ToOutpost::Order(order);
    let channel = link.open();
    link.send(channel.number, &order)
        .map_err(|error| Error::io(ErrorKind::Place, "write the order", error))?;
    let away = OrderedAway {
        place: Arc::clone(place),
        id,
        berth: link.berth.clone(),
        at: Mutex::new((Arc::clone(link), channel.number)),
        is_over: false.into(),
        is_unread: false.into(),
    };
    Ok((order, channel, Arc::new(away)))
}

/// Sends an order once more, or asks what became of it.
fn ask_again(
    link: &Link,
    channel: u32,
    order: Option<&ToOutpost>,
    (id, is_cancelled): (&str, bool),
) -> io::Result<()> {
    let id = id.to_owned();
    if is_cancelled {
        link.send_first(channel, &ToOutpost::Cancel { id: id.clone() });
    }
    match order {
        Some(order) => link.send(channel, order),
        None => link.send(channel, &ToOutpost::Attach { id }),
    }
}

/// What happens next on a channel.
async fn next(
    link: &Link,
    channel: &mut RunChannel,
    late: Instant,
    cancel: &CancellationToken,
    is_cancelled: bool,
) -> Next {
    tokio::select! {
        biased;
        message = channel.messages.recv() => match message {
            Some(message) => Next::Message(message),
            None => Next::Closed,
        },
        () = cancel.cancelled(), if !is_cancelled => Next::Cancelled,
        () = link.closed() => Next::Closed,
        () = tokio::time::sleep_until(late) => Next::Late,
    }
}

fn never_begun(failure: RunFailure) -> FarEnd {
    FarEnd {
        outline: None,
        run: Err(failure),
    }
}

impl OrderedAway {
    /// How it ended, or the order, if nothing of it was begun.
    async fn ended(
        self: &Arc<Self>,
        (conclusion, along): (Conclusion, Vec<Along>),
        link: &Link,
        order: ToOutpost,
    ) -> Result<FarEnd, NotBegun> {
        match (self.not_begun(&conclusion, link).await, order) {
            (Some(word), ToOutpost::Order(order)) => Err(NotBegun { order, word }),
            (Some(word), _) => Ok(self.over(&word)),
            (None, _) => Ok(self.told(conclusion, along, link).await),
        }
    }

    /// Why it is certain that nothing of it was begun, or will be, if that is so.
    async fn not_begun(&self, conclusion: &Conclusion, link: &Link) -> Option<String> {
        let berth = self.berth.as_ref()?;
        match (conclusion, &link.word) {
            // Its id would have been written down before anything was started.
            (Conclusion::Unknown, Some(word)) if link.is_all_ended => Some(word.clone()),
            (Conclusion::TooLate, Some(word)) => Some(word.clone()),
            (Conclusion::TooLate, None) => {
                self.place.forget_allocation(berth.job);
                Some(self.place.word_of(berth).await)
            }
            _ => None,
        }
    }

    /// What became of it, in the words of who lent the place, if that was over.
    async fn told(
        self: &Arc<Self>,
        conclusion: Conclusion,
        along: Vec<Along>,
        link: &Link,
    ) -> FarEnd {
        if let (Some(word), Conclusion::Lost | Conclusion::Unknown) = (&link.word, &conclusion) {
            return self.over(word);
        }
        let by_place = self.berth.as_ref().filter(|_| conclusion.is_by_place());
        let word = match (&link.word, by_place) {
            (Some(word), _) => Some(word.clone()),
            (None, Some(berth)) => {
                // What comes next goes elsewhere.
                self.place.forget_allocation(berth.job);
                Some(self.place.word_of(berth).await)
            }
            (None, None) => None,
        };
        let mut end = self.concluded(conclusion, along);
        if let (Some(word), Some(outline)) = (word, &mut end.outline) {
            outline.notes.push(word);
        }
        end
    }

    /// What became of it.
    fn concluded(self: &Arc<Self>, conclusion: Conclusion, along: Vec<Along>) -> FarEnd {
        match conclusion {
            Conclusion::Ended { outline, report } => FarEnd {
                outline: Some(outline),
                run: Ok(PlanOutcome::Ended(self.run(*report, along))),
            },
            Conclusion::Backgrounded {
                outline,
                report,
                job,
            } => {
                let run = self.run(*report, along);
                let job = BackgroundedRun {
                    id: job.id,
                    alias: job.alias,
                    pid: job.pid,
                    out: run.out,
                    err: run.err,
                    ran_for: run.ran_for,
                    output_file: job.output_file,
                    session_reset: run.session_reset,
                    notes: run.notes,
                    limits: run.limits,
                    confinement: run.confinement,
                };
                FarEnd {
                    outline: Some(outline),
                    run: Ok(PlanOutcome::Backgrounded(job)),
                }
            }
            Conclusion::TooManyJobs { text } => never_begun(RunFailure::TooManyJobs(text)),
            Conclusion::Failed {
                outline,
                error,
                partial,
            } => {
                let partial = partial.map(|report| Box::new(self.run(*report, along)));
                FarEnd {
                    outline,
                    run: Err(RunFailure::Failed(error.into(), partial)),
                }
            }
            Conclusion::Cancelled => never_begun(RunFailure::CancelledBeforeStart),
            Conclusion::TooLate => {
                let text = "the outpost was told to end; nothing was begun";
                never_begun(Error::new(ErrorKind::Place, text).into())
            }
            Conclusion::Lost => self.unknown("its outpost ended while the command ran", false),
            // Only asked for after a new start, and by who cancelled.
            Conclusion::Unknown => self.unknown("nothing is known of it there any more", false),
        }
    }

    /// Nobody waits for its end any more. A cancel that did not get there is sent later.
    fn given_up(&self, why: &str, is_cancelled: bool) -> FarEnd {
        if is_cancelled {
            self.place.cancel_later(self.berth.clone(), &self.id);
        }
        self.unknown(why, is_cancelled)
    }

    /// Its place was not reached again.
    fn not_reached(&self, not: NotReached, lost: &str, is_cancelled: bool) -> FarEnd {
        match not {
            NotReached::Over(word) => self.over(&word),
            NotReached::Late(None) => self.given_up(lost, is_cancelled),
            NotReached::Late(Some(why)) => self.given_up(&format!("{lost}; {why}"), is_cancelled),
        }
    }

    /// Asks on another carrier what became of it.
    fn asked_again(
        &self,
        link: &Arc<Link>,
        (order, first): (&ToOutpost, &Welcome),
        is_cancelled: bool,
    ) -> Result<RunChannel, Box<FarEnd>> {
        let channel = link.open();
        self.moved(link, channel.number);
        // After a new start of the machine nobody can tell whether it was begun, and neither can an
        // outpost that has another directory, as where that of the first can't be written any more.
        let known = |welcome: &Welcome| (welcome.boot.clone(), welcome.state.clone());
        let is_there = known(&link.welcome) == known(first) && link.word.is_none();
        let order = (is_there && !is_cancelled).then_some(order);
        ask_again(link, channel.number, order, (&self.id, is_cancelled))
            .map_err(|error| Box::new(self.unknown(&error.to_string(), is_cancelled)))?;
        Ok(channel)
    }

    /// Nothing runs there any more, and nobody knows how it ended.
    fn over(&self, word: &str) -> FarEnd {
        let name = &self.place.settings.name;
        let text = format!(
            "it is not known how the command ended at the place `{name}`: {word}; it runs no more"
        );
        never_begun(Error::new(ErrorKind::PlaceLost, text).into())
    }

    /// Nobody knows how it ended.
    fn unknown(&self, why: &str, is_cancelled: bool) -> FarEnd {
        let name = &self.place.settings.name;
        let end = if is_cancelled {
            "it was told to end, which is not confirmed"
        } else {
            "it may still run"
        };
        let id = &self.id;
        let at = self.berth.as_ref();
        let at = at.map_or_else(String::new, |berth| format!("/{berth}"));
        let text = format!(
            "it is not known how the command ended at the place `{name}`: {why}; {end}; \
             `bashd jobs show {name}{at}:{id}` asks again"
        );
        never_begun(Error::new(ErrorKind::PlaceLost, text).into())
    }

    fn run(self: &Arc<Self>, report: RunReport, along: Vec<Along>) -> Run {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        for part in along {
            let pieces = part.pieces.into_iter().map(StreamPiece::from).collect();
            match part.stream {
                Stream::Out => out.push((part.from, pieces)),
                Stream::Err => err.push((part.from, pieces)),
            }
        }
        let output = |counts: StreamCounts, parts, stream| {
            let reader = StreamThere {
                run: Arc::clone(self),
                stream,
                runtime: Handle::current(),
            };
            FarOutput::new(counts, parts, Box::new(reader))
        };
        let (out_counts, err_counts) = (report.out, report.err);
        let err = err_counts.map(|counts| output(counts, err, Stream::Err));
        let mut run = report.into_run(output(out_counts, out, Stream::Out), err);
        if let Some(there) = &mut run.stored_there {
            there.place.clone_from(&self.place.settings.name);
            there.node = self.berth.as_ref().map(Berth::to_string);
        }
        run
    }

    fn moved(&self, link: &Arc<Link>, channel: u32) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = (Arc::clone(link), channel);
    }

    fn link(&self) -> (Arc<Link>, u32) {
        let at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&at.0), at.1)
    }

    /// Reads a part of its output, over another carrier if that of its end is gone.
    pub(super) async fn read(
        &self,
        stream: Stream,
        range: Range<u64>,
    ) -> io::Result<Vec<StreamPiece>> {
        let (link, channel) = self.link();
        match link.read(channel, stream, range.clone()).await {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
            read => return read,
        }
        let reached = self.place.link_back(self.berth.as_ref()).await;
        let link = reached.map_err(|error| io::Error::other(error.to_string()))?;
        let channel = link.open().number;
        let id = self.id.clone();
        link.send(channel, &ToOutpost::Attach { id })?;
        self.moved(&link, channel);
        link.read(channel, stream, range).await
    }
}

/// With the last reader of its output, a run is over there, too.
impl Drop for OrderedAway {
    fn drop(&mut self) {
        let (link, channel) = self.link();
        link.forget(channel, self.id.clone());
    }
}

/// Ends a run whose call was dropped.
struct EndsIfDropped(Arc<OrderedAway>);

impl EndsIfDropped {
    fn is_over(&self) {
        let is_over = &self.0.is_over;
        is_over.store(true, Ordering::Relaxed);
    }
}

impl Drop for EndsIfDropped {
    fn drop(&mut self) {
        let OrderedAway {
            place,
            id,
            berth,
            is_over,
            ..
        } = &*self.0;
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let (link, channel) = self.0.link();
        if link.is_closed() {
            place.cancel_later(berth.clone(), id);
        } else {
            link.send_first(channel, &ToOutpost::Cancel { id: id.clone() });
        }
    }
}
