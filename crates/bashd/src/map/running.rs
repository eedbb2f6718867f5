//! The loop of a map: items begin where there is room, and their results are told.

use super::items::ItemList;
use super::journal::{JournalSpot, KnownItem, MapJournal};
use super::sites::Sites;
use super::{
    Again, AtFailure, ItemResult, ItemState, ItemTemplate, MapCounts, MapEvent, MapListener,
    MapSpec, MapSummary, MapWork, ResultOrder, directory,
};
use crate::engine::{Engine, ItemFate, ItemRecord};
use crate::error::{Error, ErrorKind, Result};
use crate::reply::Reply;
use crate::run_id::RunId;
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Results that may wait for an earlier one, if they are told in order: beyond that nothing begins.
const MOST_WAITING: usize = 65_536;

/// Failures that have a record each in the ledger; further ones are only counted.
const MOST_RECORDED: u64 = 1000;

/// An item that is to begin.
struct NextItem {
    number: u64,
    item: String,
}

/// What became of one.
struct EndedItem {
    next: NextItem,
    site: usize,
    place: Option<String>,
    reply: Reply,
    fate: ItemFate,
}

/// A map that runs.
struct MapLoop<'a> {
    engine: &'a Engine,
    spec: MapSpec,
    template: ItemTemplate,
    owner: Option<String>,
    journal: MapJournal,
    items: ItemList,
    last_number: u64,
    has_all: bool,
    /// What an earlier life of the map left.
    known: BTreeMap<u64, KnownItem>,
    again: Again,
    sites: Sites,
    under_way: JoinSet<EndedItem>,
    /// Items that certainly never began, to begin once more.
    retried: VecDeque<NextItem>,
    /// Results that wait for their turn.
    waiting: BTreeMap<u64, JournalSpot>,
    next_told: u64,
    counts: MapCounts,
    cancel: CancellationToken,
    /// Why no more items begin.
    stopped: Option<String>,
    told: MapListener<'a>,
}

/// Runs one to its end.
pub(super) async fn run(
    engine: &Engine,
    work: MapWork,
    told: MapListener<'_>,
) -> Result<MapSummary> {
    let begun = Instant::now();
    let maps = directory(engine.config());
    let is_named = work.name.is_some();
    let name = work
        .name
        .unwrap_or_else(|| RunId::new().as_str().to_owned());
    let (mut journal, spec) = match work.spec {
        Some(spec) => {
            check(engine, &spec, work.owner.as_deref())?;
            (MapJournal::begin(&maps, &name, &spec)?, spec)
        }
        None => MapJournal::resume(&maps, &name)?,
    };
    let template = ItemTemplate::new(&spec.command, &spec.mark).map_err(unfit)?;
    let known = journal.known()?;
    let items = ItemList::open(&journal.directory, spec.separator, work.items);
    let items = match items {
        Ok(items) => items,
        Err(error) => return Err(Error::new(ErrorKind::Config, error)),
    };
    let looking = Sites::look(engine, &spec.places, (spec.jobs, work.owner.clone()));
    let (sites, problems) = tokio::select! {
        looked = looking => looked,
        () = work.cancel.cancelled() => {
            journal.remove();
            return Err(Error::new(ErrorKind::Place, "it was ended before anything began"));
        }
    };
    // One that is resumed has reached them before, and waits for them as if it had gone on.
    if known.is_empty() && !problems.is_empty() && problems.len() == spec.places.len().max(1) {
        journal.remove();
        return Err(Error::new(ErrorKind::Place, problems.join("; ")));
    }
    let mut running = MapLoop {
        engine,
        spec,
        template,
        owner: work.owner,
        journal,
        items,
        last_number: 0,
        has_all: false,
        known,
        again: work.again,
        sites,
        under_way: JoinSet::new(),
        retried: VecDeque::new(),
        waiting: BTreeMap::new(),
        next_told: 1,
        counts: MapCounts::default(),
        cancel: work.cancel,
        stopped: None,
        told,
    };
    running.tell(MapEvent::Begun(&name));
    for problem in problems {
        running.tell(MapEvent::Place(&problem));
    }
    let ended = running.go_on().await;
    let summary = running.summary(name, begun);
    running.record(&summary);
    ended?;
    if summary.complete && !is_named {
        running.journal.remove();
    }
    Ok(summary)
}

