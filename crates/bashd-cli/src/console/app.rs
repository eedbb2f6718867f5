//! What the console knows, and what a key does to it.

use super::complete::complete;
use super::history;
use super::jobs::{self, Deed};
use super::overlay::{Overlay, Turn, Wish};
use super::prompt::{self, Prompt};
use bashd::artifact::Store;
use bashd::ledger::Ledger;
use bashd::render::{self, CallText, Expansion, Look, Preview, RunView, State, Tone};
use bashd::request::By;
use bashd::{Call, CancellationToken, Engine, Event, Request, Running};
use crossterm::event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEventKind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often a page about jobs is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How long a person's own command may run.
const LIMIT: Duration = Duration::from_hours(24);

/// What is said while a command runs, and another is asked for.
const BUSY: &str = "A bash command is already running. Press Esc to cancel it first.";

/// One command and what became of it.
pub(super) struct Shown {
    view: RunView,
    begun: Instant,
    expansion: Expansion,
    /// Whether the command only finds out the directory that `cd` leads to.
    is_cd: bool,
}

/// The command that runs now.
struct Live {
    running: Running,
    token: CancellationToken,
    overlay: Overlay,
}

/// A page of lines over everything else.
pub(super) struct Pager {
    pub(super) title: String,
    pub(super) lines: Vec<render::Line>,
    pub(super) top: usize,
    /// What of jobs it shows, again and again.
    follows: Option<jobs::Page>,
    looked_at: Option<Instant>,
}

/// The console.
pub(super) struct App {
    engine: Engine,
    ledger: Ledger,
    cwd: PathBuf,
    home: Option<PathBuf>,
    prompt: Prompt,
    shown: Vec<Shown>,
    live: Option<Live>,
    is_overlay_shown: bool,
    pager: Option<Pager>,
    remark: String,
    /// What is to be done to a job.
    deed: Option<Deed>,
    is_leaving: bool,
}

impl App {
    /// A console in which nothing ran yet.
    pub(super) fn new(engine: Engine, ledger: Ledger, cwd: PathBuf, home: Option<PathBuf>) -> Self {
        Self {
            engine,
            ledger,
            cwd,
            home,
            prompt: Prompt::default(),
            shown: Vec::new(),
            live: None,
            is_overlay_shown: false,
            pager: None,
            remark: "!command runs, /help explains".to_owned(),
            deed: None,
            is_leaving: false,
        }
    }

    /// Does what takes time: to jobs, and to pages that follow them.
    pub(super) async fn attend(&mut self) {
        if let Some(deed) = self.deed.take() {
            self.remark = jobs::act(&self.engine.jobs(), &deed).await;
        }
        let Some(pager) = &mut self.pager else { return };
        let is_due = pager
            .looked_at
            .is_none_or(|last| last.elapsed() >= LOOK_AGAIN);
        if let Some(page) = pager.follows.as_ref().filter(|_| is_due) {
            pager.lines = jobs::page(&self.engine.jobs(), page).await;
            pager.looked_at = Some(Instant::now());
        }
    }

    /// Whether its user wants to leave.
    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// What the line below says.
    pub(super) fn remark(&self) -> &str {
        &self.remark
    }

    /// The prompt.
    pub(super) fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    /// The page that is open.
    pub(super) fn pager(&self) -> Option<&Pager> {
        self.pager.as_ref()
    }

    /// The terminal that is shown.
    pub(super) fn overlay(&self) -> Option<&Overlay> {
        let live = self.live.as_ref().filter(|_| self.is_overlay_shown);
        live.map(|live| &live.overlay)
    }

    /// The directory, as people write it.
    pub(super) fn place(&self) -> String {
        let below = self
            .home
            .as_ref()
            .and_then(|home| self.cwd.strip_prefix(home).ok());
        below.map_or_else(
            || self.cwd.display().to_string(),
            |below| format!("~/{}", below.display()),
        )
    }

    /// Everything that ran, as lines of at most so many columns.
    pub(super) fn lines(&self, columns: usize) -> Vec<render::Line> {
        let mut lines = Vec::new();
        for shown in &self.shown {
            lines.extend(shown.view.lines(Look {
                columns,
                elapsed: shown.begun.elapsed(),
                expansion: shown.expansion,
            }));
            lines.push(render::Line::default());
        }
        lines
    }

    /// The next event of the command that runs; never comes where none does.
    pub(super) async fn next_event(&mut self) -> Option<Event> {
        match &mut self.live {
            Some(live) => live.running.next().await,
            None => std::future::pending().await,
        }
    }

