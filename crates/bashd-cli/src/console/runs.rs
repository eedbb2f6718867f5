//! What this console runs: a person's own commands, and calls as an agent would make them.

use super::asking::InputWatch;
use super::end_key::ConsoleEndKey;
use super::overlay::Overlay;
use super::state::SharedState;
use crate::notify::Notifier;
use crate::render::{
    CallText, OutputExpansion, Preview, RunState, RunView, StyledLine, Tone, ViewContext,
};
use bashd::jobs::{ClientEntry, Clients, Jobs};
use bashd::request::By;
use bashd::screen::Size;
use bashd::{Call, CancellationToken, Engine, Event, Profile, Request, Running};
use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a person's own command may run.
const LIMIT: Duration = Duration::from_hours(24);

/// The session of a person's own commands, where they run at another place.
const OWN_SESSION: &str = "console";

/// Runs of which something is shown; /log finds the others.
const MOST_RUNS: usize = 500;

/// Bytes of output that are held of all runs; beyond that the oldest keep only their last lines.
const MOST_HELD: usize = 16 << 20;

/// One command and what became of it.
pub(super) struct ConsoleRun {
    pub(super) view: RunView,
    begun: Instant,
    expansion: OutputExpansion,
    /// Whether it is a person's own command, which leaves its state to the next.
    is_own: bool,
    /// Its lines, once they do not change any more.
    drawn: RefCell<Option<DrawnRun>>,
}

/// The lines of a run that is over.
struct DrawnRun {
    columns: usize,
    expansion: OutputExpansion,
    lines: Rc<[StyledLine]>,
}

impl ConsoleRun {
    /// Its lines and a blank one; made once for each width.
    fn lines(&self, columns: usize, expansion: OutputExpansion) -> Rc<[StyledLine]> {
        let mut drawn = self.drawn.borrow_mut();
        let fits = |drawn: &&DrawnRun| drawn.columns == columns && drawn.expansion == expansion;
        if let Some(drawn) = drawn.as_ref().filter(fits) {
            return Rc::clone(&drawn.lines);
        }
        let mut lines = self.view.lines(ViewContext {
            columns,
            elapsed: self.begun.elapsed(),
            expansion,
        });
        lines.push(StyledLine::default());
        let lines: Rc<[StyledLine]> = lines.into();
        if self.is_over() {
            *drawn = Some(DrawnRun {
                columns,
                expansion,
                lines: Rc::clone(&lines),
            });
        }
        lines
    }

    fn is_over(&self) -> bool {
        !matches!(
            self.view.state(),
            RunState::Arriving | RunState::Waiting | RunState::Running
        )
    }
}

/// The command that runs now.
pub(super) struct LiveRun {
    running: Running,
    token: CancellationToken,
    pub(super) overlay: Overlay,
    /// Whether there is a terminal to type at.
    pub(super) has_terminal: bool,
    /// Its shell, once it runs.
    pub(super) shell: Option<i32>,
    /// Whether it waits for input.
    pub(super) input: InputWatch,
    /// Whether that is shown from the beginning: a call that asked for it wants to be typed at.
    opens_at_once: bool,
    /// What comes after this call, which only hands the state of shells on.
    next: Option<NextRun>,
}

/// What runs once it has the state of the shell before it.
enum NextRun {
    /// A person's own command.
    Command(String, By),
    /// A call, and whether it has a terminal.
    Call(Box<Call>, bool),
}

impl LiveRun {
    /// Ends the command.
    pub(super) fn end(&self) {
        self.token.cancel();
    }
}

/// What runs and ran here.
pub(super) struct ConsoleRuns {
    engine: Engine,
    profile: Arc<Profile>,
    pub(super) cwd: PathBuf,
    home: Option<PathBuf>,
    end_key: ConsoleEndKey,
    /// What own commands and the session of calls leave to each other.
    state: SharedState,
    /// Whose shell has it, as it is now.
    has_state: StateHolder,
    /// Whose the jobs and sessions are.
    client: ClientEntry,
    pub(super) shown: Vec<ConsoleRun>,
    /// Runs before those, of which nothing is held.
    forgotten: usize,
    pub(super) live: Option<LiveRun>,
    notifier: Notifier,
}

