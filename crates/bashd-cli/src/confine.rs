//! `bashd confine`: what commands may reach here, and why.

use crate::args::{ConfineShow, PresetName, Subcommand};
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::{Paint, Printer};
use crate::settings::ConfigInForce;
use crate::surroundings;
use bashd::Request;
use bashd::plan::{Confinement, ConfinementInForce, Network, PathReach, is_inside};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Refuses what would take a confinement off, from inside of one.
pub(crate) fn refuse_inside(subcommand: &Subcommand) -> Result<(), Failure> {
    let what = match subcommand {
        Subcommand::Grants(_) => "grants can be neither seen nor changed",
        Subcommand::Changes(_) | Subcommand::Undo(_) => {
            "changes can be neither seen, applied nor undone"
        }
        Subcommand::Init(_) => "agents can't be set up",
        Subcommand::Run(run) if run.judging.confine == Some(PresetName::Off) => {
            "a confinement can't be taken off"
        }
        _ => return Ok(()),
    };
    if !is_inside() {
        return Ok(());
    }
    let text = format!("this is inside a confinement, where {what}");
    Err(Failure::new(FailureKind::Usage, text).hint("do it outside, as the person who confined"))
}

/// Prints what holds.
pub(crate) fn show(
    arguments: &ConfineShow,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let config = &settings.config;
    let profile = settings.profile(arguments.profile.as_ref().unwrap_or(&config.profile))?;
    let surroundings = surroundings::for_commands(arguments.cwd.as_deref())?;
    let mut config = config.clone();
    config.confinement.workspace = config.confinement.workspace.or(arguments.cwd.clone());
    let mut request = Request::new("");
    request.confine = arguments.confine.map(Into::into);
    let confinement = config.confinement_of(&profile, &request, &surroundings)?;
    let Some(confinement) = confinement else {
        return nothing(arguments, printer);
    };
    let level = config.confinement_level()?;
    let command = arguments.command.as_deref().unwrap_or_default();
    let paths = paths(command, &surroundings.cwd, &confinement);
    if arguments.json {
        let paths: Vec<_> = paths
            .iter()
            .map(|(path, reach, by)| json!({ "path": path, "reach": reach, "by": by }))
            .collect();
        let shown = json!({ "confinement": confinement, "here": level, "paths": paths });
        printer.out(&format!("{shown:#}\n"))?;
    } else {
        page(&confinement, &level, &paths, printer)?;
    }
    Ok(ExitStatus::Success)
}

fn nothing(arguments: &ConfineShow, printer: &Printer) -> Result<ExitStatus, Failure> {
    if arguments.json {
        printer.out("{\n  \"confinement\": null\n}\n")?;
    } else {
        printer.out("off: commands may do what their user may (`confinement.preset`)\n")?;
    }
    Ok(ExitStatus::Success)
}

/// A path of a command, what may be done with it, and the entry that says so.
type PathFound<'a> = (PathBuf, PathReach, Option<&'a Path>);

/// The paths that are words of a command, as far as the text shows them.
fn paths<'a>(command: &str, cwd: &Path, confinement: &'a Confinement) -> Vec<PathFound<'a>> {
    let words = command.split(|c: char| c.is_whitespace() || "\"'<>|;&()=".contains(c));
    let absolute = words.filter(|word| word.contains('/') || cwd.join(word).exists());
    let absolute = absolute.filter(|word| !word.is_empty());
    let real = |word: &str| {
        let path = cwd.join(word);
        path.canonicalize().unwrap_or(path)
    };
    let found = absolute.map(|word| {
        let path = real(word);
        let (reach, by) = confinement.reach(&path);
        (path, reach, by)
    });
    found.collect()
}

fn page(
    confinement: &Confinement,
    level: &ConfinementInForce,
    paths: &[PathFound<'_>],
    printer: &Printer,
) -> Result<(), Failure> {
    let mut page = printer.page();
    let here = match &level.reason {
        Some(reason) => format!("{} ({reason})", level.level),
        None => level.level.to_string(),
    };
    let refuses = if level.level < confinement.require {
        ": commands do not run"
    } else {
        ""
    };
    let texts = [
        ("preset", confinement.preset.clone()),
        (
            "level",
            format!("{here}, {} is required{refuses}", confinement.require),
        ),
        ("workspace", confinement.workspace.display().to_string()),
        ("network", network(confinement)),
    ];
    for (name, text) in texts {
        page.line(format_args!(
            "{}  {text}",
            page.paint(Paint::Title, &format!("{name:9}"))
        ))?;
    }
    let home: Vec<PathBuf> = confinement.home.iter().cloned().collect();
    let lists = [
        ("writes", &confinement.write),
        ("own layer", &home),
        ("reads", &confinement.read),
        ("protected", &confinement.protect),
        ("hidden", &confinement.hide),
        ("sockets", &confinement.sockets),
    ];
    for (name, list) in lists {
        for path in list.iter().filter(|path| path.symlink_metadata().is_ok()) {
            let name = page.paint(Paint::Title, &format!("{name:9}"));
            page.line(format_args!("{name}  {}", path.display()))?;
        }
    }
    for (path, reach, by) in paths {
        let why = by.map_or_else(String::new, |by| format!(" by {}", by.display()));
        page.line(format_args!("{}: {}{why}", path.display(), word(*reach)))?;
    }
    page.finish()
}

fn network(confinement: &Confinement) -> String {
    match confinement.network {
        Network::Named => confinement.hosts.join(", "),
        Network::None | Network::All => confinement.network.name().to_owned(),
    }
}

fn word(reach: PathReach) -> &'static str {
    match reach {
        PathReach::Hidden => "hidden",
        PathReach::Protected => "read-only, protected",
        PathReach::Written => "written",
        PathReach::Layered => "written for the run alone, in the layer over the home",
        PathReach::Read => "read",
        PathReach::Closed => "not readable: not in `confinement.read`",
    }
}
