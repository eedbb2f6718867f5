//! The console's state, and what each key does. What a line of the prompt does is in `words`.

use super::asked_elsewhere::{self, AskedElsewhere};
use super::asking::FIRST_ANSWER;
use super::complete::complete;
use super::draw;
use super::end_key::EndKeyWatch;
use super::history;
use super::jobs::{self, Deed, Opened};
use super::overlay::{Overlay, OverlayAction, WheelTurn, key_of};
use super::pager::{PageSource, Pager, PagerAction, RowTarget};
use super::prompt::Prompt;
use super::question::{ConsoleQuestion, approver};
use super::runs::{ConsoleRuns, RunNews};
use super::welcome;
use crate::answering::{self, AnswerPause};
use crate::notify::{JobEnds, Notifier};
use crate::render::{self, StyledLine};
use bashd::Event;
use bashd::approval::ApprovalAnswer;
use bashd::artifact::ArtifactStore;
use bashd::jobs::{Job, JobTerminal};
use bashd::ledger::{Ledger, Record};
use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEventKind};
use std::collections::VecDeque;
use std::io;
use std::time::Instant;
use tokio::sync::mpsc;

/// What is said when Ctrl-D was for the command.
const END_SENT: &str = "Ctrl-D went to the command; /quit quits";

/// The terminal of a job, or of another bashd's command, that the user is watching.
struct Watched {
    job: Box<Job>,
    terminal: Box<JobTerminal>,
    overlay: Overlay,
}

/// Whose terminal is shown over everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Nobody,
    Own,
}

/// An event that the console waited for.
pub(super) enum Happened {
    /// The command that runs here sent an event.
    Own(Option<Event>),
    /// The watched terminal was written to; `None` when it is closed.
    Watched(Option<Vec<u8>>),
    /// A command waits for the person's word.
    Asked(Box<ConsoleQuestion>),
}

/// The console.
pub(super) struct App {
    pub(super) runs: ConsoleRuns,
    pub(super) ledger: Ledger,
    pub(super) prompt: Prompt,
    pub(super) over: Over,
    watched: Option<Watched>,
    pub(super) pager: Option<Pager>,
    /// The lists from which it was opened, to which closing it leads back.
    lists: Vec<Pager>,
    /// Lines of the page that will not change, where it shows what ran here.
    settled: Settled,
    /// The records that a page lists.
    pub(super) records: Vec<Record>,
    pub(super) remark: String,
    /// What is to be done to a job.
    pub(super) deed: Option<Deed>,
    /// Looks for the key that ends a command whose terminal is not shown.
    pub(super) ending: EndKeyWatch,
    asked: mpsc::UnboundedReceiver<ConsoleQuestion>,
    pub(super) questions: VecDeque<ConsoleQuestion>,
    pause: AnswerPause,
    /// When a key was pressed last.
    pub(super) typed: Option<Instant>,
    elsewhere: AskedElsewhere,
    /// Answers to other processes that are on their way.
    answers: Vec<(String, ApprovalAnswer)>,
    welcome: Vec<StyledLine>,
    ends: JobEnds,
    pub(super) is_leaving: bool,
}

/// What of a page about runs is there already.
#[derive(Debug, Default, PartialEq, Eq)]
struct Settled {
    columns: usize,
    /// The next run, and the line at which it begins.
    run: usize,
    line: usize,
}

impl App {
    /// A console in which nothing ran yet.
    pub(super) fn new(runs: ConsoleRuns, ledger: Ledger) -> Self {
        let (sender, asked) = mpsc::unbounded_channel();
        runs.engine().ask(approver(sender));
        let ends = JobEnds::new(Notifier::of(runs.engine().config()));
        let elsewhere = AskedElsewhere::of(runs.engine().config());
        Self {
            ending: EndKeyWatch::by(runs.end_key()),
            welcome: welcome::lines(&ledger, &runs.jobs()),
            runs,
            ledger,
            prompt: Prompt::default(),
            over: Over::Nobody,
            watched: None,
            pager: None,
            lists: Vec::new(),
            settled: Settled::default(),
            records: Vec::new(),
            remark: "type a command; /help lists the rest".to_owned(),
            deed: None,
            asked,
            questions: VecDeque::new(),
            pause: AnswerPause::default(),
            typed: None,
            elsewhere,
            answers: Vec::new(),
            ends,
            is_leaving: false,
        }
    }

