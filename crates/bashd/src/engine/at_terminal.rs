//! Calls of a tool whose commands are typed at a terminal that stays: they start a command, read on
//! from one that outlasted its call, type at it, or begin again with a new shell.
//!
//! A command passes the same stages as any other call and is then given to the session's shell.
//! What is typed at a command that runs is no command: it is neither judged nor recorded.

use super::drafting::BeforeStart;
use super::{EngineCore, MUCH_OUTPUT, owner_of};
use crate::artifact::ArtifactKind;
use crate::call::Call;
use crate::changes::Effects;
use crate::errand;
use crate::error::{Error, ErrorKind};
use crate::exec::terminal_seats::{TakenSeat, TerminalSeat};
use crate::exec::terminal_shell::{Halt, TerminalReport, TerminalShell, TerminalWait};
use crate::exec::{EndedBy, Exit, OutputWatch, Reset, RunFailure};
use crate::guard::safe_mode::RunForm;
use crate::ledger::LedgerEntry;
use crate::output::Captured;
use crate::output::since::Since;
use crate::output::view::View;
use crate::plan::{self, Plan};
use crate::profile::Profile;
use crate::profile::finished::{JobEnding, of_views, without_output};
use crate::profile::reply::{
    self, Ending, Finished, SeenAtTerminal, SessionChange, TerminalProgress,
};
use crate::profile::rules::AtTerminalRules;
use crate::profile::views::Views;
use crate::reply::Reply;
use crate::request::{Accepted, Refusal, RefusalKind, Request};
use crate::run_id::RunId;
use crate::screen::Size;
use bashd_keeper::job::directory::CallTerms;
use bashd_keeper::spool::SpoolReader;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a call wants of a terminal session.
#[derive(Debug, Clone, Default)]
struct Wish {
    /// The command or input that it brought.
    text: String,
    /// What is typed,
    bytes: Vec<u8>,
    /// and what the terminal shows of it.
    echo: String,
    key: Option<char>,
    is_continued: bool,
    is_restarted: bool,
    /// Whether its command is not run, since another one does.
    is_refused: bool,
    limit: Duration,
    owner: String,
}

impl EngineCore {
    /// One call of a tool whose terminal stays.
    pub(super) async fn at_terminal(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        rules: &AtTerminalRules,
        call: &Call,
        watch: Option<&mut OutputWatch>,
    ) -> Reply {
        let begun = Instant::now();
        // What is wrong with a call is said, and recorded, where every other call's is.
        let Ok(request) = call.request(profile) else {
            return self.perform_one(profile, call, watch).await;
        };
        let Some(what) = deed(&request, rules) else {
            return self.perform_one(profile, call, watch).await;
        };
        let mut entry = LedgerEntry::new((&*self.ledger, &*self.feed), &what);
        let ending = self.without_command(profile, rules, &request, (call, &mut entry));
        let ending = Box::pin(ending).await;
        let reply = reply::reply(profile, &ending, begun.elapsed());
        match &ending {
            Ending::AtTerminal(_) if !request.is_input => entry.leave(),
            Ending::AtTerminal(_) | Ending::Ran(_) => entry.close_deed(None),
            _ => self.warn(entry.close(profile, &ending, &reply)),
        }
        reply
    }