/// Which shell ran last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StateHolder {
    /// That of a person's command, which left it in the file.
    Command,
    /// That of the session of calls.
    Session,
}

/// What an event of the running command means to the console.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RunNews {
    Nothing,
    /// It draws now.
    Draws,
    /// It is over.
    Over,
}

impl ConsoleRuns {
    /// Nothing ran yet.
    pub(super) fn new(
        engine: Engine,
        profile: Arc<Profile>,
        cwd: PathBuf,
        home: Option<PathBuf>,
        end_key: ConsoleEndKey,
    ) -> Self {
        Self {
            state: SharedState::below(&engine.config().shells_dir()),
            has_state: StateHolder::Command,
            client: Clients::of(engine.config(), "console").admit(&cwd),
            notifier: Notifier::of(engine.config()),
            engine,
            profile,
            cwd,
            home,
            end_key,
            shown: Vec::new(),
            forgotten: 0,
            live: None,
        }
    }

    /// The engine.
    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// All jobs; what is done to one here is recorded as this console's deed.
    pub(super) fn jobs(&self) -> Jobs {
        self.engine.jobs().by(self.client.owner())
    }

    /// The home directory, if there is one.
    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The key that ends a command while somebody types at its terminal.
    pub(super) fn end_key(&self) -> ConsoleEndKey {
        self.end_key
    }

    /// The directory, as people write it.
    pub(super) fn place(&self) -> String {
        let below = self.home.as_ref();
        let below = below.and_then(|home| self.cwd.strip_prefix(home).ok());
        match below {
            None => self.cwd.display().to_string(),
            Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
            Some(below) => format!("~/{}", below.display()),
        }
    }

    /// Runs a person's own command.
    pub(super) fn run(&mut self, command: &str, by: By, size: (u16, u16)) {
        let mut view = RunView::new(Preview::OwnCommand, self.home.clone());
        view.called(CallText {
            command: Some(command.to_owned()),
            ..CallText::default()
        });
        if self.is_elsewhere() {
            self.start(self.own_command_there(command, by), false, size);
            self.show(view, false);
            return;
        }
        match self.has_state {
            StateHolder::Command => {
                let call = self.own_command(command, by, Overlay::size_on(size));
                self.start(call, true, size);
            }
            // First the session of calls leaves what it has.
            StateHolder::Session => {
                let leaving = self.in_session(SharedState::leaving());
                let next = NextRun::Command(command.to_owned(), by);
                self.start_before(leaving, next, size);
            }
        }
        self.show(view, true);
    }

    /// Whether all of it runs at another place, which knows nothing of files of this side.
    fn is_elsewhere(&self) -> bool {
        self.engine.config().default_place.is_some()
    }

    /// A person's own command at another place: in a session there, without a terminal.
    fn own_command_there(&self, command: &str, by: By) -> Call {
        let request = Request::new(command).profile("default");
        let mut request = request.session(OWN_SESSION);
        request.timeout = Some(LIMIT);
        request.by = by;
        request.owner = Some(self.client.owner().to_owned());
        Call::from(request)
    }

    /// A person's own command, in a shell that takes over what the one before left.
    fn own_command(&mut self, command: &str, by: By, size: Size) -> Call {
        self.has_state = StateHolder::Command;
        // Nothing of it is cut as an agent's output is.
        let mut request = Request::new(command).profile("default");
        request.setup = Some(self.state.setup());
        request.cwd = Some(self.cwd.clone());
        request.timeout = Some(LIMIT);
        request.by = by;
        request.ui = true;
        request.pty = true;
        request.terminal_size = Some(size);
        request.owner = Some(self.client.owner().to_owned());
        Call::from(request)
    }