    /// Does the work that takes time: on jobs, and on pages that follow them.
    pub(super) async fn attend(&mut self, size: (u16, u16)) {
        let jobs = self.runs.jobs();
        self.ends.look_sometimes(&jobs, crate::jobs::ending);
        if let Some(deed) = self.deed.take() {
            let done = match &deed {
                Deed::Kill(name) => jobs::kill(&jobs, name).await,
                Deed::Send(name, what) => jobs::send(&jobs, name, what).await,
                Deed::Open(name) => match jobs::open(&jobs, name).await {
                    Ok(opened) => Ok(self.show_opened(opened, size)),
                    Err(error) => Err(error),
                },
            };
            self.remark = done.unwrap_or_else(|error| jobs::problem(&error));
        }
        if let Some(pager) = &mut self.pager
            && let Some(page) = pager.due()
        {
            let seen = jobs::page(&jobs, page, &pager.wanted_beside()).await;
            pager.show(seen);
        }
        self.attend_questions().await;
        self.attend_input(&jobs);
        self.lay_out(size);
    }

    /// Passes answers on, and looks which questions there are.
    async fn attend_questions(&mut self) {
        for (id, answer) in std::mem::take(&mut self.answers) {
            self.remark = self.elsewhere.answer(&id, answer).await;
        }
        self.questions.extend(self.elsewhere.look());
        let is_open = |id: &str| self.elsewhere.is_open(id);
        self.questions.retain(|question| !question.is_over(is_open));
        let first = self.questions.front().map(ConsoleQuestion::id);
        self.pause.shows(first, Instant::now());
    }

    /// Gives the open page its newest lines, and rows of this width.
    fn lay_out(&mut self, size: (u16, u16)) {
        let Some(pager) = &mut self.pager else {
            return;
        };
        let columns = draw::page_size(pager, size).0;
        let runs = match pager.source() {
            PageSource::Transcript => self.runs.numbers(),
            PageSource::Run(number) => *number..number + 1,
            PageSource::Fixed | PageSource::Jobs(_) => 0..0,
        };
        if !runs.is_empty() {
            if self.settled.columns != columns {
                self.settled = Settled {
                    columns,
                    run: runs.start,
                    line: 0,
                };
            }
            for number in self.settled.run..runs.end {
                let Some((lines, may_change)) = self.runs.whole(number, columns) else {
                    continue;
                };
                let line = self.settled.line;
                pager.replace_from(line, lines.to_vec());
                if !may_change {
                    self.settled.run = number + 1;
                    self.settled.line = line + lines.len();
                }
            }
        }
        pager.lay_out(columns);
    }

    /// Opens a page; closing it leads back to the list that it was opened from.
    pub(super) fn open(&mut self, pager: Pager) {
        self.settled = Settled::default();
        let before = self.pager.replace(pager);
        self.lists.extend(before.filter(Pager::is_list));
    }

