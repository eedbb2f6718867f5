//! The life of a keeper: one run, from `start` until nothing of its tree is left.
//!
//! A keeper is single-threaded and waits in one `poll`. Its *phase* says where the run is:
//!
//! - `Waiting`: no `start` yet (`waiting.rs`). The engine's end means ours.
//! - `Running`: the shell lives and the deadline has not come.
//! - `Draining`: the shell exited by itself, something in its tree is still alive. Wait for a short
//!   silence, and for what still works on the output (`drain`).
//! - `Ending`: the deadline, the engine or a signal ended the run. TERM has been sent, KILL
//!   follows.
//! - `Reported`: the engine was told. What remains is custody of survivors.
//!
//! Its *custody* says who may end it. In `Background` the run is a job (`job`): the engine's death
//! means nothing, and anyone who finds the job's directory may follow or end it. In `Foreground`
//! the engine's death (seen on the socket, and on a pidfd, since a fork of the engine may hold the
//! socket open) ends the tree. In `Released` the reply is out and survivors stay until they end by
//! themselves. A keeper leaves when its tree is empty and its engine has been told, never before:
//! survivors would die by SIGPIPE. It also waits for the engine to close the socket, so that the
//! keeper and not the engine frees a large spool. It looks for that only a moment later, since the
//! engine has the call's reply to make.
//!
//! The keeper never waits for the engine: a message that does not fit is kept and sent later.

use super::drain::{Drain, Drained};
use super::ending::{self, Reaped, Remains, RunScope};
use super::input::StdinWriter;
use super::job::{KeeperJob, ended_later};
use super::prompt;
use super::protocol::{ExitedMessage, QueryMessage, ReleaseMessage, StartMessage};
use super::pty::RunTerminal;
use super::pump::{Pump, PumpRound};
use super::report::GROWTH_INTERVAL;
use super::restraint::Restrained;
use super::start::LaunchedShell;
use super::waiting::Keeper;
use crate::capture::Survivors;
use crate::confinement::ConfinementInForce;
use crate::exit::{EndedBy, Exit};
use crate::os::signals::Arrived;
use crate::refusals::Dealings;
use crate::reset::Reset;
use crate::resources::LimitsInForce;
use crate::spool::{self, Storage};
use rustix::process::Pid;
use std::collections::HashSet;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long KILL may take before what can't be ended is reported as such.
const KILL_BOUND: Duration = Duration::from_millis(12);

/// Likewise for what will end as soon as a busy machine lets it.
const DYING_BOUND: Duration = Duration::from_millis(700);

/// Time between two looks at processes whose death is not reported to us.
const LOOK: Duration = Duration::from_millis(5);

/// Time between two rounds of KILL.
const KILL_ROUND: Duration = Duration::from_millis(2);

/// Likewise, once the engine was told.
const LATE_KILL_ROUND: Duration = Duration::from_millis(50);

/// Where the run is; the module's head explains them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    Draining(Drain),
    Ending { kill_at: Instant },
    Reported,
}

/// Who may end the run; the module's head explains them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Custody {
    Foreground,
    Released,
    Background,
}

/// When and how a run is ended, as its message says.
pub(super) struct Terms {
    pub(super) timeout_us: u64,
    pub(super) grace_us: u64,
    pub(super) drain_silence_us: u64,
    pub(super) drain_total_us: u64,
    pub(super) drain_finish_us: u64,
    pub(super) survivors: Survivors,
    pub(super) goes_to_background: bool,
    pub(super) records: bool,
}

impl From<&StartMessage> for Terms {
    fn from(message: &StartMessage) -> Self {
        Self {
            timeout_us: message.timeout_us,
            grace_us: message.grace_us,
            drain_silence_us: message.drain_silence_us,
            drain_total_us: message.drain_total_us,
            drain_finish_us: message.drain_finish_us,
            survivors: message.survivors,
            goes_to_background: message.goes_to_background,
            records: message.records,
        }
    }
}

