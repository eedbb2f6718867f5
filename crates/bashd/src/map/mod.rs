//! Maps: one command for each item of a list, many at a time, here and at places.
//!
//! Like `xargs -P`, with what a run has: each item is read, judged, limited and shown as a call of
//! its own. Each begins at most once, also if this process is killed and the map is resumed by its
//! name: what begins is written down first (`journal`). What is retried is only what certainly
//! never began. `template` puts an item into the command, `items` reads the list, `sites` chooses
//! where the next one runs, and `running` is the loop.

mod items;
mod journal;
mod running;
mod sites;
mod template;

pub use items::ItemSeparator;
pub use journal::KnownMap;
pub use template::{ItemTemplate, MARK};

use crate::config::{Config, Preset};
use crate::engine::Engine;
use crate::error::Result;
use crate::guard::safe_mode::SafeMode;
use crate::plan::Resources;
use crate::request::Request;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// In which order results are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultOrder {
    /// As the items came.
    #[default]
    In,
    /// As they end.
    AsTheyCome,
}

/// What an item that failed means for those that have not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtFailure {
    /// Nothing.
    #[default]
    KeepGoing,
    /// They do not begin.
    Stop,
}

/// What a map does with each item; kept with it, for when it is resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MapSpec {
    /// The command.
    pub command: String,
    /// What in it stands for the item.
    pub mark: String,
    /// How items are told apart.
    pub separator: ItemSeparator,
    /// Where they run: names of places, and `here`.
    pub places: Vec<String>,
    /// How many run at a time; by default as many as there are processors.
    pub jobs: Option<usize>,
    /// In which order results are told.
    pub order: ResultOrder,
    /// What a failure means for the rest.
    pub at_failure: AtFailure,
    /// The profile; empty for the configured one.
    pub profile: String,
    /// The directory.
    pub cwd: Option<PathBuf>,
    /// How long each may take; by default as the profile says.
    pub timeout: Option<Duration>,
    /// As in a request.
    pub safe_mode: Option<SafeMode>,
    /// As in a request.
    pub confine: Option<Preset>,
    /// As in a request.
    pub resources: Resources,
}

impl MapSpec {
    /// A map of this command, here.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            mark: MARK.to_owned(),
            separator: ItemSeparator::default(),
            places: Vec::new(),
            jobs: None,
            order: ResultOrder::default(),
            at_failure: AtFailure::default(),
            profile: String::new(),
            cwd: None,
            timeout: None,
            safe_mode: None,
            confine: None,
            resources: Resources::default(),
        }
    }

    /// The request for a command that it runs at a place.
    fn request(&self, command: String, place: Option<&str>, owner: Option<&str>) -> Request {
        let mut request = Request::new(command);
        request.profile.clone_from(&self.profile);
        request.cwd.clone_from(&self.cwd);
        request.timeout = self.timeout;
        request.safe_mode = self.safe_mode;
        request.confine = self.confine;
        request.resources = self.resources;
        request.on = place.map(str::to_owned);
        request.owner = owner.map(str::to_owned);
        request
    }
}

/// Items of a map that is resumed which begin again, although they had begun before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Again {
    /// Those whose end is not known.
    pub lost: bool,
    /// Those that failed.
    pub failed: bool,
}

/// What is to be done.
#[non_exhaustive]
pub struct MapWork {
    /// With each item; `None` if that is what was begun under the name.
    pub spec: Option<MapSpec>,
    /// Its name: of the map that is resumed, if there is no spec.
    pub name: Option<String>,
    /// Which of its items begin again.
    pub again: Again,
    /// What the items are read from.
    pub items: Option<Box<dyn Read + Send>>,
    /// Whose calls they are.
    pub owner: Option<String>,
    /// Ends it: what runs is cancelled, and nothing more begins.
    pub cancel: CancellationToken,
}

impl MapWork {
    /// A new map.
    pub fn new(spec: MapSpec, items: Box<dyn Read + Send>) -> Self {
        Self {
            spec: Some(spec),
            items: Some(items),
            ..Self::resume(String::new())
        }
        .named(None)
    }