/// What is wrong with a map, before anything of it runs: its command is judged as it stands.
fn check(engine: &Engine, spec: &MapSpec, owner: Option<&str>) -> Result<()> {
    let template = ItemTemplate::new(&spec.command, &spec.mark).map_err(unfit)?;
    for name in &spec.places {
        engine.check_place(name)?;
    }
    let request = spec.request(template.with(&spec.mark), None, owner);
    engine.check_item(&request)
}

fn unfit(why: String) -> Error {
    Error::new(ErrorKind::Config, why)
}

impl MapLoop<'_> {
    /// Everything, until nothing is left or nothing more may begin.
    async fn go_on(&mut self) -> Result<()> {
        loop {
            let has_room = self.stopped.is_none() && self.waiting.len() < MOST_WAITING;
            let site = if has_room { self.sites.take() } else { None };
            if let Some((number, place)) = site {
                match self.next_item().await {
                    NextStep::Item(item) => self.begin(item, number, place)?,
                    NextStep::Ended(ended) => {
                        self.sites.ended(number);
                        self.ended(*ended)?;
                    }
                    NextStep::None => drop(self.sites.ended(number)),
                }
                if !self.has_all || !self.retried.is_empty() {
                    continue;
                }
            }
            let has_more = self.stopped.is_none() && !(self.has_all && self.retried.is_empty());
            if self.under_way.is_empty() && !has_more {
                return Ok(());
            }
            if has_more && self.sites.are_lost() {
                self.stopped = Some("no place can be reached any more".to_owned());
                continue;
            }
            let (next_try, cancel) = (self.sites.next_try(), self.cancel.clone());
            tokio::select! {
                Some(ended) = self.under_way.join_next() => self.ended(of_task(ended)?)?,
                () = until(next_try), if has_more => {}
                () = cancel.cancelled(), if self.stopped.is_none() => {
                    self.stopped = Some("it was ended".to_owned());
                }
            }
        }
    }

    /// The next item that is to begin, or the end of one that comes first. Results of an earlier
    /// life are told on the way.
    async fn next_item(&mut self) -> NextStep {
        if let Some(item) = self.retried.pop_front() {
            return NextStep::Item(item);
        }
        while !self.has_all {
            let cancel = self.cancel.clone();
            let item = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    self.stopped = Some("it was ended".to_owned());
                    return NextStep::None;
                }
                item = self.items.next() => item,
                Some(ended) = self.under_way.join_next() => {
                    return of_task(ended).map_or(NextStep::None, |ended| NextStep::Ended(Box::new(ended)));
                }
            };
            let item = match item {
                Ok(Some(item)) => item,
                Ok(None) => {
                    self.has_all = true;
                    self.counts.items = Some(self.last_number);
                    self.tell_counts();
                    break;
                }
                Err(error) => {
                    self.stopped = Some(format!("the items can't be read: {error}"));
                    break;
                }
            };
            self.last_number += 1;
            let number = self.last_number;
            if let Err(error) = self.pass_over_or_keep(number, &item) {
                self.stopped = Some(error.to_string());
                return NextStep::None;
            }
            if self.is_settled(number) {
                continue;
            }
            let text = String::from_utf8(item);
            match text {
                Ok(item) => return NextStep::Item(NextItem { number, item }),
                Err(error) => {
                    let item = String::from_utf8_lossy(error.as_bytes()).into_owned();
                    let mut result = ItemResult::of(number, item, ItemState::Refused);
                    result.error = Some("the item is not UTF-8".to_owned());
                    if let Err(error) = self.settle(result) {
                        self.stopped = Some(error.to_string());
                        return NextStep::None;
                    }
                }
            }
        }
        NextStep::None
    }

    /// Deals with an item of an earlier life: one that ended is told again, and one whose end is
    /// not known is lost, unless they are to begin again.
    fn pass_over_or_keep(&mut self, number: u64, item: &[u8]) -> Result<()> {
        let Some(known) = self.known.get(&number).copied() else {
            return Ok(());
        };
        let begins_again = match known {
            KnownItem::Begun | KnownItem::Ended(_, ItemState::Lost) => self.again.lost,
            KnownItem::Ended(_, ItemState::Done) => false,
            KnownItem::Ended(..) => self.again.failed,
        };
        if begins_again {
            self.known.remove(&number);
            return Ok(());
        }
        self.counts.earlier += 1;
        match known {
            KnownItem::Ended(line, state) => {
                self.count(state);
                self.waiting.insert(number, line);
                self.tell_waiting()
            }
            KnownItem::Begun => {
                let item = String::from_utf8_lossy(item).into_owned();
                let mut result = ItemResult::of(number, item, ItemState::Lost);
                let why = "it had begun when the map was ended; its end is not known";
                result.error = Some(why.to_owned());
                self.settle(result)
            }
        }
    }

    fn is_settled(&mut self, number: u64) -> bool {
        self.known.remove(&number).is_some()
    }

    /// Begins an item: that is written down first.
    fn begin(&mut self, next: NextItem, site: usize, place: Option<String>) -> Result<()> {
        self.journal.begun(next.number, place.as_deref())?;
        let command = self.template.with(&next.item);
        let owner = self.owner.as_deref();
        let request = self.spec.request(command, place.as_deref(), owner);
        let record = if self.counts.failed + self.counts.lost < MOST_RECORDED {
            ItemRecord::IfFailed
        } else {
            ItemRecord::Never
        };
        let (engine, cancel) = (self.engine.clone(), self.cancel.child_token());
        self.under_way.spawn(async move {
            let (reply, fate) = engine.run_item(request, cancel, record).await;
            EndedItem {
                next,
                site,
                place,
                reply,
                fate,
            }
        });
        self.counts.running += 1;
        Ok(())
    }

    /// An item came back.
    fn ended(&mut self, ended: EndedItem) -> Result<()> {
        let EndedItem {
            next,
            site,
            place,
            reply,
            fate,
        } = ended;
        self.counts.running -= 1;
        if fate == ItemFate::NeverBegun {
            self.journal.not_begun(next.number)?;
            if self.sites.unreached(site) {
                let why = reply.error.unwrap_or_default();
                self.tell(MapEvent::Place(&why));
            }
            self.retried.push_back(next);
            return Ok(());
        }
        if self.sites.ended(site)
            && let Some(place) = &place
        {
            self.tell(MapEvent::Place(&format!(
                "the place `{place}` is reached again"
            )));
        }
        self.settle(ItemResult::from_reply(next, place, reply, fate))
    }

    /// Writes down how an item ended, and tells it as soon as it is its turn.
    fn settle(&mut self, result: ItemResult) -> Result<()> {
        self.count(result.state);
        let (line, result) = self.journal.ended(result)?;
        if result.state != ItemState::Done {
            self.tell(MapEvent::Failure(&result));
            if self.spec.at_failure == AtFailure::Stop && self.stopped.is_none() {
                self.stopped = Some(format!("item {} failed", result.number));
            }
        }
        self.tell_counts();
        match self.spec.order {
            ResultOrder::AsTheyCome => self.tell(MapEvent::Result(&result)),
            ResultOrder::In if result.number == self.next_told => {
                self.next_told += 1;
                self.tell(MapEvent::Result(&result));
                self.tell_waiting()?;
            }
            ResultOrder::In => drop(self.waiting.insert(result.number, line)),
        }
        Ok(())
    }

    /// Tells the results whose turn it is.
    fn tell_waiting(&mut self) -> Result<()> {
        while let Some(entry) = self.waiting.first_entry() {
            let is_next = *entry.key() == self.next_told;
            if self.spec.order == ResultOrder::In && !is_next {
                break;
            }
            let result = self.journal.result(entry.remove())?;
            self.next_told += 1;
            self.tell(MapEvent::Result(&result));
        }
        Ok(())
    }

    fn count(&mut self, state: ItemState) {
        match state {
            ItemState::Done => self.counts.done += 1,
            ItemState::Lost => self.counts.lost += 1,
            _ => self.counts.failed += 1,
        }
    }

    fn tell_counts(&mut self) {
        let counts = self.counts;
        self.tell(MapEvent::Counts(&counts));
    }

    /// Whoever does not listen any more wants no more of it.
    fn tell(&mut self, event: MapEvent<'_>) {
        if let Err(error) = (self.told)(event)
            && self.stopped.is_none()
        {
            self.stopped = Some(format!("nobody reads the results: {error}"));
            self.cancel.cancel();
        }
    }

    fn summary(&self, name: String, begun: Instant) -> MapSummary {
        let is_whole = self.has_all && self.items.is_known();
        MapSummary {
            name,
            counts: self.counts,
            complete: is_whole && self.counts.ended() == self.last_number,
            stopped: self.stopped.clone(),
            wall_ms: begun.elapsed().as_millis() as u64,
        }
    }

    /// One record for all of it.
    fn record(&self, summary: &MapSummary) {
        let counts = &summary.counts;
        let failed = counts.failed + counts.lost;
        let mut told = Vec::new();
        if failed > 0 {
            told.push(format!("{} failed, {} lost", counts.failed, counts.lost));
        }
        told.extend(summary.stopped.clone());
        let command = format!("map {}: {}", summary.name, self.spec.command);
        let places = self.spec.places.join(",");
        let error = told.join("; ");
        let all = format!("{} of {} items done", counts.done, self.last_number);
        let error = (!error.is_empty()).then(|| format!("{all}: {error}"));
        let owner = self.owner.as_deref().unwrap_or_default();
        let place = Some(places).filter(|places| !places.is_empty());
        let status = if failed > 0 || !summary.complete {
            123
        } else {
            0
        };
        self.engine
            .record_map((command, owner, place), (status, error), summary.wall_ms);
    }
}

