//! The console's state, and what each key does.

use super::complete::complete;
use super::history;
use super::jobs::{self, Deed, Opened};
use super::overlay::{Overlay, OverlayAction, WheelTurn};
use super::pager::{Pager, PagerAction};
use super::prompt::{self, Prompt};
use super::runs::{ConsoleRuns, RunNews};
use crate::render::{self, Tone};
use bashd::Event;
use bashd::artifact::ArtifactStore;
use bashd::jobs::{Job, JobTerminal};
use bashd::ledger::Ledger;
use bashd::request::By;
use crossterm::event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEventKind};
use std::time::Instant;

/// The remark when another command is asked for while one runs.
const BUSY: &str = "A bash command is already running. Press Esc to cancel it first.";

/// The remark while a command runs.
const WHILE_IT_RUNS: &str = "Ctrl-T goes to its terminal, Esc ends it";

/// Rows of a page that hold no lines: the border, and what is below it.
const FRAME: u16 = 2;

/// The terminal of a job, or of another bashd's command, that the user is watching.
struct Watched {
    job: Box<Job>,
    terminal: Box<JobTerminal>,
    overlay: Overlay,
}

/// Whose terminal is shown over everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Nobody,
    Own,
}

/// An event that the console waited for.
pub(super) enum Happened {
    /// The command that runs here sent an event.
    Own(Option<Event>),
    /// The watched terminal was written to; `None` when it is closed.
    Watched(Option<Vec<u8>>),
}

/// The console.
pub(super) struct App {
    runs: ConsoleRuns,
    ledger: Ledger,
    prompt: Prompt,
    over: Over,
    watched: Option<Watched>,
    pager: Option<Pager>,
    remark: String,
    /// What is to be done to a job.
    deed: Option<Deed>,
    is_leaving: bool,
}

impl App {
    /// A console in which nothing ran yet.
    pub(super) fn new(runs: ConsoleRuns, ledger: Ledger) -> Self {
        Self {
            runs,
            ledger,
            prompt: Prompt::default(),
            over: Over::Nobody,
            watched: None,
            pager: None,
            remark: "!COMMAND runs a command, /help lists the rest".to_owned(),
            deed: None,
            is_leaving: false,
        }
    }

    /// Does the work that takes time: on jobs, and on pages that follow them.
    pub(super) async fn attend(&mut self, size: (u16, u16)) {
        let jobs = self.runs.engine().jobs();
        if let Some(deed) = self.deed.take() {
            let done = match &deed {
                Deed::Kill(name) => jobs::kill(&jobs, name).await,
                Deed::Send(name, what) => jobs::send(&jobs, name, what).await,
                Deed::Open(name) => match jobs::open(&jobs, name).await {
                    Ok(opened) => Ok(self.show_opened(opened, size)),
                    Err(error) => Err(error),
                },
            };
            self.remark = done.unwrap_or_else(|error| error.to_string());
        }
        if let Some(pager) = &mut self.pager
            && let Some(page) = pager.due()
        {
            let seen = jobs::page(&jobs, page).await;
            pager.show(seen);
        }
    }