/// One run of a keeper.
pub(super) struct KeeperRun {
    pub(super) shell: Pid,
    pub(super) pumps: Vec<Pump>,
    /// The command's stdin, if it stays open.
    pub(super) input: Option<StdinWriter>,
    /// Whether it waits for input, if it could.
    pub(super) asking: Option<prompt::PromptWatch>,
    /// What makes it a job, once it is one.
    pub(super) job: Option<Box<KeeperJob>>,
    /// What the engine was told at the end.
    pub(super) reported: Option<ExitedMessage>,
    pub(super) grace: Duration,
    pub(super) silence: Duration,
    pub(super) drain_total: Duration,
    pub(super) drain_finish: Duration,
    /// What the drain came to, if there was one.
    pub(super) drained: Drained,
    pub(super) survivors: Survivors,
    pub(super) started: Instant,
    pub(super) deadline: Option<Instant>,
    pub(super) exit: Option<Exit>,
    /// How the shell ended, which in a session may be later than the run.
    pub(super) shell_exit: Option<Exit>,
    pub(super) ended_by: Option<EndedBy>,
    /// Whether it is about to become a job, so its end must not be reported first.
    pub(super) goes_to_background: bool,
    pub(super) tree_is_empty: bool,
    /// Which processes below the keeper belong to this run.
    pub(super) scope: RunScope,
    /// Why the shell of a session is gone, or will be when the run is over.
    pub(super) reset: Option<Reset>,
    /// Processes that were asked to end.
    pub(super) asked: HashSet<Pid>,
    /// Whether the engine was told while something was still dying.
    is_dying: bool,
    pub(super) phase: Phase,
    pub(super) custody: Custody,
    /// Lengths beyond which the engine wants to be told.
    pub(super) query: Option<QueryMessage>,
    pub(super) last_grown: Option<Instant>,
    /// The report, while the socket has no room for it.
    pub(super) unsent: Option<ExitedMessage>,
    /// How long the spool is held for an engine that reads it.
    pub(super) linger_until: Instant,
    /// Until when the engine is not listened to.
    pub(super) deaf_until: Instant,
    /// Where the shell of a session was when the run began.
    pub(super) directory: Option<Vec<u8>>,
    /// Its terminal, if it has one.
    pub(super) terminal: Option<RunTerminal>,
    /// Its resource limits, if any.
    pub(super) restrained: Option<Rc<Restrained>>,
    /// Out-of-memory kills that happened before this run.
    earlier_deaths: u64,
    /// What its shell had dealt with before this run.
    earlier_dealings: Dealings,
    /// Where output is stored.
    storage: Storage,
}

impl KeeperRun {
    /// The run of a shell that has just started.
    pub(super) fn new(
        shell: LaunchedShell,
        terms: &Terms,
        started: Instant,
        storage: Storage,
    ) -> Self {
        Self {
            shell: shell.pid,
            pumps: Pump::recorded(shell.pumps, terms.records.then_some(started)),
            asking: shell
                .input
                .as_ref()
                .map(|_| prompt::PromptWatch::new(started)),
            input: shell.input,
            job: None,
            reported: None,
            grace: Duration::from_micros(terms.grace_us),
            silence: Duration::from_micros(terms.drain_silence_us),
            drain_total: Duration::from_micros(terms.drain_total_us),
            drain_finish: Duration::from_micros(terms.drain_finish_us),
            drained: Drained::NotYet,
            survivors: terms.survivors,
            started,
            deadline: started.checked_add(Duration::from_micros(terms.timeout_us)),
            exit: None,
            shell_exit: None,
            ended_by: None,
            goes_to_background: terms.goes_to_background,
            tree_is_empty: false,
            scope: RunScope::beside(shell.restrained.as_deref()),
            reset: None,
            asked: HashSet::new(),
            is_dying: false,
            phase: Phase::Running,
            custody: Custody::Foreground,
            query: None,
            last_grown: None,
            unsent: None,
            linger_until: started,
            deaf_until: started,
            directory: None,
            terminal: shell.terminal,
            earlier_deaths: shell.restrained.as_ref().map_or(0, |held| held.deaths()),
            earlier_dealings: (shell.restrained.as_ref())
                .map_or_else(Dealings::default, |held| held.told()),
            restrained: shell.restrained,
            storage,
        }
    }

    /// The limits that hold.
    pub(super) fn limits_in_force(&self) -> Option<LimitsInForce> {
        self.restrained.as_ref()?.in_force.clone()
    }

    /// The confinement that holds.
    pub(super) fn confinement_in_force(&self) -> Option<ConfinementInForce> {
        self.restrained.as_ref()?.confinement()
    }

    /// Whether the kernel killed one of its processes for lack of memory.
    pub(super) fn is_out_of_memory(&self) -> bool {
        let held = self.restrained.as_ref();
        held.is_some_and(|held| held.deaths() > self.earlier_deaths)
    }

    /// What it was refused, and whom it spoke to.
    pub(super) fn dealings(&self) -> Option<Dealings> {
        let dealings = self.restrained.as_ref()?.dealings();
        let own = dealings.since(&self.earlier_dealings).shortened();
        (!own.is_empty()).then_some(own)
    }