/// What comes next.
enum NextStep {
    Item(NextItem),
    Ended(Box<EndedItem>),
    None,
}

fn of_task(ended: Result<EndedItem, tokio::task::JoinError>) -> Result<EndedItem> {
    ended.map_err(|error| Error::new(ErrorKind::Io, format!("an item's task: {error}")))
}

async fn until(time: Option<tokio::time::Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// What the reply says of the place that ended the command.
fn word_of_place(text: &str) -> String {
    let word = text.lines().rev().find(|line| line.contains("Slurm"));
    word.unwrap_or("its place was ended").trim().to_owned()
}

impl ItemResult {
    fn of(number: u64, item: String, state: ItemState) -> Self {
        Self {
            number,
            item,
            state,
            exit_code: None,
            signal: None,
            error: None,
            place: None,
            output: String::new(),
            output_bytes: 0,
            omitted_bytes: 0,
            artifact: None,
            wall_ms: 0,
        }
    }

    fn from_reply(next: NextItem, place: Option<String>, reply: Reply, fate: ItemFate) -> Self {
        // What its place ended did not end by itself, whatever its status is.
        let is_by_place = reply.ended_by.is_some() && reply.exit_code != Some(0);
        let state = match fate {
            ItemFate::Lost => ItemState::Lost,
            ItemFate::Refused => ItemState::Refused,
            _ if is_by_place => ItemState::Lost,
            _ if reply.denied.is_some() => ItemState::Denied,
            _ if reply.timed_out => ItemState::TimedOut,
            _ if reply.cancelled => ItemState::Cancelled,
            _ if reply.error.is_none() && reply.exit_code == Some(0) => ItemState::Done,
            _ => ItemState::Failed,
        };
        let denied = reply.denied.map(|denied| denied.message);
        let by_place = is_by_place.then(|| word_of_place(&reply.text));
        Self {
            exit_code: reply.exit_code,
            signal: reply.signal,
            error: reply.error.or(denied).or(by_place),
            place: reply.place.or(place),
            output: reply.output,
            output_bytes: reply.output_bytes,
            omitted_bytes: reply.omitted_bytes,
            artifact: reply.artifact,
            wall_ms: reply.wall_ms,
            ..Self::of(next.number, next.item, state)
        }
    }
}