    /// The running command told something.
    pub(super) fn happened(&mut self, event: Option<Event>) {
        let Some(event) = event else {
            self.live = None;
            return;
        };
        if let (Some(live), Event::Output { text, .. }) = (&mut self.live, &event) {
            self.is_overlay_shown |= live.overlay.output(text);
        }
        let Some(shown) = self.shown.last_mut() else {
            return;
        };
        shown.view.event(&event);
        if let Event::Finished(reply) = &event {
            self.live = None;
            self.is_overlay_shown = false;
            self.remark.clear();
            let directory = reply.output.trim_end();
            if shown.is_cd && reply.exit_code == Some(0) && directory.starts_with('/') {
                self.cwd = PathBuf::from(directory);
            }
        }
    }

    /// Something was typed, pasted, turned or resized.
    pub(super) fn input(&mut self, event: &event::Event, size: (u16, u16)) {
        match event {
            event::Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key, size),
            event::Event::Paste(text) => match self.live.as_ref().filter(|_| self.is_overlay_shown)
            {
                Some(live) => live.overlay.paste(text),
                None => self.prompt.insert(&text.replace('\r', "\n")),
            },
            event::Event::Mouse(mouse) => match mouse.kind {
                MouseEventKind::ScrollUp => self.wheel(Turn::Up),
                MouseEventKind::ScrollDown => self.wheel(Turn::Down),
                _ => {}
            },
            event::Event::Resize(columns, rows) => {
                if let Some(live) = &mut self.live {
                    live.overlay.resize(Overlay::size_on((*columns, *rows)));
                }
            }
            _ => {}
        }
    }

    fn wheel(&mut self, turn: Turn) {
        if let Some(pager) = &mut self.pager {
            pager.scroll(turn, 3);
        } else if let Some(live) = self.live.as_mut().filter(|_| self.is_overlay_shown) {
            live.overlay.wheel(turn);
        }
    }

    fn key(&mut self, key: &KeyEvent, size: (u16, u16)) {
        if let Some(live) = self.live.as_mut().filter(|_| self.is_overlay_shown) {
            match live.overlay.key(key, Instant::now()) {
                Wish::Nothing => {}
                Wish::End => live.token.cancel(),
                Wish::Hide => self.is_overlay_shown = false,
            }
            return;
        }
        if self.pager.is_some() {
            self.page(key, size);
            return;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('d') if control && self.prompt.text().is_empty() => {
                self.is_leaving = true;
            }
            KeyCode::Char('c') if control && self.live.is_none() => {
                self.remark.clear();
                if self.prompt.text().is_empty() {
                    "Ctrl-D leaves".clone_into(&mut self.remark);
                }
                self.prompt.set("");
            }
            KeyCode::Char('c') if control => self.end_command(),
            KeyCode::Esc => self.end_command(),
            KeyCode::Char('t') if control => self.is_overlay_shown = self.live.is_some(),
            KeyCode::Char('o') if control => self.expand(),
            KeyCode::Tab => self.complete(),
            KeyCode::Enter if key.modifiers.is_empty() => self.submit(size),
            _ => self.prompt.edit(key),
        }
    }

    /// A key while a page is open.
    fn page(&mut self, key: &KeyEvent, (_, rows): (u16, u16)) {
        let Some(pager) = &mut self.pager else { return };
        let page = usize::from(rows).saturating_sub(4).max(1);
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => pager.scroll(Turn::Up, 1),
            KeyCode::Down | KeyCode::Char('j') => pager.scroll(Turn::Down, 1),
            KeyCode::PageUp | KeyCode::Char('b') => pager.scroll(Turn::Up, page),
            KeyCode::PageDown | KeyCode::Char(' ') => pager.scroll(Turn::Down, page),
            KeyCode::Home | KeyCode::Char('g') => pager.top = 0,
            KeyCode::End | KeyCode::Char('G') => pager.top = pager.lines.len().saturating_sub(page),
            KeyCode::Esc | KeyCode::Char('q') => self.pager = None,
            _ => {}
        }
    }

    fn end_command(&mut self) {
        if let Some(live) = &self.live {
            live.token.cancel();
        }
    }

    fn expand(&mut self) {
        if let Some(shown) = self.shown.last_mut() {
            shown.expansion = match shown.expansion {
                Expansion::Collapsed => Expansion::Expanded,
                Expansion::Expanded => Expansion::Collapsed,
            };
        }
    }

    fn complete(&mut self) {
        let line = self.prompt.before_cursor();
        let completion = complete(&line, &self.cwd, self.home.as_deref());
        self.prompt.insert(&completion.added);
        self.remark = completion.choices.join("  ");
    }

    fn submit(&mut self, size: (u16, u16)) {
        let line = prompt::Line::parse(&self.prompt.text());
        if self.live.is_some() && matches!(line, prompt::Line::Run(_) | prompt::Line::RunApart(_)) {
            BUSY.clone_into(&mut self.remark);
            return;
        }
        self.prompt.take();
        self.remark.clear();
        match line {
            prompt::Line::Blank => {}
            prompt::Line::Run(command) => self.run(&command, By::Person, size),
            prompt::Line::RunApart(command) => self.run(&command, By::PersonApart, size),
            prompt::Line::Word(word, rest) => self.word(&word, &rest),
            prompt::Line::Text => {
                "commands begin with !, words of the console with / (/help)"
                    .clone_into(&mut self.remark);
            }
        }
    }

    fn word(&mut self, word: &str, rest: &str) {
        let mut follows = None;
        let (title, lines) = match word {
            "quit" | "q" => {
                self.is_leaving = true;
                return;
            }
            "log" => (format!("Log {rest}"), history::search(&self.ledger, rest)),
            "runs" => ("Runs".to_owned(), self.runs()),
            "jobs" => {
                follows = Some(jobs::Page::List);
                ("Jobs".to_owned(), Vec::new())
            }
            "job" => {
                follows = Some(jobs::Page::Output(rest.to_owned()));
                (format!("Job {rest}"), Vec::new())
            }
            "kill" => {
                self.deed = Some(Deed::Kill(rest.to_owned()));
                return;
            }
            "send" => {
                let (name, what) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                self.deed = Some(Deed::Send(name.to_owned(), what.to_owned()));
                return;
            }
            "artifact" => (
                format!("Artifact {rest}"),
                history::artifact(&Store::of(self.engine.config()), rest),
            ),
            "help" => ("Help".to_owned(), help()),
            _ => {
                self.remark = format!("there is no /{word}; /help lists what there is");
                return;
            }
        };
        self.pager = Some(Pager {
            title,
            lines,
            top: 0,
            follows,
            looked_at: None,
        });
    }

    /// What runs and ran here, one line each, the newest first.
    fn runs(&self) -> Vec<render::Line> {
        let line = |shown: &Shown| {
            let state = shown.view.state();
            let age = crate::for_people::duration(shown.begun.elapsed().as_millis() as u64);
            let command = shown.view.call().command.clone().unwrap_or_default();
            render::Line::new(
                state.tone(),
                format!("{} {:<10}", state.sign(), state.word()),
            )
            .and(Tone::Faint, format!(" {age:>6}  "))
            .and(Tone::Command, crate::for_people::one_line(&command))
        };
        let lines: Vec<_> = self.shown.iter().rev().map(line).collect();
        if lines.is_empty() {
            return vec![render::Line::new(Tone::Faint, "nothing ran here yet")];
        }
        lines
    }

    fn run(&mut self, command: &str, by: By, size: (u16, u16)) {
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
        let terminal = Overlay::size_on(size);
        request.terminal_size = Some(terminal);
        let mut view = RunView::new(Preview::OwnCommand, self.home.clone());
        view.called(CallText {
            command: Some(command.to_owned()),
            ..CallText::default()
        });
        let token = CancellationToken::new();
        let running = self
            .engine
            .stream(Call::from(request).cancel_by(token.clone()));
        let overlay = Overlay::new(running.keyboard(), terminal);
        self.live = Some(Live {
            running,
            token,
            overlay,
        });
        self.shown.push(Shown {
            view,
            begun: Instant::now(),
            expansion: Expansion::Collapsed,
            is_cd,
        });
        "Ctrl-T types at its terminal, Esc ends it".clone_into(&mut self.remark);
    }

    /// Whether a command runs.
    pub(super) fn is_running(&self) -> bool {
        let state = self.shown.last().map(|shown| shown.view.state());
        self.live.is_some() && state == Some(State::Running)
    }

    /// Ends what runs, and waits for its end.
    pub(super) async fn end_all(&mut self) {
        if let Some(mut live) = self.live.take() {
            live.token.cancel();
            while live.running.next().await.is_some() {}
        }
    }
}

