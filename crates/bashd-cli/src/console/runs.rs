//! What this console runs: a person's own commands, and calls as an agent would make them.

use super::end_key::ConsoleEndKey;
use super::overlay::Overlay;
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
    /// Whether the command only finds the directory that `cd` leads to.
    is_cd: bool,
}

/// The command that runs now.
pub(super) struct LiveRun {
    running: Running,
    token: CancellationToken,
    pub(super) overlay: Overlay,
    /// Whether there is a terminal to type at.
    pub(super) has_terminal: bool,
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
        let is_cd = is_cd(command);
        let mut request = Request::new(if is_cd {
            format!("{command} && pwd")
        } else {
            command.to_owned()
        });
        request.cwd = Some(self.cwd.clone());
        request.timeout = Some(LIMIT);
        request.by = by;
        request.ui = true;
        request.pty = !is_cd;
        request.terminal_size = Some(Overlay::size_on(size));
        let mut view = RunView::new(Preview::OwnCommand, self.home.clone());
        view.called(CallText {
            command: Some(command.to_owned()),
            ..CallText::default()
        });
        self.start(Call::from(request), !is_cd, size);
        self.show(view, is_cd);
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
        self.start(call, wants_terminal.unwrap_or_default(), size);
        self.show(view, false);
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
        });
    }

    fn show(&mut self, view: RunView, is_cd: bool) {
        self.shown.push(ConsoleRun {
            view,
            begun: Instant::now(),
            expansion: OutputExpansion::Collapsed,
            is_cd,
        });
    }

    /// Everything that ran, as lines of at most this many columns; last the call that is being typed.
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
        let mut news = RunNews::Nothing;
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
            let directory = reply.output.trim_end();
            if shown.is_cd && reply.exit_code == Some(0) && directory.starts_with('/') {
                self.cwd = PathBuf::from(directory);
            }
            news = RunNews::Over;
        }
        news
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

/// Whether a command only changes the directory: then it stays changed.
fn is_cd(command: &str) -> bool {
    let rest = command.strip_prefix("cd");
    rest.is_some_and(|rest| {
        (rest.is_empty() || rest.starts_with(' '))
            && !rest.contains([';', '&', '|', '\n', '<', '>'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cd_of_its_own_is_told_from_one_in_a_list() {
        for command in ["cd", "cd /tmp", "cd 'a b'", "cd -"] {
            assert!(is_cd(command), "{command}");
        }
        for command in [
            "cdrecord",
            "cd /tmp && ls",
            "cd a; ls",
            "cd a | b",
            "echo cd",
        ] {
            assert!(!is_cd(command), "{command}");
        }
    }
}
