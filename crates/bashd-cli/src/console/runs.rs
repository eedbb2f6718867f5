//! What this console runs: a person's own commands, and calls as an agent would make them.

use super::end_key::ConsoleEndKey;
use super::overlay::Overlay;
use super::state::SharedState;
use crate::render::{
    self, CallText, OutputExpansion, Preview, RunState, RunView, Tone, ViewContext,
};
use bashd::request::By;
use bashd::{Call, CancellationToken, Engine, Event, Profile, Request, Running};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a person's own command may run.
const LIMIT: Duration = Duration::from_hours(24);

/// One command and what became of it.
struct ConsoleRun {
    view: RunView,
    begun: Instant,
    expansion: OutputExpansion,
    /// Whether it is a person's own command, which leaves its state to the next.
    is_own: bool,
}

/// The command that runs now.
pub(super) struct LiveRun {
    running: Running,
    token: CancellationToken,
    pub(super) overlay: Overlay,
    /// Whether there is a terminal to type at.
    pub(super) has_terminal: bool,
    /// Whether that is shown from the beginning: a call that asked for it wants to be typed at.
    opens_at_once: bool,
    /// The call that comes after this one, which only prepares its session.
    next: Option<Box<(Call, bool)>>,
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
    /// What own commands leave to each other.
    state: SharedState,
    shown: Vec<ConsoleRun>,
    pub(super) live: Option<LiveRun>,
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
            engine,
            profile,
            cwd,
            home,
            end_key,
            shown: Vec::new(),
            live: None,
        }
    }

    /// The engine.
    pub(super) fn engine(&self) -> &Engine {
        &self.engine
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
        below.map_or_else(
            || self.cwd.display().to_string(),
            |below| format!("~/{}", below.display()),
        )
    }

    /// Runs a person's own command.
    pub(super) fn run(&mut self, command: &str, by: By, size: (u16, u16)) {
        // Nothing of it is cut as an agent's output is.
        let mut request = Request::new(command).profile("default");
        request.setup = Some(self.state.setup());
        request.cwd = Some(self.cwd.clone());
        request.timeout = Some(LIMIT);
        request.by = by;
        request.ui = true;
        request.pty = true;
        request.terminal_size = Some(Overlay::size_on(size));
        let mut view = RunView::new(Preview::OwnCommand, self.home.clone());
        view.called(CallText {
            command: Some(command.to_owned()),
            ..CallText::default()
        });
        self.start(Call::from(request), true, size);
        self.show(view, true);
    }

    /// Makes a call as an agent would: judged, rewritten and cut as the profile says.
    pub(super) fn call(&mut self, arguments: &str, size: (u16, u16)) {
        let mut defaults = Request::new("").profile(&self.profile.name);
        defaults.cwd = Some(self.cwd.clone());
        defaults.ui = true;
        defaults.terminal_size = Some(Overlay::size_on(size));
        let said: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
        let wants_terminal = said.get("pty").and_then(serde_json::Value::as_bool);
        let mut view = self.arriving(arguments);
        let call = CallText::from_partial_json(&self.profile, arguments);
        view.called(call);
        let call = Call::json(arguments, defaults);
        let has_terminal = wants_terminal.unwrap_or_default();
        match self.session_setup() {
            // First its session takes over what the person's commands left.
            Some(setup) => {
                self.start(Call::from(setup), false, size);
                if let Some(live) = &mut self.live {
                    live.next = Some(Box::new((call, has_terminal)));
                }
            }
            None => self.start(call, has_terminal, size),
        }
        if let Some(live) = &mut self.live {
            live.opens_at_once = has_terminal;
        }
        self.show(view, false);
    }

    /// What brings the session of the profile's calls to the state of the person's own commands.
    fn session_setup(&self) -> Option<Request> {
        let takeover = self.state.takeover();
        let takeover = takeover.filter(|_| self.profile.session.implicit)?;
        let mut request = Request::new(takeover).profile(&self.profile.name);
        request.by = By::PersonApart;
        Some(request)
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
        });
    }

    /// Everything that ran, as lines of at most this many columns; last the call that is being
    /// typed.
    pub(super) fn lines(&self, columns: usize, written: Option<&str>) -> Vec<render::StyledLine> {
        let mut lines = Vec::new();
        for shown in &self.shown {
            lines.extend(shown.view.lines(ViewContext {
                columns,
                elapsed: shown.begun.elapsed(),
                expansion: shown.expansion,
            }));
            lines.push(render::StyledLine::default());
        }
        if let Some(arguments) = written {
            lines.extend(self.arriving(arguments).lines(ViewContext {
                columns,
                elapsed: Duration::ZERO,
                expansion: OutputExpansion::Collapsed,
            }));
        }
        lines
    }

    /// What runs and ran here, one line each, the newest first.
    pub(super) fn list(&self) -> Vec<render::StyledLine> {
        let line = |shown: &ConsoleRun| {
            let state = shown.view.state();
            let age = crate::for_people::duration(shown.begun.elapsed().as_millis() as u64);
            let command = shown.view.call().command.clone().unwrap_or_default();
            render::StyledLine::new(
                state.tone(),
                format!("{} {:<10}", state.sign(), state.word()),
            )
            .and(Tone::Faint, format!(" {age:>6}  "))
            .and(Tone::Command, crate::for_people::one_line(&command))
        };
        let lines: Vec<_> = self.shown.iter().rev().map(line).collect();
        if lines.is_empty() {
            return vec![render::StyledLine::new(
                Tone::Faint,
                "nothing has run here yet",
            )];
        }
        lines
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
            self.after_setup(&event, next);
            return RunNews::Nothing;
        }
        let mut news = RunNews::Nothing;
        if let (Some(live), Event::Started { .. }) = (&self.live, &event)
            && live.opens_at_once
        {
            news = RunNews::Draws;
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
        if let Event::Finished(_) = &event {
            self.live = None;
            if shown.is_own
                && let Some(directory) = self.state.directory()
            {
                self.cwd = directory;
            }
            news = RunNews::Over;
        }
        news
    }

    /// The call before a call sent an event: at its end that call begins.
    fn after_setup(&mut self, event: &Event, next: Box<(Call, bool)>) {
        let Some(live) = &mut self.live else { return };
        if !matches!(event, Event::Finished(_)) {
            live.next = Some(next);
            return;
        }
        let (call, has_terminal) = *next;
        live.running = self.engine.stream(call.cancel_by(live.token.clone()));
        let size = live.overlay.screen().size();
        live.overlay = Overlay::new(live.running.keyboard(), size, self.end_key);
        live.has_terminal = has_terminal;
    }

    /// Whether a command runs.
    pub(super) fn is_running(&self) -> bool {
        let state = self.shown.last().map(|shown| shown.view.state());
        self.live.is_some() && state == Some(RunState::Running)
    }

    /// Ends what runs, and waits for its end.
    pub(super) async fn end_all(&mut self) {
        if let Some(mut live) = self.live.take() {
            live.end();
            while live.running.next().await.is_some() {}
        }
    }
}