    /// Lives until nothing of the run is left and the engine was told.
    pub(super) fn live(mut self, keeper: &mut Keeper) -> io::Result<()> {
        loop {
            let now = Instant::now();
            let ready = self.wait(keeper, now)?;
            let now = Instant::now();
            let arrived = if ready.signals {
                keeper.signals.take()
            } else {
                Arrived::default()
            };
            if arrived.child {
                self.collect(now);
            }
            if ready.output && self.pump() {
                self.heard(now);
            }
            if let Some(input) = &mut self.input {
                input.turn();
            }
            if arrived.end {
                self.end(None, now);
            }
            self.listen(keeper, &ready, now);
            self.serve_clients(ready.job, now);
            self.look_for_waiting(now);
            self.advance(keeper, now);
            self.tell_growth(keeper, now);
            if self.is_over() && (keeper.link.is_none() || now >= self.linger_until) {
                return self.leave();
            }
        }
    }

    /// Whether nothing lives any more and the engine was told.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Reported && self.tree_is_empty && self.unsent.is_none()
    }

    /// When something must happen even if no message arrives.
    pub(super) fn next_moment(&self, now: Instant) -> Option<Instant> {
        let phase = match self.phase {
            Phase::Running => self.deadline,
            Phase::Draining(drain) => Some(drain.due()),
            // A shell that stays does not tell us when its children die, nor does an init.
            Phase::Ending { kill_at } if now < kill_at && self.scope.has_own_parent() => {
                Some(kill_at.min(now + LOOK))
            }
            Phase::Ending { kill_at } if now < kill_at => Some(kill_at),
            Phase::Ending { .. } => Some(now + KILL_ROUND),
            Phase::Reported if self.is_dying => Some(now + LATE_KILL_ROUND),
            Phase::Reported if now < self.deaf_until => Some(self.deaf_until),
            Phase::Reported => self.tree_is_empty.then_some(self.linger_until),
        };
        let growth = self
            .query
            .as_ref()
            .filter(|query| self.is_longer_than(query))
            .and(self.last_grown)
            .map(|last| last + GROWTH_INTERVAL);
        let looks = self.job.is_some() && self.phase == Phase::Running;
        let look = self.asking.as_ref().filter(|_| looks);
        let look = look.map(prompt::PromptWatch::due);
        [
            phase,
            growth,
            look,
            self.client_moment(),
            self.roster_moment(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Reaps dead children, and asks new processes to end if the run is being ended.
    pub(super) fn collect(&mut self, now: Instant) {
        let Reaped {
            exit,
            tree_is_empty,
        } = ending::reap(self.shell);
        self.shell_exit = self.shell_exit.or(exit);
        self.exit = self.exit.or(exit);
        if self.shell_exit.is_some() {
            self.pumps.iter_mut().for_each(Pump::let_go);
        }
        self.tree_is_empty = tree_is_empty || self.scope.is_partial() && self.scope.is_empty();
        if self.scope.init.is_some() && !self.scope.is_partial() && self.shell_exit.is_some() {
            // Its first process stays until this one goes.
            let has_orphans = self
                .restrained
                .as_ref()
                .is_some_and(|held| !held.has_no_orphans());
            self.tree_is_empty |= !has_orphans || self.scope.is_empty();
        }
        if let Some(job) = &mut self.job {
            job.roster.lost_child(now);
        }
        match self.phase {
            Phase::Ending { kill_at } if now < kill_at => {
                ending::terminate(&self.scope, &mut self.asked);
            }
            Phase::Reported if !self.asked.is_empty() => ending::kill_round(&self.scope),
            _ => {}
        }
    }

    /// Reads for one turn from each pipe; returns whether anything came.
    pub(super) fn pump(&mut self) -> bool {
        let mut heard = false;
        for pump in &mut self.pumps {
            heard |= pump.turn().1;
        }
        heard
    }

    pub(super) fn heard(&mut self, now: Instant) {
        self.stirred(now);
        if let Some(job) = &mut self.job {
            job.roster.heard(now);
        }
        if let Phase::Draining(drain) = &mut self.phase {
            drain.heard(now);
        }
    }

    /// Names the file of the survivors' output, if any of them can still write.
    pub(super) fn keep_log(&mut self, release: &ReleaseMessage) {
        // A terminal whose shell is gone is hung up: nobody can write to it.
        if self.terminal.is_some() {
            return;
        }
        let names = ["output", "stderr"];
        for (pump, name) in self.pumps.iter_mut().zip(names) {
            if pump.pipe().is_some() {
                let _ = spool::prepare_runs_directory(&release.directory);
                let _ = pump.spool.link(&release.directory.join(name));
            }
        }
    }

    /// Begins to end the run, for whatever reason.
    pub(super) fn end(&mut self, by: Option<EndedBy>, now: Instant) {
        if matches!(self.phase, Phase::Ending { .. }) {
            return;
        }
        // Already reported: what is left are survivors of a normal exit, which are ended now.
        self.ended_by = ended_later(self, by);
        if self.custody == Custody::Released {
            self.custody = Custody::Foreground;
        }
        self.phase = Phase::Ending {
            kill_at: now + self.grace,
        };
        ending::terminate(&self.scope, &mut self.asked);
        self.reset = self.reset.or(match (self.scope.spared_shell, by) {
            (None, Some(EndedBy::Timeout)) => Some(Reset::TimedOut),
            (None, Some(EndedBy::Cancel | EndedBy::Place)) => Some(Reset::Cancelled),
            _ => None,
        });
    }

    /// Advances through the phases as far as possible now.
    pub(super) fn advance(&mut self, keeper: &Keeper, now: Instant) {
        self.note_members(now);
        let is_late = self.deadline.is_some_and(|deadline| now >= deadline);
        // Its engine has promised a job, and is about to make it one.
        let is_promised = self.goes_to_background && keeper.link.is_some() && !is_late;
        if self.phase == Phase::Running && self.exit.is_some() && is_promised {
            return;
        }
        if self.phase == Phase::Running && self.exit.is_some() && !self.tree_is_empty {
            self.begin_drain(now);
        } else if self.phase == Phase::Running && self.exit.is_none() && is_late {
            self.end(Some(EndedBy::Timeout), now);
        }
        if matches!(self.phase, Phase::Ending { kill_at } if now >= kill_at) {
            ending::kill_round(&self.scope);
            self.collect(now);
        }
        if matches!(self.phase, Phase::Ending { .. }) && self.scope.has_own_parent() {
            self.tree_is_empty = self.scope.is_empty();
        }
        match self.phase {
            Phase::Reported if self.is_dying => self.kill_on(now),
            Phase::Reported => {}
            _ if self.tree_is_empty => {
                self.pumps.iter_mut().for_each(Pump::finish);
                self.report(keeper, Vec::new());
            }
            Phase::Draining(drain) => match self.look_at_drain(drain, now) {
                Drained::NotYet => {}
                drained @ (Drained::Whole | Drained::Unfinished) => {
                    self.drained = drained;
                    self.outlived(keeper, now);
                }
            },
            Phase::Ending { kill_at } if now >= kill_at + KILL_BOUND => {
                let remains = Remains::of(&self.scope);
                if remains.is_final() || now >= kill_at + DYING_BOUND {
                    self.pump();
                    self.is_dying = remains.is_dying;
                    self.report(keeper, remains.unended);
                }
            }
            Phase::Running | Phase::Ending { .. } => {}
        }
    }

    /// The engine knows the end, and something that will not live long may still fork.
    fn kill_on(&mut self, now: Instant) {
        ending::kill_round(&self.scope);
        self.collect(now);
        self.is_dying = !self.tree_is_empty && Remains::of(&self.scope).is_dying;
    }

    /// Whether nobody holds a pipe any more: whatever still lives has nothing to say here.
    pub(super) fn is_silent_for_good(&self) -> bool {
        self.pumps.iter().all(|pump| pump.pipe().is_none())
    }

    /// The shell is gone, but something in its tree is not.
    fn outlived(&mut self, keeper: &Keeper, now: Instant) {
        self.pump();
        match self.survivors {
            Survivors::Keep => {
                let survivors = ending::survivors(&self.scope);
                self.report(keeper, survivors);
            }
            Survivors::End => self.end(None, now),
        }
    }

    /// Nothing lives any more and nobody waits: write the last bytes and the log's end, remove old
    /// runs.
    fn leave(mut self) -> io::Result<()> {
        self.close_log()?;
        spool::sweep_if_due(&self.storage.runs, self.storage.retention)
    }

    /// The last bytes, and the end of the log if there is one.
    pub(super) fn close_log(&mut self) -> io::Result<()> {
        for pump in &mut self.pumps {
            if pump.turn().0 != PumpRound::Ended {
                pump.finish();
            }
        }
        if self.job.is_some() {
            self.settle_survivors();
        } else {
            for pump in &self.pumps {
                pump.spool.complete_head()?;
            }
        }
        Ok(())
    }
}
