//! `bashd rules`: every rule, whether it is on in a profile, why, and an example; and the remark
//! about a profile that has none.

use crate::args::RulesOptions;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people;
use crate::print::{Paint, Printer};
use crate::settings::ConfigInForce;
use bashd::Profile;
use bashd::guard::{self, Decision, RULES, Rule, UserRule};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

/// One line of the list.
struct RuleLine {
    name: String,
    is_on: bool,
    why: String,
    about: String,
    example: String,
    message: String,
}

/// Lists the rules, for people or as JSON.
pub(crate) fn rules(
    arguments: &RulesOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let name = arguments.profile.as_ref();
    let profile = settings.profile(name.unwrap_or(&settings.config.profile))?;
    let on = settings.config.guard(&profile);
    let compiled_in = RULES.iter().map(|rule| {
        let in_force = on.rules().find(|other| other.name == rule.name);
        line_of(
            in_force.unwrap_or(rule),
            in_force.is_some(),
            settings,
            &profile,
        )
    });
    let own = settings.config.rules.iter().map(line_of_own);
    let mut lines: Vec<RuleLine> = compiled_in.chain(own).collect();
    if let Some(unknown) = arguments
        .names
        .iter()
        .find(|name| lines.iter().all(|line| line.name != **name))
    {
        let message = format!("there is no rule `{unknown}`");
        return Err(Failure::new(FailureKind::Usage, message).hint("bashd rules lists them"));
    }
    if !arguments.names.is_empty() {
        lines.retain(|line| arguments.names.contains(&line.name));
    }
    if arguments.json {
        let all: Vec<Value> = lines.iter().map(as_json).collect();
        printer.out(&format!("{}\n", Value::Array(all)))?;
    } else {
        show(&lines, &profile, printer)?;
    }
    Ok(ExitStatus::Success)
}

fn line_of(rule: &Rule, is_on: bool, settings: &ConfigInForce, profile: &Profile) -> RuleLine {
    let config = &settings.config;
    let names = |list: &[String]| list.iter().any(|name| name == rule.name);
    let by_default = guard::default_rules().any(|name| name == rule.name);
    let profile_has_all = profile
        .guard
        .rules
        .iter()
        .any(|name| name == guard::DEFAULT_RULES);
    let why = if names(&config.guard_disable) {
        "guard.disable names it".to_owned()
    } else if names(&profile.guard.rules) {
        format!("the profile {} names it", profile.name)
    } else if profile_has_all && by_default {
        format!("the profile {} has the default rules", profile.name)
    } else if names(&config.guard_enable) {
        "guard.enable names it".to_owned()
    } else if config.guard_default && by_default {
        "guard.rules = \"default\"".to_owned()
    } else if by_default {
        format!(
            "the profile {} has no such rule; guard.rules = \"default\" switches it on",
            profile.name
        )
    } else {
        format!(
            "a matter of taste; guard.enable = [\"{}\"] switches it on",
            rule.name
        )
    };
    RuleLine {
        name: rule.name.to_owned(),
        is_on,
        why,
        about: rule.denies.to_owned(),
        example: rule.example.to_owned(),
        message: rule.line(),
    }
}

fn line_of_own(rule: &UserRule) -> RuleLine {
    let decision = match rule.decision {
        Decision::Allow => "allows",
        Decision::Ask => "asks",
        Decision::Deny => "denies",
    };
    RuleLine {
        name: rule.name.clone(),
        is_on: true,
        why: "[[rules]] in the configuration".to_owned(),
        about: format!("your own rule; it {decision}"),
        example: rule.examples.deny.first().cloned().unwrap_or_default(),
        message: rule.message.clone(),
    }
}

fn as_json(line: &RuleLine) -> Value {
    json!({
        "rule": line.name,
        "on": line.is_on,
        "why": line.why,
        "about": line.about,
        "example": line.example,
        "message": line.message,
    })
}

fn show(lines: &[RuleLine], profile: &Profile, printer: &Printer) -> Result<(), Failure> {
    let mut page = printer.list();
    let count = lines.iter().filter(|line| line.is_on).count();
    page.line(format_args!(
        "profile {}: {count} of {} rules are on",
        profile.name,
        lines.len()
    ))?;
    for line in lines {
        page.line("")?;
        let state = if line.is_on {
            page.paint(Paint::Good, "on ")
        } else {
            page.paint(Paint::Faint, "off")
        };
        page.line(format_args!("{state} {}", line.name))?;
        let example = format!("example: {}", line.example);
        let (about, why) = (line.about.clone(), format!("why: {}", line.why));
        let shown = [about, why, example];
        let has_example = usize::from(!line.example.is_empty());
        for text in shown.iter().take(2 + has_example) {
            for part in for_people::wrapped(text, 4, Printer::columns()) {
                page.line(format_args!("    {part}"))?;
            }
        }
    }
    page.finish()
}

/// Says once for each profile that its document gives it no rules. This goes to stderr, which
/// carries no reply; an empty file in the state directory remembers it.
pub(crate) fn say_if_there_are_none(settings: &ConfigInForce, profile: &str, printer: &Printer) {
    let name = if profile.is_empty() {
        settings.config.profile.as_str()
    } else {
        profile
    };
    let Ok(profile) = settings.profile(name) else {
        return;
    };
    if settings.config.guard(&profile).is_on() {
        return;
    }
    let directory = settings.config.state_dir.join("said");
    let mark = directory.join(format!("no-rules-{}", profile.name));
    if mark.exists() {
        return;
    }
    printer.note(&format!(
        "the profile {} has no rules of its own, so nothing is denied; guard.rules = \"default\" in \
         config.toml switches bashd's on (said once)",
        profile.name
    ));
    // If it can't be remembered, it is said again.
    let mut private = fs::DirBuilder::new();
    if private
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .is_ok()
    {
        let mut file = fs::OpenOptions::new();
        drop(file.write(true).create(true).mode(0o600).open(mark));
    }
}
