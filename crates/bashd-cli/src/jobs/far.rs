//! Jobs at other places: each action goes through the link, as the job tool has it.

use super::show;
use crate::args::{JobsAction, JobsOutput, JobsSend, JobsWait};
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people::{self, one_line};
use crate::print::{CommandOutput, Printer};
use crate::settings::ConfigInForce;
use crate::surroundings;
use bashd::jobs::{FarJob, FarJobs};
use bashd::{Call, Engine, KeeperSource, Reply, Request};
use serde_json::{Value, json};
use std::io::Read;
use std::time::Duration;

/// Bytes that are asked for at once.
const AT_ONCE: u64 = 256 * 1024;

/// Pause between two looks at output that grows.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The longest wait that a place is asked for at once, in seconds.
const LONGEST_WAIT: f64 = 3600.0;

/// The jobs of other places, as far as they are known here.
pub(super) struct FarDesk<'a> {
    settings: &'a ConfigInForce,
    known: FarJobs,
    engine: Engine,
    owner: String,
}

/// The jobs that an action names, if they are at other places.
pub(super) fn names_of(action: &JobsAction) -> Vec<&str> {
    match action {
        JobsAction::List(_) => Vec::new(),
        JobsAction::Attach(asked) => vec![&asked.id],
        JobsAction::Show(asked) => vec![&asked.id],
        JobsAction::Output(asked) => vec![&asked.id],
        JobsAction::Follow(asked) => vec![&asked.id],
        JobsAction::Screen(asked) => vec![&asked.id],
        JobsAction::Send(asked) => vec![&asked.id],
        JobsAction::Rename(asked) => vec![&asked.id],
        JobsAction::Wait(asked) => asked.ids.iter().map(String::as_str).collect(),
        JobsAction::Kill(asked) => asked.ids.iter().map(String::as_str).collect(),
        JobsAction::Rm(asked) => asked.ids.iter().map(String::as_str).collect(),
    }
}

/// Whether a name is that of a job at another place.
pub(super) fn is_far(name: &str, settings: &ConfigInForce) -> bool {
    let place = name.split_once(':').map(|(place, _)| place);
    // A node of an allocation may stand behind it.
    let place = place.map(|place| place.split_once('/').map_or(place, |(place, _)| place));
    let mut places = settings.config.places.iter();
    place.is_some_and(|place| places.any(|known| known.name == place))
}

impl<'a> FarDesk<'a> {
    pub(super) fn new(settings: &'a ConfigInForce, owner: String) -> Result<Self, Failure> {
        Ok(Self {
            settings,
            known: FarJobs::of(&settings.config),
            engine: Engine::new(
                settings.config.clone(),
                surroundings::for_one_command(),
                KeeperSource::Hook,
            )?,
            owner,
        })
    }

    /// Does what was asked for.
    pub(super) async fn perform(
        &self,
        action: &JobsAction,
        printer: &Printer,
    ) -> Result<ExitStatus, Failure> {
        if let Some(near) = names_of(action)
            .into_iter()
            .find(|name| !is_far(name, self.settings))
        {
            let text = format!("{near} is a job of this machine, and others are not");
            return Err(Failure::new(FailureKind::Usage, text).hint("name them one by one"));
        }
        match action {
            JobsAction::Show(show) => {
                let asked = json!({"action": "wait", "job": show.id, "timeout": 0});
                let reply = self.ask(&show.id, &asked).await?;
                print(&reply, (show.json, &reply.result["jobs"][0]), printer)?;
            }
            JobsAction::Output(output) => self.output(output, printer).await?,
            JobsAction::Follow(follow) => {
                let tail = follow.tail;
                self.follow(&follow.id, tail, printer).await?;
            }
            JobsAction::Wait(wait) => return self.wait(wait, printer).await,
            JobsAction::Send(send) => self.send(send, printer).await?,
            JobsAction::Kill(kill) => {
                let asked = json!({"action": "kill", "jobs": kill.ids});
                let first = kill.ids.first().map_or("", String::as_str);
                let reply = self.ask(first, &asked).await?;
                print(&reply, (kill.json, &reply.result), printer)?;
            }
            JobsAction::Rename(rename) => {
                let asked = json!({"action": "rename", "job": rename.id, "name": rename.name});
                let reply = self.ask(&rename.id, &asked).await?;
                printer.note(&reply.text);
            }
            JobsAction::Screen(screen) => {
                let mut asked = json!({"action": "screen", "job": screen.id});
                asked["scrollback"] = json!(screen.scrollback);
                asked["regex"] = json!(screen.regex);
                asked["silent_ms"] = json!(screen.silent);
                asked["timeout"] = json!(screen.timeout.map(|time| time.as_secs_f64()));
                let reply = self.ask(&screen.id, &asked).await?;
                print(&reply, (screen.json, &reply.result), printer)?;
            }
            JobsAction::Attach(_) | JobsAction::Rm(_) | JobsAction::List(_) => {
                let text = "typing at a job and removing it are not available at places";
                return Err(Failure::new(FailureKind::Usage, text));
            }
        }
        Ok(ExitStatus::Success)
    }

    /// Has the job tool of the place answer.
    async fn ask(&self, name: &str, asked: &Value) -> Result<Reply, Failure> {
        // What a person does, a person does to everybody's jobs.
        let known = self.known.find(name).map(|job: FarJob| job.owner);
        let owner = known.unwrap_or_else(|| self.owner.clone());
        let defaults = Request::new("").profile("default").owner(owner);
        let reply = self
            .engine
            .job(Call::json(asked.to_string(), defaults))
            .await;
        if reply.is_error {
            return Err(Failure::new(FailureKind::System, one_line(&reply.text)));
        }
        Ok(reply)
    }

