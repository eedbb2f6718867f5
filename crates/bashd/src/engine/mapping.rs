//! Calls that are items of a map: run as any other, recorded only if they fail.

use super::{Engine, HERE};
use crate::call::Call;
use crate::error::{Error, ErrorKind, Result};
use crate::guard::Verdict;
use crate::ledger::{LedgerEntry, Record, RecordedOutcome, Timestamp};
use crate::profile::reply::Ending;
use crate::reply::Reply;
use crate::request::Request;
use crate::rewrite;
use crate::run_id::RunId;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Whether an item has a record of its own in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemRecord {
    IfFailed,
    Never,
}

/// What is certain about an item, besides its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemFate {
    /// It ran, or bashd failed at it: the reply says how.
    Told,
    /// Its place could not be reached, and nothing of it was sent.
    NeverBegun,
    /// It was bad as a request.
    Refused,
    /// Nobody knows how it ended.
    Lost,
}

impl Engine {
    /// Runs an item.
    pub(crate) async fn run_item(
        &self,
        request: Request,
        cancel: CancellationToken,
        record: ItemRecord,
    ) -> (Reply, ItemFate) {
        let (core, begun) = (&self.0, Instant::now());
        let _under_way = core.activity.begin();
        let call = Call::from(request).cancel_by(cancel);
        let mut entry = LedgerEntry::new((&*core.ledger, &*core.feed), call.raw_text());
        entry.recorded = Some(record);
        let (profile, ending) = match core.profile(call.profile()) {
            Ok(profile) => {
                let stages = Box::pin(core.stages(&profile, &call, &mut entry, None));
                let ending = stages.await;
                (profile, ending)
            }
            Err(missing) => (core.fallback(call.profile()), Err(missing.into())),
        };
        let fate = match &ending {
            Ok(Ending::Failed(error, _)) | Err(Ending::Failed(error, _)) => match error.kind() {
                ErrorKind::Place => ItemFate::NeverBegun,
                ErrorKind::PlaceLost | ErrorKind::KeeperLost => ItemFate::Lost,
                _ => ItemFate::Told,
            },
            Ok(Ending::Refused(_)) | Err(Ending::Refused(_)) => ItemFate::Refused,
            _ => ItemFate::Told,
        };
        if fate == ItemFate::NeverBegun {
            // It comes again: nobody wants a record of each attempt.
            entry.recorded = Some(ItemRecord::Never);
        }
        (core.close(&call, entry, (&profile, ending), begun), fate)
    }

    /// Whether a place of this name is there for maps.
    pub(crate) fn check_place(&self, name: &str) -> Result<()> {
        let places = &self.config().places;
        if name == HERE || places.iter().any(|place| place.name == name) {
            return Ok(());
        }
        let names: Vec<&str> = places.iter().map(|place| &*place.name).collect();
        let known = format!("there are: here {}", names.join(" "));
        let text = format!("there is no place `{name}` ({})", known.trim_end());
        Err(Error::new(ErrorKind::Config, text))
    }

    /// Whether such requests can be items, judged as this one stands.
    pub(crate) fn check_item(&self, request: &Request) -> Result<()> {
        let core = &self.0;
        let profile = core.profile(&request.profile)?;
        if profile.at_terminal.is_some() || profile.reply.list.is_some() {
            let text = format!("the profile `{}` has no maps", profile.name);
            return Err(Error::new(ErrorKind::Config, text));
        }
        let command = rewrite::apply(&profile.rewrite, request);
        match core.config.judge(&profile, request, &command).verdict {
            Verdict::Deny(objection) => Err(Error::new(ErrorKind::Denied, objection.message)),
            Verdict::Allow | Verdict::Ask(_) => Ok(()),
        }
    }

    /// Records a map as a whole.
    pub(crate) fn record_map(
        &self,
        (command, owner, place): (String, &str, Option<String>),
        (status, error): (i32, Option<String>),
        wall_ms: u64,
    ) {
        let core = &self.0;
        let secrets = core.ledger.secrets();
        let id = RunId::new();
        let mut record = Record::new(id.as_str(), Timestamp::now(), RecordedOutcome::Exited);
        record.profile.clone_from(&core.config.profile);
        owner.clone_into(&mut record.owner);
        record.command = secrets.hide(&command).into_owned();
        record.cwd = core.surroundings.cwd.display().to_string();
        record.place = place;
        record.exit_code = Some(status);
        record.error = error.map(|error| secrets.hide(&error).into_owned());
        record.wall_ms = wall_ms;
        core.warn(core.ledger.record(&record));
    }
}
