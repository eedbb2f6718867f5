//! What a profile file must satisfy beyond its types: parts that fit together, texts whose
//! placeholders can be filled.

use super::Profile;
use super::parts::{self, ListRules};
use super::rules::LimitRules;
use super::rules::{ArtifactsWhen, MinimizeSwitch, OutputRules, StreamDisplay, TextForm};
use super::sets::Sets;
use super::texts::{ReplyShape, TruncationTexts};
use crate::guard;
use crate::output::window::Window;
use crate::urls;
use bashd_keeper::template::unknown_placeholder;

/// Describes what is wrong with a profile, if anything.
pub(super) fn check(profile: &Profile) -> Result<(), String> {
    check_parameters(profile)?;
    check_limits(profile)?;
    check_rewrite(profile)?;
    check_guard(profile)?;
    check_minimize(&profile.output)?;
    check_window(&profile.output.window)?;
    if let Some(window) = &profile.output.failed_window {
        check_window(window)?;
    }
    check_lines(&profile.output)?;
    check_parts(profile)?;
    check_tools(profile)?;
    check_texts(profile)
}

/// What fills the texts of a reply.
fn check_parts(profile: &Profile) -> Result<(), String> {
    let reply = &profile.reply;
    let texts = [
        &reply.texts.exit,
        &reply.texts.timed_out,
        &reply.texts.cancelled,
    ];
    match (reply.shape, reply.parts.is_empty()) {
        (ReplyShape::Parts, true) => return Err("reply.parts: there are none".to_owned()),
        (ReplyShape::Parts, false) => {}
        (_, false) => return Err("reply.parts needs reply.shape = \"parts\"".to_owned()),
        (_, true) if texts.iter().any(|text| text.is_empty()) => {
            return Err("reply.texts: exit, timed_out and cancelled are missing".to_owned());
        }
        (_, true) => {}
    }
    if let Some(list) = &reply.list {
        placeholders("reply.list.around", &list.around, &ListRules::PLACEHOLDERS)?;
    }
    if profile.has(Sets::Commands) != reply.list.is_some() {
        return Err("reply.list belongs to a parameter that sets the commands".to_owned());
    }
    if let Some(issues) = &profile.refusals.issues {
        let all = ["tool", "issues"];
        placeholders("refusals.issues.one", &issues.one, &all)?;
        placeholders("refusals.issues.many", &issues.many, &all)?;
        placeholders("refusals.issues.missing", &issues.missing, &["name"])?;
        placeholders("refusals.issues.unknown", &issues.unknown, &["name"])?;
        let typed = ["name", "expected", "got"];
        placeholders("refusals.issues.wrong_type", &issues.wrong_type, &typed)?;
    }
    let notices = &profile.background.notices;
    parts::check("background.notices.parts", &notices.parts)?;
    parts::check("reply.parts", &reply.parts)
}

/// The further tools, and that every tool has its own name.
fn check_tools(profile: &Profile) -> Result<(), String> {
    let mut names = vec![profile.tool.name.as_str()];
    names.extend(profile.tool.aliases.iter().map(String::as_str));
    names.extend(profile.job_tool.iter().map(|tool| tool.name.as_str()));
    for tool in &profile.tools {
        tool.check()?;
        if let Some(window) = &tool.window {
            check_window(window)?;
        }
        names.push(&tool.name);
        names.extend(tool.aliases.iter().map(String::as_str));
    }
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair.first() == pair.last());
    match twice.and_then(<[_]>::first) {
        Some(name) => Err(format!("tool name `{name}` is used twice")),
        None => Ok(()),
    }
}

fn check_parameters(profile: &Profile) -> Result<(), String> {
    let mut names = Vec::new();
    for parameter in &profile.parameters {
        for name in parameter.names() {
            if names.contains(&name) {
                return Err(format!("parameter name `{name}` is used twice"));
            }
            names.push(name);
        }
    }
    let count = |sets| {
        let parameters = profile.parameters.iter();
        parameters
            .filter(|parameter| parameter.sets == sets)
            .count()
    };
    for parameter in &profile.parameters {
        let sets = parameter.sets;
        if !matches!(sets, Sets::Command | Sets::Nothing) && count(sets) > 1 {
            return Err(format!("more than one parameter sets {sets:?}"));
        }
    }
    let commands = [Sets::Command, Sets::Argv, Sets::Commands].map(count);
    match (
        commands.iter().sum(),
        count(Sets::Mode),
        profile.modes.len(),
    ) {
        (1, 0, _) | (1, 1, 1..) => Ok(()),
        (1, ..) => Err("a parameter sets the mode, but there are no modes".to_owned()),
        _ => Err("exactly one parameter must set the command".to_owned()),
    }
}