    async fn output(&self, asked: &JobsOutput, printer: &Printer) -> Result<(), Failure> {
        let mut offset = asked.offset.unwrap_or(0);
        let mut left = asked.max_bytes.unwrap_or(u64::MAX);
        let mut shown = CommandOutput::to_stdout();
        loop {
            let most = if asked.json {
                asked.max_bytes
            } else {
                Some(left.min(AT_ONCE))
            };
            let mut question = json!({"action": "output", "job": asked.id});
            question["max_bytes"] = json!(most);
            question["grep"] = json!(asked.grep);
            match asked.tail {
                Some(lines) => question["tail"] = json!(lines),
                None => question["offset"] = json!(offset),
            }
            let told = self.ask(&asked.id, &question).await?.result;
            if asked.json {
                return printer.out(&format!("{told}\n"));
            }
            printer.out(&shown.text(told["text"].as_str().unwrap_or_default()))?;
            let (from, next) = (number(&told["offset"]), number(&told["next_offset"]));
            left -= left.min(next.saturating_sub(from));
            let is_all = next <= offset || next >= number(&told["output_bytes"]) || left == 0;
            if is_all || asked.tail.is_some() || asked.grep.is_some() {
                return printer.out(shown.end());
            }
            offset = next;
        }
    }

    async fn follow(
        &self,
        name: &str,
        tail: Option<u64>,
        printer: &Printer,
    ) -> Result<(), Failure> {
        let mut shown = CommandOutput::to_stdout();
        let mut question = json!({"action": "output", "job": name, "max_bytes": AT_ONCE});
        match tail {
            Some(lines) => question["tail"] = json!(lines),
            None => question["offset"] = json!(0),
        }
        loop {
            let told = self.ask(name, &question).await?.result;
            printer.out(&shown.text(told["text"].as_str().unwrap_or_default()))?;
            let next = number(&told["next_offset"]);
            if next >= number(&told["output_bytes"]) {
                if !told["job"]["ended_ms"].is_null() {
                    printer.out(shown.end())?;
                    let code = &told["job"]["exit_code"];
                    printer.note(&format!("{name} ended, status {code}"));
                    return Ok(());
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
            question = json!({
                "action": "output", "job": name, "max_bytes": AT_ONCE, "offset": next,
            });
        }
    }

    async fn wait(&self, asked: &JobsWait, printer: &Printer) -> Result<ExitStatus, Failure> {
        let mut question = json!({"action": "wait", "jobs": asked.ids});
        let longest = asked
            .timeout
            .map_or(LONGEST_WAIT, |time| time.as_secs_f64());
        question["timeout"] = json!(longest);
        question["regex"] = json!(asked.regex);
        question["port"] = json!(asked.port);
        question["http"] = json!(asked.http);
        question["silent_ms"] = json!(asked.silent);
        if asked.any {
            question["any"] = json!(true);
        }
        let first = asked.ids.first().map_or("", String::as_str);
        let reply = self.ask(first, &question).await?;
        print(&reply, (asked.json, &reply.result), printer)?;
        let jobs = reply.result["jobs"].as_array().cloned().unwrap_or_default();
        let met = |word: &str| jobs.iter().any(|job| job["met"] == word);
        Ok(if met("not_yet") {
            ExitStatus::TimedOut
        } else if met("ended") {
            ExitStatus::Unfit
        } else {
            ExitStatus::Success
        })
    }

    async fn send(&self, asked: &JobsSend, printer: &Printer) -> Result<(), Failure> {
        if let Some(signal) = &asked.signal {
            let question = json!({"action": "signal", "job": asked.id, "signal": signal});
            printer.note(&self.ask(&asked.id, &question).await?.text);
        }
        let mut text = asked.text.clone();
        if text.as_deref() == Some("-") {
            let mut read = String::new();
            let done = std::io::stdin().read_to_string(&mut read);
            done.map_err(|error| Failure::of(FailureKind::System, error.into()))?;
            text = Some(read);
        }
        let mut keys = asked.keys.clone();
        if asked.enter {
            keys.insert(0, "Enter".to_owned());
        }
        let is_nothing = text.is_none() && asked.paste.is_none() && keys.is_empty();
        if is_nothing && !asked.close {
            return Ok(());
        }
        let question = json!({
            "action": "send", "job": asked.id, "text": text, "paste": asked.paste,
            "keys": keys, "close": asked.close,
        });
        printer.note(&self.ask(&asked.id, &question).await?.text);
        Ok(())
    }
}

fn print(reply: &Reply, (as_json, data): (bool, &Value), printer: &Printer) -> Result<(), Failure> {
    if as_json {
        return printer.out(&format!("{data}\n"));
    }
    let mut shown = CommandOutput::to_stdout();
    printer.out(&shown.text(&reply.text))?;
    printer.out(shown.end())
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Prints the jobs of other places, as they were seen last.
pub(super) fn list(jobs: &[FarJob], as_json: bool, printer: &Printer) -> Result<(), Failure> {
    let mut page = printer.page();
    for job in jobs {
        if as_json {
            page.line(show::value(job)?)?;
        } else {
            let told = [&*job.alias, &*job.told(), &*job.owner, &*job.command];
            let told = told.map(for_people::one_line).join("  ");
            page.line(told)?;
        }
    }
    page.finish()
}
