//! `bashd check`: whether a command would be allowed to run. Nothing runs.
//!
//! Here: one command, for people or as JSON. `lines` answers many, as JSON lines.

mod lines;
pub(crate) mod underline;

use crate::args::CheckOptions;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::{Paint, Printer};
use crate::settings::ConfigInForce;
use bashd::Request;
use bashd::guard::{Decision, Gate, Judgement, Verdict};
use bashd::rewrite::Command;
use bashd::script::Script;
use serde_json::{Map, Value, json};

/// Judges one command, or every line of stdin.
pub(crate) fn check(
    arguments: &CheckOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let gate = gate(arguments, settings)?;
    if arguments.command == "-" {
        return lines::answer(gate, printer);
    }
    let command = &arguments.command;
    if command.trim().is_empty() {
        return Err(Failure::new(FailureKind::Usage, "the command is empty")
            .hint("bashd check 'git push --force'"));
    }
    let judgement = gate.judge(&Command::as_given(command));
    if arguments.json {
        let answer = Value::Object(as_json(command, &judgement));
        printer.out(&format!("{answer}\n"))?;
    } else {
        show(command, &judgement, printer)?;
    }
    Ok(status(&judgement.verdict))
}

fn gate(arguments: &CheckOptions, settings: &ConfigInForce) -> Result<Gate, Failure> {
    let name = arguments
        .profile
        .as_ref()
        .unwrap_or(&settings.config.profile);
    let profile = settings.profile(name)?;
    let mut request = Request::new("");
    arguments.judging.apply_to(&mut request);
    Ok(settings.config.gate(&profile, &request))
}

fn status(verdict: &Verdict) -> ExitStatus {
    match verdict {
        Verdict::Allow => ExitStatus::Success,
        Verdict::Ask(_) | Verdict::Deny(_) => ExitStatus::Denied,
    }
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny(_) => "deny",
    }
}

fn as_json(command: &str, judgement: &Judgement) -> Map<String, Value> {
    let objection = judgement.objection();
    let mut answer = Map::new();
    answer.insert("verdict".to_owned(), word(&judgement.verdict).into());
    answer.insert(
        "rule".to_owned(),
        json!(objection.map(|objection| &objection.rule)),
    );
    answer.insert(
        "message".to_owned(),
        json!(objection.map(|objection| &objection.message)),
    );
    if let Some(tool) = &judgement.suggested_tool {
        answer.insert("suggested_tool".to_owned(), tool.as_str().into());
    }
    if let Some(span) = objection.and_then(|objection| objection.span) {
        answer.insert("span".to_owned(), json!(span));
    }
    if let Some(instead) = objection.and_then(|objection| objection.instead.as_ref()) {
        answer.insert("instead".to_owned(), instead.as_str().into());
    }
    if !judgement.objections.is_empty() {
        answer.insert("objections".to_owned(), json!(judgement.objections));
    }
    let programs = Script::parse(command);
    answer.insert("commands".to_owned(), json!(programs.programs()));
    answer
}

fn show(command: &str, judgement: &Judgement, printer: &Printer) -> Result<(), Failure> {
    let mut page = printer.page();
    if judgement.objections.is_empty() {
        let verdict = page.paint(Paint::Good, word(&judgement.verdict));
        page.line(verdict)?;
    }
    for (index, objection) in judgement.objections.iter().enumerate() {
        let (paint, verdict) = match objection.decision {
            Decision::Deny => (Paint::Bad, "deny"),
            Decision::Ask | Decision::Allow => (Paint::Warning, "ask"),
        };
        if index > 0 {
            page.line("")?;
        }
        let verdict = page.paint(paint, verdict);
        page.line(format_args!("{verdict} by rule {}", objection.rule))?;
        page.beside("", 0, None, &objection.message)?;
        if let (0, Some(tool)) = (index, &judgement.suggested_tool) {
            page.line(format_args!("suggested tool: {tool}"))?;
        }
        let Some(span) = objection.span else { continue };
        page.line("")?;
        for (text, marks) in underline::lines(command, span) {
            page.line(format_args!("  {text}"))?;
            page.line(format_args!("  {}", page.paint(paint, &marks)))?;
        }
    }
    page.finish()
}