    /// Makes a call as an agent would: judged, rewritten and cut as the profile says.
    pub(super) fn call(&mut self, arguments: &str, size: (u16, u16)) {
        let mut defaults = Request::new("").profile(&self.profile.name);
        let is_here = !self.is_elsewhere();
        let shares_state = self.profile.session.implicit && is_here;
        // A session is where it was, or where the person's last command went.
        defaults.cwd = (!self.profile.session.implicit && is_here).then(|| self.cwd.clone());
        defaults.owner = Some(self.client.owner().to_owned());
        defaults.ui = true;
        defaults.terminal_size = Some(Overlay::size_on(size));
        let said: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
        let wants_terminal = said.get("pty").and_then(serde_json::Value::as_bool);
        let mut view = self.arriving(arguments);
        let call = CallText::from_partial_json(&self.profile, arguments);
        view.called(call);
        let call = Call::json(arguments, defaults);
        let has_terminal = wants_terminal.unwrap_or_default();
        if shares_state && self.has_state == StateHolder::Command {
            // First its session takes over what the person's commands left.
            let takeover = self.in_session(&self.state.takeover(&self.cwd));
            self.start_before(takeover, NextRun::Call(Box::new(call), has_terminal), size);
            self.has_state = StateHolder::Session;
        } else {
            self.start(call, has_terminal, size);
        }
        if let Some(live) = &mut self.live {
            live.opens_at_once = has_terminal;
        }
        self.show(view, false);
    }

    /// A call in the session of the profile's calls that nobody sees.
    fn in_session(&self, command: &str) -> Call {
        let mut request = Request::new(command).profile(&self.profile.name);
        request.by = By::PersonApart;
        request.owner = Some(self.client.owner().to_owned());
        Call::from(request)
    }

    fn start_before(&mut self, first: Call, next: NextRun, size: (u16, u16)) {
        self.start(first, false, size);
        if let Some(live) = &mut self.live {
            live.next = Some(next);
        }
    }

    /// A call that is only partly typed.
    fn arriving(&self, arguments: &str) -> RunView {
        let mut view = RunView::new(Preview::ToolCall, self.home.clone());
        view.arriving(CallText::from_partial_json(&self.profile, arguments));
        view
    }

    fn start(&mut self, call: Call, has_terminal: bool, size: (u16, u16)) {
        let token = CancellationToken::new();
        let running = self.engine.stream(call.cancel_by(token.clone()));
        let overlay = Overlay::new(running.keyboard(), Overlay::size_on(size), self.end_key);
        self.live = Some(LiveRun {
            running,
            token,
            overlay,
            has_terminal,
            shell: None,
            input: InputWatch::default(),
            opens_at_once: false,
            next: None,
        });
    }

    fn show(&mut self, view: RunView, is_own: bool) {
        self.shown.push(ConsoleRun {
            view,
            begun: Instant::now(),
            expansion: OutputExpansion::Collapsed,
            is_own,
            drawn: RefCell::default(),
        });
        let excess = self.shown.len().saturating_sub(MOST_RUNS);
        self.shown.drain(..excess);
        self.forgotten += excess;
    }

    /// The end of everything that ran, as so many lines of at most so many columns; last the call
    /// that is being typed.
    pub(super) fn last_lines(
        &self,
        (columns, rows): (usize, usize),
        written: Option<&str>,
    ) -> Vec<StyledLine> {
        let mut blocks: Vec<Rc<[StyledLine]>> = Vec::new();
        if let Some(arguments) = written {
            let look = ViewContext {
                columns,
                elapsed: Duration::ZERO,
                expansion: OutputExpansion::Collapsed,
            };
            blocks.push(self.arriving(arguments).lines(look).into());
        }
        let mut count: usize = blocks.iter().map(|block| block.len()).sum();
        for shown in self.shown.iter().rev() {
            if count >= rows {
                break;
            }
            let block = shown.lines(columns, shown.expansion);
            count += block.len();
            blocks.push(block);
        }
        let lines = blocks.iter().rev().flat_map(|block| block.iter());
        lines.skip(count.saturating_sub(rows)).cloned().collect()
    }

