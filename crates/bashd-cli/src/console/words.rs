//! What a line of the prompt does: commands, calls, and the words that begin with a slash.

use super::app::App;
use super::end_key::TerminalUse;
use super::history;
use super::jobs::{self, Deed};
use super::pager::{PageSource, Pager, RowTarget};
use super::prompt::PromptLine;
use crate::for_people;
use crate::render::{StyledLine, Tone};
use bashd::artifact::ArtifactStore;
use bashd::request::By;

impl App {
    /// Does what the line says.
    pub(super) fn submit(&mut self, size: (u16, u16)) {
        let line = PromptLine::parse(&self.prompt.text());
        let runs = matches!(
            line,
            PromptLine::Run(_) | PromptLine::RunApart(_) | PromptLine::Call(_)
        );
        if self.runs.live.is_some() && runs {
            self.remark = self.busy();
            return;
        }
        self.prompt.take();
        self.remark.clear();
        match line {
            PromptLine::Blank => {}
            PromptLine::Run(command) => self.runs.run(&command, By::Person, size),
            PromptLine::RunApart(command) => self.runs.run(&command, By::PersonApart, size),
            PromptLine::Call(arguments) => self.runs.call(&arguments, size),
            PromptLine::Word(word, rest) => self.word(&word, &rest, size),
        }
    }

    fn word(&mut self, word: &str, rest: &str, size: (u16, u16)) {
        let job = || rest.to_owned();
        if matches!(word, "job" | "kill" | "send") && rest.is_empty() {
            self.remark = format!("say which: /{word} NAME; /jobs lists them");
            return;
        }
        match word {
            "quit" | "q" => self.is_leaving = true,
            "job" => self.deed = Some(Deed::Open(job())),
            "kill" => self.deed = Some(Deed::Kill(job())),
            "send" => {
                let (name, what) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                self.deed = Some(Deed::Send(name.to_owned(), what.to_owned()));
            }
            "log" => self.open_log(rest),
            "runs" => self.open_runs(),
            "back" => self.look_back(size),
            "jobs" => {
                let page = PageSource::Jobs(jobs::JobsPage::List);
                self.open(Pager::of("Runs and jobs", page));
            }
            "artifact" => {
                let store = ArtifactStore::of(self.runs.engine().config());
                let lines = history::artifact(&store, rest);
                self.open(Pager::new(format!("Artifact {rest}"), lines));
            }
            "help" => {
                let columns = usize::from(size.0.saturating_sub(2));
                let lines = help(&self.runs.end_key().label(TerminalUse::Drawn), columns);
                self.open(Pager::new("Help", lines));
            }
            _ => self.remark = format!("there is no /{word}; type /help for a list"),
        }
    }

    fn open_log(&mut self, text: &str) {
        let title = format!("Log {text}").trim_end().to_owned();
        let problem = |tone, text: &str| Pager::new("Log", vec![StyledLine::new(tone, text)]);
        let page = match history::search(&self.ledger, text) {
            Err(error) => problem(Tone::Bad, &error),
            Ok(records) if records.is_empty() => problem(
                Tone::Faint,
                "no recorded command contains this text; /log lists all",
            ),
            Ok(records) => {
                let lines = records.iter().map(history::line).collect();
                let targets = (0..records.len()).map(RowTarget::Record).collect();
                self.records = records;
                Pager::list(title, (lines, targets))
            }
        };
        self.open(page);
    }

    fn open_runs(&mut self) {
        let (lines, numbers): (Vec<_>, Vec<_>) = self.runs.list().into_iter().unzip();
        let targets = numbers.into_iter().map(RowTarget::Run).collect();
        if lines.is_empty() {
            "nothing has run here yet".clone_into(&mut self.remark);
            return;
        }
        self.open(Pager::list("Runs", (lines, targets)));
    }
}

fn help(end_key: &str, columns: usize) -> Vec<StyledLine> {
    /// Columns of what is typed, where a line says what it does.
    const TYPED: usize = 14;
    let ending = format!("{end_key} ends the running command; Ctrl-C interrupts it");
    let lines = [
        "command       runs in a terminal, recorded; variables, functions and cd hold",
        "!!command     does the same, but agents are not told about it",
        "{\"command\": … makes a call as an agent would, with the profile's rules",
        "/runs         lists what has run in this console; Enter opens one",
        "/jobs         follows what runs in all your bashd processes",
        "/job NAME     opens a job: its terminal or its output",
        "/send NAME T  sends a job a line of text or keys (C-c, Up, Enter)",
        "/kill NAME    ends a job",
        "/artifact N   shows stored output",
        "/log TEXT     lists past commands that contain the text; Enter opens one",
        "/quit         quits, as does Ctrl-D while nothing runs",
        "",
        "PgUp and the wheel scroll back through all that ran; Ctrl-F searches it",
        "Tab completes paths, Up and Down recall lines, Alt-Enter starts a new line",
        "Ctrl-O shows the last output in full, and shortens it again",
        "Ctrl-T goes to the terminal of the running command, and back",
        ending.as_str(),
        "",
        "In a page: arrows, Space, b, g, G scroll; / searches, n and N go on;",
        "v selects lines, y copies them or everything; q or Esc closes it",
    ];
    let in_rows = |line: &str| {
        let at = line.char_indices().nth(TYPED).map_or(0, |(at, _)| at);
        let (typed, does) = match line.split_at(at) {
            (typed, does) if typed.ends_with(' ') && !does.starts_with(' ') => (typed, does),
            _ => ("", line),
        };
        for_people::entry(typed, typed.chars().count(), does, columns)
    };
    let rows = lines.iter().flat_map(|line| in_rows(line));
    rows.map(|row| StyledLine::new(Tone::Plain, row)).collect()
}
