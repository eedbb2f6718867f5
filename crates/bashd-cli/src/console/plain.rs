//! The console in plain lines: for screen readers, and for terminals that can't be drawn on.
//!
//! Lines go in and lines come out, in order. Nothing is drawn, moved or written over, and every
//! state is a word. While a command runs, lines are typed at its terminal; without a person at a
//! terminal they are the next commands, and wait.

use super::asked_elsewhere::AskedElsewhere;
use super::history;
use super::jobs;
use super::plain_input::{PlainInput, PlainLines};
use super::prompt::PromptLine;
use super::question::{ConsoleQuestion, approver};
use super::runs::ConsoleRuns;
use crate::render::{self, RunSummary, StyledLine};
use bashd::approval::ApprovalAnswer;
use bashd::artifact::ArtifactStore;
use bashd::jobs::Whose;
use bashd::ledger::Ledger;
use bashd::request::By;
use bashd::{CancellationToken, Event, Reply};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::Duration;
use tokio::sync::mpsc;

/// The size that commands are told.
const SIZE: (u16, u16) = (80, 24);

/// Past commands that `/log` lists.
const MOST_RECORDS: usize = 50;

/// After this much silence a line is said that has not ended: a question, for example.
const PAUSE: Duration = Duration::from_millis(300);

/// Bytes of a line that wait for its end.
const MOST_UNFINISHED: usize = 64 * 1024;

/// How often questions of other processes are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(300);

const HELP: [&str; 9] = [
    "A command runs in a terminal and is recorded. While it runs, what you type goes to it.",
    "/end ends the running command.",
    "{\"command\": … makes a call as an agent would.",
    "/runs lists what has run here. /jobs lists the runs and jobs of all your bashd processes.",
    "/kill NAME ends a job. /send NAME TEXT sends it a line or keys.",
    "/log TEXT lists past commands that contain the text, the newest last.",
    "/artifact N shows stored output.",
    "/help shows this. /quit quits.",
    "A question is answered with once, session, always or deny.",
];

/// The console.
struct PlainConsole {
    runs: ConsoleRuns,
    ledger: Ledger,
    questions: VecDeque<ConsoleQuestion>,
    /// What other processes ask, if there is a person to answer.
    elsewhere: Option<AskedElsewhere>,
    /// Output whose line has not ended.
    unfinished: String,
    is_leaving: bool,
}

/// Runs the console until its user leaves, or stdin ends.
pub(super) async fn run(
    runs: ConsoleRuns,
    ledger: Ledger,
    token: CancellationToken,
) -> io::Result<()> {
    let (sender, mut asked) = mpsc::unbounded_channel();
    runs.engine().ask(approver(sender));
    let mut lines = PlainLines::of_stdin();
    let elsewhere = lines
        .is_terminal
        .then(|| AskedElsewhere::of(runs.engine().config()));
    let mut console = PlainConsole {
        runs,
        ledger,
        questions: VecDeque::new(),
        elsewhere,
        unfinished: String::new(),
        is_leaving: false,
    };
    say("bashd console. /help lists what you can type.")?;
    prompt()?;
    let mut looks = tokio::time::interval(LOOK_EVERY);
    while !console.is_leaving {
        // A pipe's lines are commands, one after the other, and answers.
        let is_free = console.runs.live.is_none() || !console.questions.is_empty();
        let takes_lines = lines.is_terminal || is_free;
        tokio::select! {
            biased;
            () = token.cancelled() => break,
            Some(question) = asked.recv() => console.ask(question)?,
            event = console.runs.next_event() => console.happened(event)?,
            input = lines.next(), if takes_lines => match input {
                PlainInput::Line(line) => console.line(&line).await?,
                PlainInput::End => console.end_of_input()?,
            },
            () = tokio::time::sleep(PAUSE), if !console.unfinished.is_empty() => {
                console.say_unfinished()?;
            }
            _ = looks.tick() => console.look()?,
        }
    }
    console.runs.end_all().await;
    Ok(())
}

impl PlainConsole {
    fn ask(&mut self, question: ConsoleQuestion) -> io::Result<()> {
        say("Approval needed:")?;
        say_all(&question.lines(usize::MAX))?;
        say(match question.subject.effects {
            Some(_) => "Answer once (it becomes real) or deny (it is discarded).",
            None => "Answer once, session, always or deny.",
        })?;
        self.questions.push_back(question);
        Ok(())
    }

    /// Looks what other processes ask.
    fn look(&mut self) -> io::Result<()> {
        let Some(elsewhere) = &mut self.elsewhere else {
            return Ok(());
        };
        let new = elsewhere.look();
        self.forget_answered();
        new.into_iter().try_for_each(|question| self.ask(question))
    }

    fn forget_answered(&mut self) {
        let elsewhere = self.elsewhere.as_ref();
        let is_open = |id: &str| elsewhere.is_some_and(|elsewhere| elsewhere.is_open(id));
        self.questions.retain(|question| !question.is_over(is_open));
    }

    /// Nothing more is typed: to a command that is its end of input, to the console the end.
    fn end_of_input(&mut self) -> io::Result<()> {
        if !self.questions.is_empty() {
            // Nobody is left to answer them.
            self.questions.clear();
            return Ok(());
        }
        match &self.runs.live {
            Some(live) if live.has_terminal => live.overlay.end_input(),
            Some(_) => say("a command runs; /end ends it")?,
            None => self.is_leaving = true,
        }
        Ok(())
    }