impl Pager {
    fn scroll(&mut self, turn: Turn, rows: usize) {
        self.top = match turn {
            Turn::Up => self.top.saturating_sub(rows),
            Turn::Down => (self.top + rows).min(self.lines.len().saturating_sub(1)),
        };
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

fn help() -> Vec<render::Line> {
    let lines = [
        "!command      runs the command in a terminal, as you would; it is recorded",
        "!!command     the same, kept out of what an agent is told",
        "!cd DIR       changes the directory for what follows",
        "/runs         what runs and ran here",
        "/jobs         the jobs of all your bashd processes, as they go on",
        "/job NAME     the output of one; /send NAME TEXT answers it, with a line or with keys (C-c, Up, Enter)",
        "/kill NAME    ends it",
        "/artifact N   stored output",
        "/log TEXT     what ran before, in any bashd, whose command contains the text",
        "/quit         leaves; so does Ctrl-D",
        "",
        "Tab completes paths, Up and Down recall lines, Alt-Enter begins another line",
        "Ctrl-O shows all of the last output, or less of it",
        "Ctrl-T types at the terminal of the running command, and back",
        "Esc ends the running command; at its terminal, Esc twice within half a second",
        "In a page: arrows, Space, b, g, G; q or Esc closes it",
    ];
    lines
        .map(|line| render::Line::new(Tone::Plain, line))
        .to_vec()
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
