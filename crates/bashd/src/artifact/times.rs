//! The times of an artifact whose run was recorded: when its bytes came.

use super::keep::Output;
use crate::output::Source;
use bashd_keeper::spool::{SpoolReader, StoredTimes, TimesHeader, TimesOfStream};
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes down when the output came, if that was recorded.
pub(super) fn keep(directory: &Path, output: &Output<'_>) -> io::Result<()> {
    let Some(times) = output.out.times()? else {
        return Ok(());
    };
    let mut stored = StoredTimes::default();
    add(&mut stored, 0, output.out, times);
    if let Some(err) = output.err {
        // The separator is only between two streams that are not empty.
        let (out, err_bytes) = (output.out.len(), err.len());
        let between = if out > 0 && err_bytes > 0 {
            output.separator.len() as u64
        } else {
            0
        };
        add(
            &mut stored,
            out + between,
            err,
            err.times()?.unwrap_or_default(),
        );
    }
    let begun = SystemTime::now().checked_sub(output.ran_for);
    let since = begun.and_then(|begun| begun.duration_since(UNIX_EPOCH).ok());
    stored.header = TimesHeader {
        started_ms: since.unwrap_or_default().as_millis() as u64,
        ran_us: output.ran_for.as_micros() as u64,
        terminal: output.terminal,
        ..stored.header
    };
    stored.store(directory)
}

fn add(stored: &mut StoredTimes, from: u64, stream: &SpoolReader, times: Vec<u8>) {
    stored.header.streams.push(TimesOfStream {
        from,
        bytes: stream.len(),
        times: 0,
    });
    stored.streams.push(times);
}