    /// What a call comes to that starts no command.
    async fn without_command(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        rules: &AtTerminalRules,
        request: &Request,
        (call, entry): (&Call, &mut LedgerEntry<'_>),
    ) -> Ending {
        let (text, is_input) = (request.command.trim(), request.is_input);
        if request.restart && is_input {
            return refused(&rules.restart_with_input);
        }
        if !is_input && !text.is_empty() {
            return refused(&rules.refuses(text).unwrap_or_default());
        }
        let accepted = match crate::request::validate(profile, request) {
            Ok(accepted) => accepted,
            Err(refusal) => return Ending::Refused(refusal),
        };
        // Calls of a session come to it in the order in which they arrived.
        let ticket = self.place_in_line(profile, call, request);
        let asked = (request, &accepted);
        let before = BeforeStart::of(asked, call.came, &call.cancel);
        if let Err(ending) = self.turn(ticket.as_ref(), profile, asked, before).await {
            return ending;
        }
        let mut place = self.seat(profile, request).take().await;
        // Who only reads on leaves no record.
        let running = place.as_ref().and_then(|shell| shell.command.as_ref());
        let running = running.map_or("", |command| command.outlasting.id());
        if is_input || request.restart {
            entry.begin_deed(&owner_of(request), &profile.name, running);
        }
        if request.restart {
            if let Some(shell) = place.take() {
                shell.end().await;
            }
            return restarted();
        }
        let is_running = place.as_ref().is_some_and(|shell| shell.command.is_some());
        if !is_running {
            let why = if text.is_empty() {
                &rules.nothing_to_read
            } else {
                &rules.nothing_to_type_at
            };
            return refused(why);
        }
        let typed = (!text.is_empty()).then(|| rules.typed(text));
        let (bytes, echo) = typed.map_or_else(Default::default, |typed| (typed.bytes, typed.echo));
        let wish = Wish {
            text: text.to_owned(),
            bytes,
            echo,
            key: AtTerminalRules::letter(text),
            is_continued: true,
            limit: wait(&accepted).longest,
            owner: owner_of(request),
            ..Wish::default()
        };
        let going_on = self.go_on(profile, (place, wish), wait(&accepted), call);
        going_on.await
    }

    /// Types at the command that runs, and waits for it.
    async fn go_on(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        (mut place, wish): (TakenSeat, Wish),
        wait: TerminalWait,
        call: &Call,
    ) -> Ending {
        let Some(shell) = &mut *place else {
            return Ending::Failed(lost(), None);
        };
        if !wish.bytes.is_empty()
            && let Err(error) = shell.type_bytes(wish.bytes.clone()).await
        {
            *place = None;
            return Ending::Failed(error, None);
        }
        let halt = shell.wait(wait, &call.cancel).await;
        self.told(profile, place, halt, wish).await
    }

    /// The rules of a plan that is carried out in a terminal that stays.
    pub(super) fn terminal_of<'a>(
        &self,
        profile: &'a Profile,
        plan: &Plan,
        form: &RunForm,
    ) -> Option<&'a AtTerminalRules> {
        let may_stay = !self.keepers.is_for_one_call() && self.config.sessions.most > 0;
        let is_as_written = matches!(form, RunForm::AsWritten);
        let is_now = plan.effects == Effects::Now;
        let is_possible = may_stay && is_as_written && is_now && plan.vessel.terminal().is_some();
        profile.at_terminal.as_ref().filter(|_| is_possible)
    }

    /// Has the session's shell run a command, unless it is busy with another.
    pub(super) async fn begin_at_terminal(
        self: &Arc<Self>,
        (profile, rules, plan, accepted): (&Arc<Profile>, &AtTerminalRules, Plan, Accepted),
        request: &Request,
        (call, entry): (&Call, &mut LedgerEntry<'_>),
    ) -> Result<Ending, Ending> {
        let mut place = self.seat(profile, request).take().await;
        let mut wish = Wish {
            text: request.command.trim().to_owned(),
            is_restarted: request.restart,
            limit: wait(&accepted).longest,
            owner: owner_of(request),
            ..Wish::default()
        };
        if request.restart
            && let Some(shell) = place.take()
        {
            shell.end().await;
        }
        if let Some(shell) = &mut *place {
            let mut seen = shell.look().await;
            if matches!(seen, Ok(Halt::Ended(_))) {
                // Its shell may have ended as well.
                seen = shell.look().await;
            }
            match seen {
                Ok(halt @ Halt::OverTime) if shell.command.is_some() => {
                    (wish.is_continued, wish.is_refused) = (true, true);
                    return Ok(self.told(profile, place, Ok(halt), wish).await);
                }
                // What ended since has left output that comes before this command's.
                Ok(Halt::OverTime | Halt::Ended(_) | Halt::Silent | Halt::Cancelled) => {}
                Ok(Halt::Gone(_)) | Err(_) => *place = None,
            }
        }
        if place.is_none() {
            let opened = tokio::select! {
                biased;
                () = call.cancel.cancelled() => Err(RunFailure::CancelledBeforeStart),
                opened = TerminalShell::open(&plan, &self.keepers, rules.size()) => opened,
            };
            *place = Some(opened.map_err(|failure| match failure {
                RunFailure::CancelledBeforeStart => Ending::CancelledBeforeStart,
                failure => Ending::Failed(failure.into(), None),
            })?);
        }
        let Some(shell) = &mut *place else {
            return Err(Ending::Failed(lost(), None));
        };
        let records = (Arc::clone(&self.ledger), Arc::clone(&self.feed));
        let outlasting = entry.outlasting(profile, records);
        if let Err(error) = shell.begin(&plan, outlasting).await {
            *place = None;
            return Err(Ending::Failed(error, None));
        }
        let halt = shell.wait(wait(&accepted), &call.cancel).await;
        Ok(self.told(profile, place, halt, wish).await)
    }

    fn seat(&self, profile: &Profile, request: &Request) -> TerminalSeat {
        let session = plan::session_of(profile, request, &owner_of(request));
        let session = session.unwrap_or_default();
        self.terminals.seat(&session, self.config.sessions)
    }

    /// What a call that has waited is told.
    async fn told(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        mut place: TakenSeat,
        halt: crate::error::Result<Halt>,
        wish: Wish,
    ) -> Ending {
        let Some(mut shell) = place.take() else {
            return Ending::Failed(lost(), None);
        };
        let end = shell.spool.readable_end();
        let (told, report) = match halt {
            Ok(Halt::Ended(report)) => (
                TerminalTold::ended(Exit::Code(report.status), None),
                Some(report),
            ),
            Ok(Halt::Gone(exited)) => (TerminalTold::ended(exited.exit, exited.ended_by), None),
            Ok(Halt::Cancelled) => (
                TerminalTold::ended(Exit::Unknown, Some(EndedBy::Cancel)),
                None,
            ),
            Ok(Halt::Silent) => (TerminalTold::goes_on(TerminalProgress::Silent), None),
            Ok(Halt::OverTime) if wish.is_refused => {
                (TerminalTold::goes_on(TerminalProgress::Busy), None)
            }
            Ok(Halt::OverTime) => (TerminalTold::goes_on(TerminalProgress::OverTime), None),
            // The shell ends with its connection.
            Err(error) => return Ending::Failed(error, None),
        };
        let upto = report.as_ref().map_or(end, |report| report.end);
        let range = shell.shown..upto.max(shell.shown);
        shell.showed(report.as_ref().map_or(end, TerminalReport::next));
        let ran_for = shell
            .command
            .as_ref()
            .map(|command| command.begun.elapsed());
        let ran_for = report
            .as_ref()
            .map_or(ran_for, |report| Some(report.ran_for));
        let part = TerminalPart {
            spool: Arc::clone(&shell.spool),
            size: shell.size,
            range,
            told,
            ran_for: ran_for.unwrap_or_default(),
            wish: wish.clone(),
        };
        let (limits, confinement) = (shell.limits.clone(), shell.confinement.clone());
        // A shell that has ended without a report is gone, or ends now.
        let is_lost = told.progress == TerminalProgress::Ended && report.is_none();
        if is_lost {
            shell.end().await;
        } else {
            if told.progress != TerminalProgress::Ended {
                shell.outlasts();
            }
            *place = Some(shell);
        }
        place.leave();
        let mut finished = match self.shown_part(profile, part).await {
            Ok(finished) => finished,
            Err(error) => return Ending::Failed(error, None),
        };
        (finished.limits, finished.confinement) = (limits, confinement);
        finished.in_terminal = true;
        finished.session_reset = is_lost.then(|| match told.ended_by {
            Some(_) => Reset::Cancelled,
            None => told.exit.into(),
        });
        Ending::AtTerminal(Box::new(SeenAtTerminal {
            finished,
            progress: told.progress,
            is_continued: wish.is_continued,
            is_restarted: wish.is_restarted,
            key: wish.key,
            directory: report.as_ref().map(|report| report.directory.clone()),
            python: report.and_then(|report| report.python),
            command: wish.text,
        }))
    }

    /// A part of what the terminal was sent, as the profile shows it; much of it is read by an
    /// errand.
    async fn shown_part(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        part: TerminalPart,
    ) -> crate::error::Result<Finished> {
        let unreadable = |error| Error::io(ErrorKind::Io, "read the output", error);
        if part.range.end - part.range.start <= MUCH_OUTPUT {
            return self.read_part(profile, &part).map_err(unreadable);
        }
        let (core, profile) = (Arc::clone(self), Arc::clone(profile));
        let reading = errand::read(move |_| core.read_part(&profile, &part));
        let read = reading.await.unwrap_or_else(|failure| Err(failure.into()));
        read.map_err(unreadable)
    }

    fn read_part(&self, profile: &Profile, part: &TerminalPart) -> io::Result<Finished> {
        let source = Since::part(&*part.spool, part.range.clone())?;
        let carriage_return = profile.terminal.carriage_return;
        let veil = self.veil_of(profile);
        let view = View::of_terminal(&source, part.size, carriage_return, &veil)?;
        let views = Views::of_one(view);
        let call = CallTerms::default();
        let ending = JobEnding {
            exit: part.told.exit,
            ended_by: part.told.ended_by,
            ran_for: part.ran_for,
            limit: part.wish.limit,
            call: &call,
            most_bytes: None,
            window: None,
        };
        let keep = || {
            let directory = self.config.runs_dir().join(RunId::new().as_str());
            let about = (&*part.wish.owner, ArtifactKind::Bash, &veil);
            self.artifacts
                .keep_part(profile, &directory, &source, about)
        };
        let mut finished = of_views(profile, &views, &ending, keep)?;
        if let Captured::One(shown) = &mut finished.captured {
            let text = without_echo(&shown.text, &part.wish.echo);
            shown.text = text.to_owned();
        }
        Ok(finished)
    }
}