    /// Shows a job; returns the remark about it.
    fn show_opened(&mut self, opened: Opened, size: (u16, u16)) -> String {
        match opened {
            Opened::Terminal(job, terminal) => {
                let mut overlay =
                    Overlay::new(terminal.keyboard(), terminal.size(), self.runs.end_key());
                overlay.resize(Overlay::size_on(size));
                self.watched = Some(Watched {
                    job,
                    terminal,
                    overlay,
                });
            }
            Opened::Output(job) => {
                let title = render::plain(&format!("{} {}", jobs::called(&job), job.command));
                let page = jobs::JobsPage::Output(job.id);
                self.pager = Some(Pager::following(crate::for_people::one_line(&title), page));
            }
        }
        String::new()
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

    /// What runs and ran here.
    pub(super) fn runs(&self) -> &ConsoleRuns {
        &self.runs
    }

    /// Everything that ran, as lines of at most this many columns, and the call that is being
    /// typed.
    pub(super) fn lines(&self, columns: usize) -> Vec<render::StyledLine> {
        let text = self.prompt.text();
        let written = Some(text.trim_start()).filter(|text| text.starts_with('{'));
        self.runs.lines(columns, written)
    }

    /// The terminal that is shown.
    pub(super) fn overlay(&self) -> Option<&Overlay> {
        let own = self.runs.live.as_ref().filter(|_| self.over == Over::Own);
        let watched = self.watched.as_ref().map(|watched| &watched.overlay);
        watched.or(own.map(|live| &live.overlay))
    }

    fn overlay_mut(&mut self) -> Option<&mut Overlay> {
        let own = self.runs.live.as_mut().filter(|_| self.over == Over::Own);
        let watched = self.watched.as_mut().map(|watched| &mut watched.overlay);
        watched.or(own.map(|live| &mut live.overlay))
    }

    /// The next thing that happens by itself.
    pub(super) async fn next(&mut self) -> Happened {
        let Self { runs, watched, .. } = self;
        let watched = async {
            match watched {
                Some(watched) => watched.terminal.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = runs.next_event() => Happened::Own(event),
            bytes = watched => Happened::Watched(bytes),
        }
    }

    /// Something happened by itself.
    pub(super) fn happened(&mut self, happened: Happened) {
        match happened {
            Happened::Own(event) => match self.runs.happened(event) {
                RunNews::Nothing => {}
                RunNews::Draws => self.over = Over::Own,
                RunNews::Over => {
                    self.over = Over::Nobody;
                    // What was said since about something else stays.
                    if [BUSY, WHILE_IT_RUNS].contains(&&*self.remark) {
                        self.remark.clear();
                    }
                }
            },
            Happened::Watched(Some(bytes)) => {
                if let Some(watched) = &mut self.watched {
                    watched.overlay.output(&bytes);
                }
            }
            Happened::Watched(None) => {
                if let Some(watched) = self.watched.take() {
                    self.remark = format!("{} has ended", jobs::called(&watched.job));
                }
            }
        }
    }

    /// The user typed, pasted, turned the wheel or resized the window.
    pub(super) fn input(&mut self, event: &event::Event, size: (u16, u16)) {
        match event {
            event::Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key, size),
            event::Event::Paste(text) => match self.overlay() {
                Some(overlay) => overlay.paste(text),
                None => self.prompt.insert(&text.replace('\r', "\n")),
            },
            event::Event::Mouse(mouse) => match mouse.kind {
                MouseEventKind::ScrollUp => self.wheel(WheelTurn::Up, size),
                MouseEventKind::ScrollDown => self.wheel(WheelTurn::Down, size),
                _ => {}
            },
            event::Event::Resize(columns, rows) => {
                let size = Overlay::size_on((*columns, *rows));
                if let Some(live) = &mut self.runs.live {
                    live.overlay.resize(size);
                }
                if let Some(watched) = &mut self.watched {
                    watched.overlay.resize(size);
                }
            }
            _ => {}
        }
    }

    fn wheel(&mut self, turn: WheelTurn, (_, rows): (u16, u16)) {
        if let Some(overlay) = self.overlay_mut() {
            overlay.wheel(turn);
        } else if let Some(pager) = &mut self.pager {
            pager.step(turn, 3, usize::from(rows.saturating_sub(FRAME)));
        }
    }

    fn key(&mut self, key: &KeyEvent, size: (u16, u16)) {
        if let Some(overlay) = self.overlay_mut() {
            let wish = overlay.key(key, Instant::now());
            self.grant(wish);
            return;
        }
        if let Some(pager) = &mut self.pager {
            let rows = usize::from(size.1.saturating_sub(FRAME)).max(1);
            let asked = pager.key(key, rows);
            self.answer(asked);
            return;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('d') if control && self.prompt.text().is_empty() => {
                self.is_leaving = true;
            }
            KeyCode::Char('c') if control && self.runs.live.is_none() => {
                self.remark.clear();
                if self.prompt.text().is_empty() {
                    "Ctrl-D quits".clone_into(&mut self.remark);
                }
                self.prompt.set("");
            }
            KeyCode::Char('c') if control => self.end_command(),
            KeyCode::Esc => self.end_command(),
            KeyCode::Char('t') if control => self.show_terminal(),
            KeyCode::Char('o') if control => self.runs.expand(),
            KeyCode::Tab => self.complete(),
            KeyCode::Enter if key.modifiers.is_empty() => self.submit(size),
            _ => self.prompt.edit(key),
        }
    }

    /// What a key at a terminal asked for.
    fn grant(&mut self, wish: OverlayAction) {
        match (wish, &self.watched) {
            (OverlayAction::Nothing, _) => {}
            (OverlayAction::End, Some(watched)) => {
                self.deed = Some(Deed::Kill(watched.job.id.clone()));
            }
            (OverlayAction::End, None) => self.end_command(),
            (OverlayAction::Hide, Some(_)) => self.watched = None,
            (OverlayAction::Hide, None) => self.over = Over::Nobody,
        }
    }

    /// What a key in a page asked for.
    fn answer(&mut self, asked: PagerAction) {
        match asked {
            PagerAction::Nothing => {}
            PagerAction::Close => self.pager = None,
            PagerAction::Open(id) => self.deed = Some(Deed::Open(id)),
            PagerAction::End(id) => self.deed = Some(Deed::Kill(id)),
            PagerAction::Answer(id) => {
                self.pager = None;
                self.prompt.set(&format!("/send {id} "));
            }
        }
    }

    fn show_terminal(&mut self) {
        match &self.runs.live {
            Some(live) if live.has_terminal => self.over = Over::Own,
            Some(_) => "the command has no terminal".clone_into(&mut self.remark),
            None => {}
        }
    }

    fn end_command(&mut self) {
        if let Some(live) = &self.runs.live {
            live.end();
        }
    }

    fn complete(&mut self) {
        let line = self.prompt.before_cursor();
        let completion = complete(&line, &self.runs.cwd, self.runs.home());
        self.prompt.insert(&completion.added);
        self.remark = completion.choices.join("  ");
    }

    fn submit(&mut self, size: (u16, u16)) {
        let line = prompt::PromptLine::parse(&self.prompt.text());
        let runs = matches!(
            line,
            prompt::PromptLine::Run(_)
                | prompt::PromptLine::RunApart(_)
                | prompt::PromptLine::Call(_)
        );
        if self.runs.live.is_some() && runs {
            BUSY.clone_into(&mut self.remark);
            return;
        }
        self.prompt.take();
        self.remark.clear();
        match line {
            prompt::PromptLine::Blank => {}
            prompt::PromptLine::Run(command) => self.runs.run(&command, By::Person, size),
            prompt::PromptLine::RunApart(command) => self.runs.run(&command, By::PersonApart, size),
            prompt::PromptLine::Call(arguments) => self.runs.call(&arguments, size),
            prompt::PromptLine::Word(word, rest) => self.word(&word, &rest),
            prompt::PromptLine::Text => {
                "type !COMMAND to run a command, or /help".clone_into(&mut self.remark);
            }
        }
        if runs {
            WHILE_IT_RUNS.clone_into(&mut self.remark);
        }
    }

    fn word(&mut self, word: &str, rest: &str) {
        let page = match word {
            "quit" | "q" => {
                self.is_leaving = true;
                return;
            }
            "job" => {
                self.deed = Some(Deed::Open(rest.to_owned()));
                return;
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
            "log" => Pager::new(format!("Log {rest}"), history::search(&self.ledger, rest)),
            "runs" => Pager::new("Runs", self.runs.list()),
            "jobs" => Pager::following("Runs and jobs", jobs::JobsPage::List),
            "artifact" => {
                let store = ArtifactStore::of(self.runs.engine().config());
                let lines = history::artifact(&store, rest);
                Pager::new(format!("Artifact {rest}"), lines)
            }
            "help" => Pager::new("Help", help(&self.runs.end_key().label())),
            _ => {
                self.remark = format!("there is no /{word}; type /help for a list");
                return;
            }
        };
        self.pager = Some(page);
    }

    /// Ends what runs here, and waits for its end.
    pub(super) async fn end_all(&mut self) {
        self.runs.end_all().await;
    }
}

fn help(end_key: &str) -> Vec<render::StyledLine> {
    let ending = format!("Esc ends the running command; in its terminal, {end_key} does");
    let lines = [
        "!command      runs a command in a terminal and records it; variables, functions and cd hold",
        "!!command     does the same, but agents are not told about it",
        "{\"command\": … makes a call as an agent would, with the rules and limits of the profile",
        "/runs         lists what has run in this console",
        "/jobs         follows the runs and jobs of all your bashd processes; Enter opens one",
        "/job NAME     opens a job: its terminal or its output",
        "/send NAME T  sends a job a line of text or keys (C-c, Up, Enter)",
        "/kill NAME    ends a job",
        "/artifact N   shows stored output",
        "/log TEXT     lists past commands of any bashd that contain the text",
        "/quit         quits, as does Ctrl-D",
        "",
        "Tab completes paths, Up and Down recall lines, Alt-Enter starts a new line",
        "Ctrl-O shows the last output in full, and shortens it again",
        "Ctrl-T goes to the terminal of the running command, and back",
        ending.as_str(),
        "In a page, the arrows, Space, b, g and G scroll; q or Esc closes it",
    ];
    lines
        .map(|line| render::StyledLine::new(Tone::Plain, line))
        .to_vec()
}