fn check_limits(profile: &Profile) -> Result<(), String> {
    if profile.shell.candidates.is_empty() {
        return Err("shell.candidates is empty".to_owned());
    }
    let modes = profile.modes.iter().map(|mode| mode.timeout_s);
    if modes
        .chain([profile.limits.timeout_s])
        .any(|timeout| timeout == 0)
    {
        return Err("a timeout of 0 would end every command immediately".to_owned());
    }
    match profile.limits.timeout_range_s {
        // A command whose terminal stays is not ended by it.
        Some([0, _]) if profile.at_terminal.is_some() => Ok(()),
        Some([least, most]) if least == 0 || least > most => Err(
            "limits.timeout_range_s must be [minimum, maximum], with the minimum above 0"
                .to_owned(),
        ),
        Some(_) | None => Ok(()),
    }
}

fn check_rewrite(profile: &Profile) -> Result<(), String> {
    let is_unknown = |scheme: &&String| !urls::is_known(scheme);
    match profile.rewrite.urls.iter().find(is_unknown) {
        Some(scheme) => Err(format!("rewrite.urls: there is no scheme `{scheme}`")),
        None => Ok(()),
    }
}

fn check_guard(profile: &Profile) -> Result<(), String> {
    let is_unknown = |name: &&String| *name != guard::DEFAULT_RULES && guard::rule(name).is_none();
    match profile.guard.rules.iter().find(is_unknown) {
        Some(name) => Err(format!("guard.rules: there is no rule `{name}`")),
        None => Ok(()),
    }
}

/// The raw output of what is minimized must be stored.
fn check_minimize(output: &OutputRules) -> Result<(), String> {
    let is_stored =
        output.artifacts != ArtifactsWhen::Never && output.show == StreamDisplay::Together;
    if output.minimize == MinimizeSwitch::On && !is_stored {
        return Err(
            "output.minimize needs output.artifacts, and output.show = \"together\"".to_owned(),
        );
    }
    Ok(())
}

fn check_window(window: &Window) -> Result<(), String> {
    if window.head.saturating_add(window.tail) > window.max {
        return Err("output.window: head + tail must not exceed max".to_owned());
    }
    let stored = ["address", "path", "line"];
    placeholders("output.window.artifact", &window.artifact, &stored)?;
    if let Some(settable) = &window.settable_head {
        let (key, allowed) = ("output.window.settable_head", &Window::PLACEHOLDERS);
        placeholders(key, &settable.both_ends, allowed)?;
        placeholders(key, &settable.end_only, allowed)?;
    }
    placeholders(
        "output.window.template",
        &window.template,
        &Window::PLACEHOLDERS,
    )
}

fn check_lines(output: &OutputRules) -> Result<(), String> {
    match (output.text, output.line_bytes) {
        (_, None) | (TextForm::Rendered, Some(16..)) => Ok(()),
        (TextForm::Decoded, Some(_)) => {
            Err("output.line_bytes needs output.text = \"rendered\"".to_owned())
        }
        (TextForm::Rendered, Some(_)) => Err("output.line_bytes must be 16 or more".to_owned()),
    }
}