/// What a call is told of the command.
#[derive(Debug, Clone, Copy)]
struct TerminalTold {
    exit: Exit,
    ended_by: Option<EndedBy>,
    progress: TerminalProgress,
}

impl TerminalTold {
    fn ended(exit: Exit, ended_by: Option<EndedBy>) -> Self {
        Self {
            exit,
            ended_by,
            progress: TerminalProgress::Ended,
        }
    }

    fn goes_on(progress: TerminalProgress) -> Self {
        Self {
            exit: Exit::Unknown,
            ended_by: None,
            progress,
        }
    }
}

/// A part of what a terminal was sent, and what it is the output of.
struct TerminalPart {
    spool: Arc<SpoolReader>,
    size: Size,
    range: Range<u64>,
    told: TerminalTold,
    ran_for: Duration,
    wish: Wish,
}

/// The output of a command without what the terminal shows of the caller's own input.
fn without_echo<'a>(text: &'a str, echo: &str) -> &'a str {
    let begun = text.trim_start();
    match begun.strip_prefix(echo) {
        Some(rest) if !echo.is_empty() => rest.trim_start(),
        _ => text,
    }
}

/// How long a call waits: for silence, but not for ever, or as long as it says.
fn wait(accepted: &Accepted) -> TerminalWait {
    TerminalWait {
        silence: accepted.silence.map(|limit| limit.after),
        longest: accepted
            .silence
            .map_or(accepted.timeout, |limit| limit.longest),
    }
}