    /// The question that stands before everything else, and whether keys answer it by now.
    pub(super) fn question(&self) -> Option<(&ConsoleQuestion, bool)> {
        let question = self.questions.front()?;
        Some((question, self.pause.is_over(Instant::now())))
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
                let page = PageSource::Jobs(jobs::JobsPage::Output(job.id));
                self.open(Pager::of(crate::for_people::one_line(&title), page));
            }
        }
        String::new()
    }

    /// Whether the next key can be handled at once: no page or deed waits for its turn.
    pub(super) fn only_types(&self) -> bool {
        self.pager.is_none() && self.deed.is_none() && !self.is_leaving
    }

    /// Whether its user wants to leave.
    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving
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

    /// The end of what ran, as so many columns and rows, and the call that is being typed; the
    /// first screen if nothing ran.
    pub(super) fn lines(&self, size: (usize, usize)) -> Vec<StyledLine> {
        let text = self.prompt.text();
        let written = Some(text.trim_start()).filter(|text| text.starts_with('{'));
        if self.runs.is_empty() && written.is_none() {
            let (columns, rows) = size;
            // Two rows of each command are enough to know it again.
            let lines = self.welcome.iter().map(|line| line.in_words(columns, 6));
            let lines = lines.flat_map(|lines| lines.into_iter().take(2));
            return lines.take(rows).collect();
        }
        self.runs.last_lines(size, written)
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
        let Self {
            runs,
            watched,
            asked,
            ..
        } = self;
        let watched = async {
            match watched {
                Some(watched) => watched.terminal.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = runs.next_event() => Happened::Own(event),
            bytes = watched => Happened::Watched(bytes),
            Some(question) = asked.recv() => Happened::Asked(Box::new(question)),
        }
    }

    /// Something happened by itself.
    pub(super) fn happened(&mut self, happened: Happened) {
        match happened {
            Happened::Own(event) => match self.runs.happened(event) {
                RunNews::Nothing => {}
                RunNews::Draws => self.show_terminal(),
                RunNews::Over => {
                    self.over = Over::Nobody;
                    // What was said since about something else stays.
                    let said = [END_SENT, FIRST_ANSWER].map(str::to_owned);
                    if self.remark == self.busy() || said.contains(&self.remark) {
                        self.remark.clear();
                    }
                }
            },
            Happened::Asked(question) => self.questions.push_back(*question),
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

    fn wheel(&mut self, turn: WheelTurn, size: (u16, u16)) {
        if let Some(overlay) = self.overlay_mut() {
            overlay.wheel(turn);
            return;
        }
        if self.pager.is_none() && matches!(turn, WheelTurn::Up) {
            self.look_back(size);
        }
        if let Some(pager) = &mut self.pager {
            let asked = pager.step(turn, 3, draw::page_size(pager, size).1);
            self.answer(asked);
        }
    }

    /// Opens the transcript, at its end.
    pub(super) fn look_back(&mut self, size: (u16, u16)) {
        if self.runs.is_empty() {
            "nothing has run here yet".clone_into(&mut self.remark);
            return;
        }
        self.open(Pager::of("What ran here", PageSource::Transcript));
        self.lay_out(size);
    }

    fn key(&mut self, key: &KeyEvent, size: (u16, u16)) {
        let now = Instant::now();
        self.typed = Some(now);
        if !self.questions.is_empty() {
            // Who scrolls through what they decide about does not type on.
            let first = self.questions.front();
            if !first.is_some_and(|question| question.scroll(key.code)) {
                self.decide(key, now);
                self.pause.typed(now);
            }
            return;
        }
        self.pause.typed(now);
        if let Some(overlay) = self.overlay_mut() {
            let wish = overlay.key(key, Instant::now());
            self.grant(wish);
            return;
        }
        if let Some(pager) = &mut self.pager {
            let asked = pager.key(key, draw::page_size(pager, size).1);
            self.answer(asked);
            return;
        }
        if self.ends_command(key) {
            self.end_command();
            return;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('d') if control && self.prompt.text().is_empty() => self.end_input(),
            KeyCode::Char('c') if control => self.interrupt(),
            KeyCode::Char('t') if control => self.show_terminal(),
            KeyCode::Char('o') if control => self.runs.expand(),
            KeyCode::Char('f') if control => {
                self.look_back(size);
                self.pager.iter_mut().for_each(Pager::begin_search);
            }
            KeyCode::PageUp => {
                self.look_back(size);
                if let Some(pager) = &mut self.pager {
                    let rows = draw::page_size(pager, size).1;
                    let asked = pager.step(WheelTurn::Up, rows, rows);
                    self.answer(asked);
                }
            }
            KeyCode::Esc => self.remark.clear(),
            KeyCode::Tab => self.complete(),
            KeyCode::Enter if key.modifiers.is_empty() => self.submit(size),
            _ => self.prompt.edit(key),
        }
    }

    /// A key while a question is open.
    fn decide(&mut self, key: &KeyEvent, now: Instant) {
        if self.pause.is_over(now)
            && let Some(answer) = answering::answer_of(key)
            && let Some(question) = self.questions.pop_front()
        {
            let answer = question.meant(answer);
            asked_elsewhere::said(answer).clone_into(&mut self.remark);
            let elsewhere = question.answer(answer).map(|id| (id, answer));
            self.answers.extend(elsewhere);
        }
    }

    /// Whether a key at the prompt ends the running command.
    fn ends_command(&mut self, key: &KeyEvent) -> bool {
        let (Some(live), Some(key)) = (&self.runs.live, key_of(key)) else {
            return false;
        };
        let used_for = live.overlay.used_for();
        self.ending.is_asked_for(key, used_for, Instant::now())
    }

    /// Ctrl-C: for the command, if one runs, as at its terminal.
    fn interrupt(&mut self) {
        match &self.runs.live {
            Some(live) if live.has_terminal => live.overlay.interrupt(),
            Some(live) => live.end(),
            None => {
                self.remark.clear();
                if self.prompt.text().is_empty() {
                    "Ctrl-D quits".clone_into(&mut self.remark);
                }
                self.prompt.set("");
            }
        }
    }

    /// Ctrl-D: for the command, if one runs, as at its terminal; at an empty prompt it quits.
    fn end_input(&mut self) {
        match &self.runs.live {
            Some(live) if live.has_terminal => {
                live.overlay.end_input();
                END_SENT.clone_into(&mut self.remark);
            }
            Some(_) => self.remark = self.busy(),
            None => self.is_leaving = true,
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
            (OverlayAction::Hide, None) => {
                let live = self.runs.live.as_ref();
                if !live.is_some_and(|live| live.input.just_came()) {
                    self.over = Over::Nobody;
                }
            }
        }
    }

    /// What a key in a page asked for.
    fn answer(&mut self, asked: PagerAction) {
        match asked {
            PagerAction::Nothing => {}
            PagerAction::Close => {
                self.pager = self.lists.pop();
                self.settled = Settled::default();
            }
            PagerAction::Open(target) => self.open_target(target),
            PagerAction::Copy(text) => self.copy(&text),
            PagerAction::End(id) => self.deed = Some(Deed::Kill(id)),
            PagerAction::Answer(id) => {
                self.pager = None;
                self.lists.clear();
                self.prompt.set(&format!("/send {id} "));
            }
        }
    }

    fn open_target(&mut self, target: RowTarget) {
        match target {
            RowTarget::Job(id) => self.deed = Some(Deed::Open(id)),
            RowTarget::Run(number) => {
                let command = self.runs.command(number).unwrap_or_default();
                let title = crate::for_people::one_line(&render::plain(command));
                self.open(Pager::of(title, PageSource::Run(number)));
                self.settled.run = number;
            }
            RowTarget::Record(place) => {
                let store = ArtifactStore::of(self.runs.engine().config());
                if let Some(record) = self.records.get(place) {
                    let lines = history::details(record, &store);
                    self.open(Pager::new("Past call", lines));
                }
            }
        }
    }

    /// Puts a text where the terminal's user can paste it. The terminal does not tell if it did.
    fn copy(&mut self, text: &str) {
        let copied = crossterm::execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text));
        if let Err(error) = copied {
            self.remark = format!("the text could not be copied: {error}");
        }
    }

    pub(super) fn show_terminal(&mut self) {
        match &mut self.runs.live {
            Some(live) if live.has_terminal => {
                live.input.was_shown();
                self.over = Over::Own;
            }
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

    /// Ends what runs here, and waits for its end.
    pub(super) async fn end_all(&mut self) {
        self.runs.end_all().await;
    }
}