    /// Whether nothing ran yet.
    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// The numbers of the runs that can be shown.
    pub(super) fn numbers(&self) -> Range<usize> {
        self.forgotten..self.forgotten + self.shown.len()
    }

    /// All lines of a run, and whether they may still change.
    pub(super) fn whole(&self, number: usize, columns: usize) -> Option<(Rc<[StyledLine]>, bool)> {
        let run = self.shown.get(number.checked_sub(self.forgotten)?)?;
        let lines = run.lines(columns, OutputExpansion::Expanded);
        Some((lines, !run.is_over()))
    }

    /// The command of a run.
    pub(super) fn command(&self, number: usize) -> Option<&str> {
        let run = self.shown.get(number.checked_sub(self.forgotten)?)?;
        run.view.call().command.as_deref()
    }

    /// What runs and ran here, one line each with its number, the newest first.
    pub(super) fn list(&self) -> Vec<(StyledLine, usize)> {
        let line = |shown: &ConsoleRun| {
            let state = shown.view.state();
            let age = crate::for_people::duration(shown.begun.elapsed().as_millis() as u64);
            let command = shown.view.call().command.clone().unwrap_or_default();
            StyledLine::new(
                state.tone(),
                format!("{} {:<10}", state.sign(), state.word()),
            )
            .and(Tone::Faint, format!(" {age:>6}  "))
            .and(Tone::Command, crate::for_people::one_line(&command))
        };
        let numbered = self.shown.iter().zip(self.numbers());
        let lines = numbered.map(|(shown, number)| (line(shown), number));
        lines.rev().collect()
    }

    /// Shows all of the last output, or less of it.
    pub(super) fn expand(&mut self) {
        if let Some(shown) = self.shown.last_mut() {
            shown.expansion = match shown.expansion {
                OutputExpansion::Collapsed => OutputExpansion::Expanded,
                OutputExpansion::Expanded => OutputExpansion::Collapsed,
            };
        }
    }

    /// The next event of the running command; waits forever if there is none.
    pub(super) async fn next_event(&mut self) -> Option<Event> {
        match &mut self.live {
            Some(live) => live.running.next().await,
            None => std::future::pending().await,
        }
    }

    /// The running command sent an event.
    pub(super) fn happened(&mut self, event: Option<Event>) -> RunNews {
        let Some(event) = event else {
            self.live = None;
            return RunNews::Over;
        };
        if let Some(next) = self.live.as_mut().and_then(|live| live.next.take()) {
            self.handed_on(&event, next);
            return RunNews::Nothing;
        }
        let mut news = RunNews::Nothing;
        if let (Some(live), Event::Started { pid, .. }) = (&mut self.live, &event) {
            live.shell = Some(*pid);
            if live.opens_at_once {
                news = RunNews::Draws;
            }
        }
        if let (Some(live), Event::Output { text, .. }) = (&mut self.live, &event)
            && live.overlay.output(text.as_bytes())
            && live.has_terminal
        {
            news = RunNews::Draws;
        }
        let Some(shown) = self.shown.last_mut() else {
            return news;
        };
        shown.view.event(&event);
        if let Event::Finished(reply) = &event {
            self.live = None;
            shown.drawn.take();
            let command = shown.view.call().command.as_deref().unwrap_or_default();
            let how = shown.view.state().word();
            self.notifier
                .command_ended(shown.begun.elapsed(), how, command);
            if reply.session_reset.is_some() {
                // The next call's shell has nothing of it.
                self.has_state = StateHolder::Command;
            }
            if shown.is_own
                && let Some(directory) = self.state.directory()
            {
                self.cwd = directory;
            }
            news = RunNews::Over;
            hold_little(&mut self.shown, MOST_HELD);
        }
        news
    }