/// What a call does that starts no command, in words for the ledger: what is typed may be a
/// password. Nothing if it is to start one.
fn deed(request: &Request, rules: &AtTerminalRules) -> Option<String> {
    let text = request.command.trim();
    let is_command = !request.is_input && !text.is_empty();
    match (is_command, request.is_input, request.restart) {
        (true, ..) => rules.refuses(text).map(|_| text.to_owned()),
        (_, true, _) => Some("terminal send".to_owned()),
        (_, _, true) => Some("terminal reset".to_owned()),
        _ => Some("terminal read".to_owned()),
    }
}

fn refused(why: &str) -> Ending {
    Ending::Refused(Refusal::new(RefusalKind::OfTool, why))
}

/// A session that begins again, and has nothing else to do.
fn restarted() -> Ending {
    let nothing = without_output(&JobEnding {
        exit: Exit::Code(0),
        ended_by: None,
        ran_for: Duration::ZERO,
        limit: Duration::ZERO,
        call: &CallTerms::default(),
        most_bytes: None,
        window: None,
    });
    Ending::Ran(Box::new(Finished {
        session_change: SessionChange::Restarted,
        session_reset: Some(Reset::Restarted),
        ..nothing
    }))
}

fn lost() -> Error {
    Error::new(ErrorKind::KeeperLost, "the session's keeper was lost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_not_shown_again() {
        assert_eq!(
            without_echo("\nhello\nyou said hello", "hello"),
            "you said hello"
        );
        assert_eq!(without_echo("other", "hello"), "other");
        assert_eq!(without_echo("  x", ""), "  x");
    }
}
