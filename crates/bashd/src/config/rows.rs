//! What the rows of the table of settings are made of: limits of values, and the row itself.

use super::keys::{ConfigKey, ValueKind};

/// Below a page, a spool could not even hold one write of a chatty command.
pub(super) const LEAST_SPOOL: u64 = 4 << 10;
/// Above this, a size is a slip of the pen rather than a wish.
pub(super) const MOST_SPOOL: u64 = 1 << 40;
/// Above this, a window would no longer be one.
pub(super) const MOST_SHOWN: u64 = 1 << 30;
/// The reader of the ledger takes no line above 16 MiB; JSON may make a text six times longer.
pub(super) const MOST_COMMAND: u64 = 1 << 20;
/// A century: keeps arithmetic on dates far from its limits.
pub(super) const MOST_DAYS: u64 = 36_500;
/// More jobs than this are more processes than a machine of today has.
pub(super) const MOST_JOBS: u64 = 100_000;
/// A year: anything that is meant to run longer is a service.
pub(super) const MOST_JOB_SECONDS: u64 = 366 * 86_400;

pub(super) const SPOOL: ValueKind = size(LEAST_SPOOL, MOST_SPOOL);
pub(super) const DAYS: ValueKind = number(0, MOST_DAYS);
pub(super) const JOBS: ValueKind = number(1, MOST_JOBS);
/// What a command may use up; none for 0. Above this nothing is limited.
pub(super) const LIMIT: ValueKind = number(0, MOST_JOB_SECONDS);

pub(super) const fn number(min: u64, max: u64) -> ValueKind {
    ValueKind::Number { min, max }
}

pub(super) const fn size(min: u64, max: u64) -> ValueKind {
    ValueKind::Size { min, max }
}

pub(super) const fn key(
    name: &'static str,
    kind: ValueKind,
    default: &'static str,
    meaning: &'static str,
) -> ConfigKey {
    ConfigKey {
        name,
        kind,
        default,
        meaning,
    }
}