    fn happened(&mut self, event: Option<Event>) -> io::Result<()> {
        match &event {
            Some(Event::Output { text, .. }) => self.output(text)?,
            Some(Event::Finished(reply)) => self.finished(reply)?,
            _ => {}
        }
        self.forget_answered();
        self.runs.happened(event);
        Ok(())
    }

    /// Says every line that has ended; what asks for something is said after a pause.
    fn output(&mut self, text: &str) -> io::Result<()> {
        self.unfinished.push_str(text);
        let Some((ended, rest)) = self.unfinished.rsplit_once('\n') else {
            return if self.unfinished.len() < MOST_UNFINISHED {
                Ok(())
            } else {
                self.say_unfinished()
            };
        };
        let (ended, rest) = (render::plain(ended), rest.to_owned());
        self.unfinished = rest;
        say(&ended)
    }

    fn say_unfinished(&mut self) -> io::Result<()> {
        let rest = render::plain(&std::mem::take(&mut self.unfinished));
        if rest.is_empty() {
            return Ok(());
        }
        say(&rest)
    }

    fn finished(&mut self, reply: &Reply) -> io::Result<()> {
        self.say_unfinished()?;
        let summary = RunSummary::of(reply);
        let exit = summary.exit.filter(|exit| *exit != 0);
        let exit = exit.map_or_else(String::new, |exit| format!(", exit {exit}"));
        let wall = summary.wall.as_secs_f64();
        say(&format!("{}{exit}, {wall:.2} s", summary.state.word()))?;
        if let Some(remark) = &summary.remark {
            say(&render::plain(remark))?;
        }
        prompt()
    }

    async fn line(&mut self, line: &str) -> io::Result<()> {
        if let Some(question) = self.questions.pop_front() {
            let answer = question.meant(ApprovalAnswer::of_word(line.trim()));
            let asked = question.answer(answer);
            let said = match (asked, &self.elsewhere) {
                (Some(id), Some(elsewhere)) => elsewhere.answer(&id, answer).await,
                _ if answer.is_yes() => "allowed".to_owned(),
                _ => "denied".to_owned(),
            };
            return say(&said);
        }
        if let Some(live) = &self.runs.live {
            match line.trim() {
                "/end" => live.end(),
                _ => live.overlay.paste(&format!("{line}\n")),
            }
            return Ok(());
        }
        match PromptLine::parse(line) {
            PromptLine::Blank => prompt(),
            PromptLine::Run(command) => {
                self.run(&command, By::Person);
                Ok(())
            }
            PromptLine::RunApart(command) => {
                self.run(&command, By::PersonApart);
                Ok(())
            }
            PromptLine::Call(arguments) => {
                self.runs.call(&arguments, SIZE);
                Ok(())
            }
            PromptLine::Word(word, rest) => {
                self.word(&word, &rest).await?;
                prompt()
            }
        }
    }

    fn run(&mut self, command: &str, by: By) {
        self.runs.run(command, by, SIZE);
        if let Some(live) = self.runs.live.as_ref().filter(|_| self.elsewhere.is_none()) {
            // Nobody types at it: the next lines of the pipe are the next commands.
            live.overlay.end_input();
        }
    }

    async fn word(&mut self, word: &str, rest: &str) -> io::Result<()> {
        let jobs = self.runs.jobs();
        let said = |done: Result<String, bashd::Error>| {
            say(&done.unwrap_or_else(|error| jobs::problem(&error)))
        };
        match word {
            "quit" | "q" => {
                self.is_leaving = true;
                Ok(())
            }
            "help" => HELP.iter().try_for_each(|line| say(line)),
            "end" => say("nothing is running"),
            "kill" | "send" if rest.is_empty() => {
                say(&format!("say which: /{word} NAME; /jobs lists them"))
            }
            "kill" => said(jobs::kill(&jobs, rest).await),
            "send" => {
                let (name, what) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                said(jobs::send(&jobs, name, what).await)
            }
            "jobs" => {
                let mut all = jobs.list(Whose::Everybody);
                all.extend(jobs.running().await);
                let lines: Vec<_> = all.iter().map(jobs::line).collect();
                say_list(&lines, "there are no jobs")
            }
            "runs" => {
                let lines: Vec<_> = self.runs.list().into_iter().map(|(line, _)| line).collect();
                let lines: Vec<_> = lines.into_iter().rev().collect();
                say_list(&lines, "nothing has run here yet")
            }
            "log" => match history::search(&self.ledger, rest) {
                Ok(records) => {
                    let newest = records.iter().take(MOST_RECORDS);
                    let lines: Vec<_> = newest.map(history::line).collect();
                    let lines: Vec<_> = lines.into_iter().rev().collect();
                    say_list(&lines, "no recorded command contains this text")
                }
                Err(error) => say(&error),
            },
            "artifact" => {
                let store = ArtifactStore::of(self.runs.engine().config());
                say_all(&history::artifact(&store, rest))
            }
            _ => say(&format!("there is no /{word}; type /help for a list")),
        }
    }
}

fn say_list(lines: &[StyledLine], nothing: &str) -> io::Result<()> {
    if lines.is_empty() {
        return say(nothing);
    }
    say_all(lines)
}

fn say_all(lines: &[StyledLine]) -> io::Result<()> {
    lines.iter().try_for_each(|line| say(&line.text()))
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}

fn prompt() -> io::Result<()> {
    let mut out = io::stdout();
    write!(out, "> ")?;
    out.flush()
}