    /// What hands the state on sent an event: at its end begins what comes after it.
    fn handed_on(&mut self, event: &Event, next: NextRun) {
        let Some(live) = &mut self.live else { return };
        let size = live.overlay.screen().size();
        if !matches!(event, Event::Finished(_)) {
            live.next = Some(next);
            return;
        }
        let (call, has_terminal) = match next {
            NextRun::Call(call, has_terminal) => (*call, has_terminal),
            NextRun::Command(command, by) => {
                if let Some(directory) = self.state.directory() {
                    self.cwd = directory;
                }
                (self.own_command(&command, by, size), true)
            }
        };
        let Some(live) = &mut self.live else { return };
        live.shell = None;
        live.running = self.engine.stream(call.cancel_by(live.token.clone()));
        live.overlay = Overlay::new(live.running.keyboard(), size, self.end_key);
        live.has_terminal = has_terminal;
    }

    /// It is known anew whether what runs waits for input.
    pub(super) fn input_changed(&mut self) {
        let waits = self.live.as_ref().is_some_and(|live| live.input.waits());
        if let Some(shown) = self.shown.last_mut() {
            shown.view.waits_for_input(waits);
        }
    }

    /// Ends what runs, and waits for its end.
    pub(super) async fn end_all(&mut self) {
        if let Some(mut live) = self.live.take() {
            live.end();
            while live.running.next().await.is_some() {}
        }
    }
}

/// Forgets output of the oldest runs when all of them hold too much.
fn hold_little(shown: &mut [ConsoleRun], most: usize) {
    let mut held: usize = shown.iter().map(|run| run.view.held_bytes()).sum();
    for run in shown {
        if held <= most {
            break;
        }
        let before = run.view.held_bytes();
        run.view.forget_most();
        run.drawn.take();
        held -= before - run.view.held_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::RunSummary;

    fn run(lines: usize) -> ConsoleRun {
        let mut view = RunView::new(Preview::OwnCommand, None);
        let text = "a line\n".repeat(lines);
        view.event(&Event::Started { pid: 1 });
        view.event(&Event::Output {
            stream: bashd::Stream::Out,
            offset: 0,
            text,
        });
        ConsoleRun {
            view,
            begun: Instant::now(),
            expansion: OutputExpansion::Collapsed,
            is_own: true,
            drawn: RefCell::default(),
        }
    }

    #[test]
    fn however_much_ran_only_so_much_is_held() {
        let held = |runs: &[ConsoleRun]| {
            let held = runs.iter().map(|run| run.view.held_bytes());
            held.collect::<Vec<_>>()
        };
        let over = || {
            let mut run = run(1000);
            let mut reply = bashd::Reply::default();
            reply.output = "a line\n".repeat(1000);
            run.view.event(&Event::Finished(Box::new(reply)));
            run
        };
        let mut runs: Vec<ConsoleRun> = (0..20).map(|_| over()).collect();
        let (each, whole) = (held(&runs)[0], held(&runs).iter().sum::<usize>());
        hold_little(&mut runs, whole);
        assert_eq!(held(&runs), [each; 20], "it is not too much");
        hold_little(&mut runs, 5 * each);
        assert!(held(&runs).iter().sum::<usize>() <= 5 * each);
        assert_eq!(held(&runs)[16..], [each; 4], "the newest are whole");
        assert!(held(&runs)[0] > 0, "the oldest keep their last lines");
        // A day of them is no more than that.
        for _ in 0..100 {
            runs.push(over());
            runs.remove(0);
            hold_little(&mut runs, 5 * each);
            assert!(held(&runs).iter().sum::<usize>() <= 5 * each);
        }
    }

    #[test]
    fn lines_of_a_run_that_is_over_are_made_once_for_each_width() {
        use OutputExpansion::{Collapsed, Expanded};
        let mut run = run(100);
        let live = [run.lines(80, Collapsed), run.lines(80, Collapsed)];
        assert!(!Rc::ptr_eq(&live[0], &live[1]), "it may still change");
        run.view.finished(RunSummary::of(&bashd::Reply::default()));
        let first = run.lines(80, Collapsed);
        assert!(Rc::ptr_eq(&first, &run.lines(80, Collapsed)));
        assert!(!Rc::ptr_eq(&first, &run.lines(40, Collapsed)));
        assert!(run.lines(80, Expanded).len() > first.len());
    }
}