fn check_texts(profile: &Profile) -> Result<(), String> {
    let texts = &profile.reply.texts;
    let process = ["pid", "command", "reason", "as_job"];
    placeholders("reply.texts.exit", &texts.exit, &["code"])?;
    placeholders("reply.texts.signal", &texts.signal, &["signal", "name"])?;
    placeholders("reply.texts.timed_out", &texts.timed_out, &["seconds"])?;
    placeholders(
        "reply.texts.timed_out_silent_in_terminal",
        &texts.timed_out_silent_in_terminal,
        &["seconds"],
    )?;
    placeholders("reply.texts.denied", &texts.denied, &["rule", "message"])?;
    placeholders("reply.texts.output_lost", &texts.output_lost, &["notice"])?;
    placeholders(
        "reply.texts.terminal_truncated",
        &texts.terminal_truncated,
        &["notice"],
    )?;
    placeholders("reply.texts.notice", &texts.notice, &["notice"])?;
    placeholders("reply.texts.left_running", &texts.left_running, &process)?;
    placeholders("reply.texts.left_next", &texts.left_next, &["job"])?;
    placeholders("reply.texts.left_unended", &texts.left_unended, &process)?;
    placeholders("reply.texts.left_more", &texts.left_more, &["count"])?;
    let job = [
        "job",
        "id",
        "pid",
        "output_file",
        "label",
        "seconds",
        "command",
        "limit",
    ];
    let background = &profile.background;
    placeholders("background.started", &background.started, &job)?;
    placeholders("background.handed_over", &background.backgrounded, &job)?;
    let ready = ["by", "seconds", "state"];
    placeholders("background.ready", &background.ready, &ready)?;
    placeholders("background.ended_first", &background.ended_first, &ready)?;
    placeholders("background.not_ready", &background.not_ready, &ready)?;
    let notices = &background.notices;
    let named = ["job", "label"];
    placeholders("background.notices.cancelled", &notices.cancelled, &named)?;
    let of_job = ["job", "label", "ending", "result"];
    placeholders("background.notices.one", &notices.one, &["job"])?;
    placeholders("background.notices.one_block", &notices.one_block, &of_job)?;
    placeholders("background.notices.many", &notices.many, &["count"])?;
    placeholders("background.notices.block", &notices.block, &of_job)?;
    placeholders("background.notices.around", &notices.around, &["text"])?;
    if let Some(ends) = &background.file_ends {
        placeholders("background.file_ends.failed", &ends.failed, &["status"])?;
        placeholders("background.file_ends.error", &ends.error, &["error"])?;
        placeholders(
            "background.file_ends.timed_out",
            &ends.timed_out,
            &["limit"],
        )?;
    }
    let limits = &profile.limits;
    placeholders("limits.raised", &limits.raised, &LimitRules::PLACEHOLDERS)?;
    placeholders("limits.lowered", &limits.lowered, &LimitRules::PLACEHOLDERS)?;
    placeholders("reply.texts.wall_time", &texts.wall_time, &["seconds"])?;
    check_truncation(&profile.reply.truncation)?;
    placeholders("tool.description", &profile.tool.description, &["pwd"])
}

fn check_truncation(texts: &TruncationTexts) -> Result<(), String> {
    let range = ["first", "last", "total"];
    let middle = [
        "begin",
        "head",
        "first",
        "last",
        "total",
        "omitted_lines",
        "omitted_size",
    ];
    placeholders("reply.truncation.range", &texts.range, &range)?;
    placeholders("reply.truncation.count", &texts.count, &["shown", "total"])?;
    placeholders("reply.truncation.by_bytes", &texts.by_bytes, &["limit"])?;
    placeholders("reply.truncation.middle", &texts.middle, &middle)?;
    placeholders("reply.truncation.lines_cut", &texts.lines_cut, &["max"])?;
    placeholders("reply.truncation.stored", &texts.stored, &["address"])?;
    let partly = ["address", "dropped"];
    placeholders(
        "reply.truncation.stored_incomplete",
        &texts.stored_incomplete,
        &["address"],
    )?;
    let numbers = ["first", "last", "total", "raw_total"];
    placeholders("reply.truncation.minimized", &texts.minimized, &numbers)?;
    placeholders(
        "reply.truncation.minimized_only",
        &texts.minimized_only,
        &numbers,
    )?;
    placeholders(
        "reply.truncation.stored_partly",
        &texts.stored_partly,
        &partly,
    )
}

fn placeholders(key: &str, text: &str, allowed: &[&str]) -> Result<(), String> {
    match unknown_placeholder(text, allowed) {
        Some(name) => Err(format!("{key}: there is no placeholder {{{name}}} here")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HARNESS: &str = include_str!("../../profiles/harness.toml");

    #[test]
    fn each_misfit_is_named() {
        let misfits = [
            ("head = 1048561", "head = 1048577", "head + tail"),
            ("timeout_s = 30", "timeout_s = 0", "timeout of 0"),
            ("{seconds}", "{secs}", "{secs}"),
            ("{head}...", "{heads}...", "{heads}"),
            ("sets = \"command\"", "sets = \"mode\"", "exactly one"),
            ("[[\"/bin/bash\", \"-c\"]]", "[]", "candidates is empty"),
            (
                "[[\"/bin/bash\", \"-c\"]]",
                "[[]]",
                "a shell needs a program",
            ),
            (
                "required = true",
                "aliases = [\"command\"]",
                "`command` is used twice",
            ),
            (
                "[limits]",
                "[guard]\nrules = [\"no_fun\"]\n[limits]",
                "no rule `no_fun`",
            ),
            ("grace_ms", "timeout_range_s = [5, 1]\ngrace_ms", "minimum"),
            (
                "[limits]",
                "[rewrite]\nurls = [\"ftp\"]\n[limits]",
                "no scheme `ftp`",
            ),
        ];
        for (good, bad, message) in misfits {
            assert!(HARNESS.contains(good), "{good}");
            let error = Profile::from_toml(&HARNESS.replacen(good, bad, 1)).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}
