//! What a keeper tells its engine: started, spilled, grown, exited.

use super::drain::Drained;
use super::life::{KeeperRun, Phase};
use super::protocol::{
    self, ExitedMessage, GrownMessage, QueryMessage, SpilledMessage, StartedMessage,
};
use super::pump::Pump;
use super::waiting::Keeper;
use crate::exit::Exit;
use crate::left_behind::LeftBehind;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Shortest time between two `grown` messages.
pub(super) const GROWTH_INTERVAL: Duration = Duration::from_millis(10);

/// How long a keeper whose tree is empty waits for its engine to read the spool.
const LINGER: Duration = Duration::from_secs(1);

/// How long a keeper whose tree is empty does not listen after its report: otherwise the end of the
/// conversation would wake it, and it would exit on the core on which its engine answers the call.
const DEAF: Duration = Duration::from_micros(500);

impl KeeperRun {
    pub(super) fn tell_started(&self, keeper: &Keeper) -> io::Result<()> {
        let Some(link) = &keeper.link else {
            return Ok(());
        };
        let (heads, mut fds) = spools(&self.pumps);
        fds.extend(keeper.own.as_ref().map(AsFd::as_fd));
        let started = StartedMessage {
            pid: self.shell.as_raw_nonzero().get(),
            heads,
            limits: self.limits_in_force(),
            confinement: self.confinement_in_force(),
            directory: self.directory.clone(),
        };
        protocol::send(link, &started, &fds)
    }

    /// Tells the engine how it ended.
    pub(super) fn report(&mut self, keeper: &Keeper, left_behind: Vec<LeftBehind>) {
        self.phase = Phase::Reported;
        self.linger_until = Instant::now() + LINGER;
        for pump in &mut self.pumps {
            pump.spool.settle_times();
        }
        self.tell_spills(keeper);
        let exited = ExitedMessage {
            exit: self.exit.unwrap_or(Exit::Unknown),
            ended_by: self.ended_by,
            ran_for_us: self.started.elapsed().as_micros() as u64,
            counts: self
                .pumps
                .iter()
                .map(|pump| (pump.spool.total(), pump.spool.lines()))
                .collect(),
            left_behind,
            is_closed: self.is_silent_for_good(),
            reset: self.reset,
            out_of_memory: self.is_out_of_memory(),
            dealings: self.dealings(),
            is_unfinished: self.drained == Drained::Unfinished,
            confinement: self.confinement_in_force(),
        };
        if let Some(held) = &self.restrained {
            held.tell();
        }
        self.settle(&exited);
        self.reported = Some(exited.clone());
        self.unsent = keeper.link.is_some().then_some(exited);
        self.send_report(keeper);
    }

    /// Sends the report, once the engine has every ring: it reads them as soon as it has the
    /// report.
    pub(super) fn send_report(&mut self, keeper: &Keeper) {
        let is_told = |pump: &Pump| pump.spill_told || pump.spool.ring().is_none();
        if let (Some(link), Some(exited)) = (&keeper.link, &self.unsent)
            && self.pumps.iter().all(is_told)
        {
            match protocol::send(link, exited, &[]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                _ => {
                    self.unsent = None;
                    if self.tree_is_empty {
                        self.deaf_until = Instant::now() + DEAF;
                    }
                }
            }
        }
    }

    /// Sends new rings, so that a reader can follow beyond the head.
    pub(super) fn tell_spills(&mut self, keeper: &Keeper) {
        let Some(link) = &keeper.link else { return };
        for (stream, pump) in self.pumps.iter_mut().enumerate() {
            if let Some(ring) = pump.spool.ring()
                && !pump.spill_told
            {
                pump.spill_told = protocol::send(link, &SpilledMessage { stream }, &[ring]).is_ok();
            }
        }
    }

    pub(super) fn tell_growth(&mut self, keeper: &Keeper, now: Instant) {
        self.tell_spills(keeper);
        self.send_report(keeper);
        let is_due = self
            .last_grown
            .is_none_or(|last| now >= last + GROWTH_INTERVAL);
        if let (Some(link), Some(query)) = (&keeper.link, &self.query)
            && is_due
            && self.is_longer_than(query)
        {
            // A refusal loses nothing: both the question and the answer stay.
            if protocol::send(link, &GrownMessage {}, &[]).is_ok() {
                self.query = None;
                self.last_grown = Some(now);
            }
        }
    }

    pub(super) fn is_longer_than(&self, query: &QueryMessage) -> bool {
        let lengths = [query.out, query.err];
        self.pumps
            .iter()
            .zip(lengths)
            .any(|(pump, length)| pump.spool.total() > length)
    }
}

/// For each stream, whether there is a head file; and counter page and head file of all of them.
pub(super) fn spools(pumps: &[Pump]) -> (Vec<bool>, Vec<BorrowedFd<'_>>) {
    let mut fds = Vec::new();
    let mut heads = Vec::new();
    for pump in pumps {
        let of_spool = pump.spool.descriptors();
        heads.push(of_spool.len() > 1);
        fds.extend(of_spool);
    }
    (heads, fds)
}