    /// Goes on with a map that was begun before.
    pub fn resume(name: impl Into<String>) -> Self {
        Self {
            spec: None,
            name: Some(name.into()),
            again: Again::default(),
            items: None,
            owner: None,
            cancel: CancellationToken::new(),
        }
    }

    /// With this name; without one, nothing is left of it once it is over.
    #[must_use]
    pub fn named(mut self, name: Option<String>) -> Self {
        self.name = name;
        self
    }
}

/// How an item ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ItemState {
    /// With status 0.
    Done,
    /// With another status, by a signal, or because bashd failed.
    Failed,
    /// By its deadline.
    TimedOut,
    /// By the caller.
    Cancelled,
    /// A rule denied it; nothing ran.
    Denied,
    /// It can't be run as it stands: it is no text, or the request is bad.
    Refused,
    /// It had begun, and nobody knows how it ended.
    Lost,
}

impl ItemState {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Denied => "denied",
            Self::Refused => "refused",
            Self::Lost => "lost",
        }
    }
}

/// What came of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ItemResult {
    /// Its number; the first is 1.
    pub number: u64,
    /// The item.
    pub item: String,
    /// How it ended.
    pub state: ItemState,
    /// Its exit status, where it has one.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it was denied or lost, or why bashd failed.
    pub error: Option<String>,
    /// The place at which it ran, if not here.
    pub place: Option<String>,
    /// The output, cut to its window.
    pub output: String,
    /// Bytes that it wrote, shown or not.
    pub output_bytes: u64,
    /// Bytes that the output leaves out.
    pub omitted_bytes: u64,
    /// Handle of the stored full output.
    pub artifact: Option<String>,
    /// From the request to its reply, in milliseconds.
    pub wall_ms: u64,
}

/// How many items are where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MapCounts {
    /// All items, once the list was read to its end.
    pub items: Option<u64>,
    /// Those that run.
    pub running: u64,
    /// Those that ended with status 0.
    pub done: u64,
    /// Those that ended otherwise, but for those that are lost.
    pub failed: u64,
    /// Those of which nobody knows how they ended.
    pub lost: u64,
    /// Of all these, those of an earlier life of the map.
    pub earlier: u64,
}

impl MapCounts {
    /// Those that have ended.
    pub fn ended(&self) -> u64 {
        self.done + self.failed + self.lost
    }
}

/// What a caller is told while a map runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum MapEvent<'a> {
    /// It has begun, under this name.
    Begun(&'a str),
    /// An item ended other than with status 0; told at once, also if results come in order.
    Failure(&'a ItemResult),
    /// A result, in the order that was asked for.
    Result(&'a ItemResult),
    /// A place can't be reached, or is reached again.
    Place(&'a str),
    /// The counts have changed.
    Counts(&'a MapCounts),
}

/// How a map ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MapSummary {
    /// Its name.
    pub name: String,
    /// How many items ended how.
    pub counts: MapCounts,
    /// Whether every item has ended.
    pub complete: bool,
    /// Why not, if something kept it from that.
    pub stopped: Option<String>,
    /// In milliseconds.
    pub wall_ms: u64,
}

/// Who is told; an error ends the map.
pub type MapListener<'a> = &'a mut dyn FnMut(MapEvent<'_>) -> io::Result<()>;

impl Engine {
    /// Runs a command for each item of a list. An error means that nothing was begun, or that it
    /// can't be written down what begins.
    pub async fn map(&self, work: MapWork, told: MapListener<'_>) -> Result<MapSummary> {
        Box::pin(running::run(self, work, told)).await
    }

    /// Maps that were begun, by name.
    pub fn maps(&self) -> Vec<KnownMap> {
        journal::list(&directory(self.config()))
    }

    /// Removes what is known of a map.
    pub fn forget_map(&self, name: &str) -> Result<()> {
        journal::forget(&directory(self.config()), name)
    }
}

/// Where maps are written down.
fn directory(config: &Config) -> PathBuf {
    config.state_dir.join("maps")
}
