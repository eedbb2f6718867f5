//! `bashd init`: puts bashd into agents' configurations, and takes it out again.
//!
//! `agents` says what each agent needs, `edit` with `json` and `toml` how a configuration is
//! edited, `change` what becomes of a file, `put_in` what must be undone later. This file goes
//! through it with the user: collect, show, ask, write, try.

mod agents;
mod change;
mod edit;
mod files;
mod json;
mod probe;
mod put_in;
mod report;
mod toml;

use crate::args::InitOptions;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::settings::ConfigInForce;
use crate::surroundings::{self, AgentPlaces};
use agents::{AGENTS, AgentSetup, AgentWishes, SetupContext, SetupWants};
use bashd::config::Preset;
use change::{ChangeKind, FileChange};
use put_in::{PutIn, WishOrigin};
use report::{AgentReport, FileReport, InitReport};
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

/// Sets agents up, or takes out what was put in.
pub(crate) fn init(
    arguments: &InitOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    if arguments.json && !arguments.yes && !arguments.print {
        let message = "--json can't ask";
        return Err(Failure::new(FailureKind::Usage, message).hint("add --yes or --print"));
    }
    let state_dir = settings.config.state_dir.clone();
    let project = arguments.project.then(surroundings::cwd).transpose()?;
    let mut all = if arguments.uninstall {
        to_take_out(arguments, project.as_deref(), &state_dir)?
    } else {
        to_put_in(arguments, project.as_deref(), &state_dir, printer)?
    };
    if all.is_empty() {
        return nothing_found(arguments, printer);
    }
    let mut report = InitReport::planned(&all);
    if !arguments.json {
        report.show_plan(printer)?;
    }
    if !arguments.print {
        let is_change = |one: &AgentChanges| one.changes.iter().any(FileChange::is_change);
        if all.iter().any(is_change) && !may_write(arguments, printer) {
            return Ok(ExitStatus::Unfit);
        }
        for (one, agent) in all.iter_mut().zip(&mut report.agents) {
            one.make(agent, &state_dir);
        }
        let changes = all.iter().flat_map(|one| &one.changes);
        let folders = changes.flat_map(|change| change.folders().to_vec());
        files::remove_empty(folders.collect());
        if !arguments.json {
            report.show_done(printer)?;
        }
        report.server = try_servers(&all, settings);
    }
    report.show_end(arguments, printer)?;
    Ok(report.status())
}

/// What is to be done for one agent.
pub(super) struct AgentChanges {
    name: String,
    title: &'static str,
    /// Where it was found; nothing if it was only named.
    found: Option<PathBuf>,
    changes: Vec<FileChange>,
    wishes: AgentWishes,
    /// How it will start the server.
    server: Option<Vec<String>>,
}

impl AgentChanges {
    fn make(&mut self, report: &mut AgentReport, state_dir: &Path) {
        for (change, file) in self.changes.iter_mut().zip(&mut report.files) {
            let made = change.make(state_dir);
            if let Err(reason) = &made {
                change.kind = ChangeKind::Left(reason.clone());
            }
            *file = FileReport::made(change, made.ok().flatten());
        }
    }
}

/// The changes for what is wanted, in the agents that are named or found.
fn to_put_in(
    arguments: &InitOptions,
    project: Option<&Path>,
    state_dir: &Path,
    printer: &Printer,
) -> Result<Vec<AgentChanges>, Failure> {
    let places = surroundings::agent_places()?;
    let named: Vec<&AgentSetup> = arguments
        .agents
        .iter()
        .map(|name| setup_of(name))
        .collect::<Result<_, _>>()?;
    // The file of a project is for others, too, who have bashd elsewhere.
    let program = if project.is_some() {
        "bashd".to_owned()
    } else {
        let program = surroundings::own_program()?.into_os_string().into_string();
        let unusual = "the path of bashd's program is not UTF-8";
        program.map_err(|_| Failure::new(FailureKind::System, unusual))?
    };
    let known = PutIn::all(state_dir);
    let is_meant = |setup: &AgentSetup| match &*named {
        [] => found(setup, &places).is_some(),
        named => named.iter().any(|one| one.name == setup.name),
    };
    let kept = |setup: &AgentSetup| {
        let origin = WishOrigin {
            agent: setup.name.to_owned(),
            project: project.map(Path::to_owned),
        };
        put_in::confinement_of(&known, &origin)
    };
    let are_all_kept = AGENTS
        .iter()
        .filter(|setup| is_meant(setup))
        .all(|setup| kept(setup).is_some());
    let said = said_confinement(arguments, printer, are_all_kept);
    let context = |setup: &AgentSetup| SetupContext {
        places: &places,
        program: &program,
        server: server_words(match said {
            Some(Preset::Off) => None,
            Some(preset) => Some(preset.name().to_owned()),
            None => kept(setup),
        }),
        wants: SetupWants {
            server: !arguments.hook_only,
            hook: arguments.hook || arguments.hook_only,
            no_own_shell: arguments.replace_shell,
        },
        project: project.map(Path::to_owned),
    };
    let one = |setup: &AgentSetup, found: Option<PathBuf>| {
        let context = context(setup);
        let wishes = (setup.wishes)(&context);
        let origin = WishOrigin {
            agent: setup.name.to_owned(),
            project: context.project.clone(),
        };
        let files = wishes.files.iter();
        let changes = files.map(|wish| FileChange::for_wish(&origin, wish, &known));
        AgentChanges {
            name: setup.name.to_owned(),
            title: setup.title,
            found,
            changes: changes.collect(),
            wishes,
            server: context
                .wants
                .server
                .then(|| [&[context.program.to_owned()], &*context.server].concat()),
        }
    };
    if !named.is_empty() {
        let all = named.iter().map(|setup| one(setup, found(setup, &places)));
        return Ok(all.collect());
    }
    let all = AGENTS.iter().filter_map(|setup| {
        let found = found(setup, &places)?;
        Some(one(setup, Some(found)))
    });
    Ok(all.collect())
}

/// The changes for taking out what was put in, of the agents that are named or of all.
fn to_take_out(
    arguments: &InitOptions,
    project: Option<&Path>,
    state_dir: &Path,
) -> Result<Vec<AgentChanges>, Failure> {
    for name in &arguments.agents {
        setup_of(name)?;
    }
    let mut all: Vec<AgentChanges> = Vec::new();
    for put_in in PutIn::all(state_dir) {
        let WishOrigin { agent, project: of } = &put_in.origin;
        let is_meant = arguments.agents.is_empty() || arguments.agents.contains(agent);
        if !is_meant || of.as_deref() != project {
            continue;
        }
        let change = FileChange::to_undo(&put_in);
        match all.last_mut() {
            Some(one) if one.name == *agent => one.changes.push(change),
            _ => all.push(AgentChanges {
                name: agent.clone(),
                title: setup_of(agent).map_or("an agent", |setup| setup.title),
                found: None,
                changes: vec![change],
                wishes: AgentWishes::default(),
                server: None,
            }),
        }
    }
    Ok(all)
}

/// The agents' names on the command line, and for people.
pub(crate) fn agent_names() -> Vec<(String, String)> {
    let named = |setup: &&AgentSetup| (setup.name.to_owned(), setup.title.to_owned());
    AGENTS.iter().map(named).collect()
}

fn setup_of(name: &str) -> Result<&'static AgentSetup, Failure> {
    let setup = AGENTS.iter().find(|setup| setup.name == name).copied();
    setup.ok_or_else(|| {
        let names: Vec<&str> = AGENTS.iter().map(|setup| setup.name).collect();
        Failure::new(FailureKind::Usage, format!("there is no agent `{name}`"))
            .hint(format!("one of: {}", names.join(", ")))
    })
}

/// Where an agent is found: its program, or what it made for itself.
fn found(setup: &AgentSetup, places: &AgentPlaces) -> Option<PathBuf> {
    let path = surroundings::search_path();
    let programs = setup
        .programs
        .iter()
        .flat_map(|program| path.iter().map(move |folder| folder.join(program)));
    programs
        .chain((setup.signs)(places))
        .find(|place| place.exists())
}

/// Agents that are set up, by their titles, and those that are found and are not.
pub(crate) fn set_up_and_not(state_dir: &Path) -> Option<(Vec<&'static str>, Vec<&'static str>)> {
    let places = surroundings::agent_places().ok()?;
    let known = PutIn::all(state_dir);
    let here = AGENTS
        .iter()
        .filter(|setup| found(setup, &places).is_some());
    let (set_up, not): (Vec<_>, Vec<_>) = here.partition(|setup| {
        let is_its = |put_in: &PutIn| put_in.origin.agent == setup.name && put_in.file.exists();
        known.iter().any(is_its)
    });
    let titles =
        |setups: Vec<&&'static AgentSetup>| setups.iter().map(|setup| setup.title).collect();
    Some((titles(set_up), titles(not)))
}

/// Says that there is nothing to do, and where we looked.
fn nothing_found(arguments: &InitOptions, printer: &Printer) -> Result<ExitStatus, Failure> {
    let report = InitReport::default();
    if arguments.uninstall {
        if arguments.json {
            report.show_end(arguments, printer)?;
        } else {
            printer.note("there is nothing to take out: bashd init has put nothing in");
        }
        return Ok(ExitStatus::Success);
    }
    let places = surroundings::agent_places()?;
    if arguments.json {
        report.show_end(arguments, printer)?;
    }
    let mut text = "no agent was found. bashd looked for\n".to_owned();
    for setup in AGENTS {
        let signs: Vec<String> = (setup.signs)(&places)
            .iter()
            .map(|sign| sign.display().to_string())
            .collect();
        let (programs, signs) = (setup.programs.join(" or "), signs.join(" or "));
        text.extend([format!("  {}: {programs} in PATH, {signs}\n", setup.title)]);
    }
    text.push_str("Name an agent to set it up all the same: bashd init AGENT");
    printer.note(&text);
    Ok(ExitStatus::Unfit)
}

/// The words by which an agent starts the server, which confines commands by this preset.
fn server_words(preset: Option<String>) -> Vec<String> {
    let confine = preset.map(|preset| ["--confine".to_owned(), preset]);
    let words = std::iter::once("mcp".to_owned());
    words.chain(confine.into_iter().flatten()).collect()
}

/// What was said about the confinement of commands: a preset, or that there is none. It is asked
/// for if there is somebody to ask, unless all agents have one from earlier. `None` if nothing was
/// said: then an earlier one stays.
fn said_confinement(
    arguments: &InitOptions,
    printer: &Printer,
    are_all_kept: bool,
) -> Option<Preset> {
    let is_said = arguments.confine.is_some() || arguments.hook_only || are_all_kept;
    let asks = !is_said && !arguments.yes && !arguments.print && !arguments.json;
    match arguments.confine {
        Some(said) => Some(Preset::from(said)),
        None if asks && has_person() => {
            printer.note(
                "commands can be confined to the agent's workspace: they write nothing else, see no keys \
                 and have no network (docs/confinement.md)",
            );
            is_answered_yes("Confine them? [y/N] ").then_some(Preset::Workspace)
        }
        None => None,
    }
}

/// Whether there is somebody who sees a question and can answer it.
fn has_person() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question that most answers deny.
fn is_answered_yes(question: &str) -> bool {
    Printer::err(question);
    let mut line = String::new();
    let answer = io::stdin().lock().read_line(&mut line);
    answer.is_ok() && ["y", "yes"].contains(&line.trim().to_lowercase().as_str())
}

/// Whether the changes that were shown may be made.
fn may_write(arguments: &InitOptions, printer: &Printer) -> bool {
    if arguments.yes {
        return true;
    }
    if !has_person() {
        printer.note("nothing was written: there is nobody to ask. Add --yes");
        return false;
    }
    let is_yes = is_answered_yes("Write this? [y/N] ");
    if !is_yes {
        printer.note("nothing was written");
    }
    is_yes
}

/// Starts the server as the entries say, once for each way; tells of the first that fails.
fn try_servers(all: &[AgentChanges], settings: &ConfigInForce) -> Option<report::ServerReport> {
    let mut ways: Vec<&Vec<String>> = Vec::new();
    for words in all.iter().filter_map(|one| one.server.as_ref()) {
        if !ways.contains(&words) {
            ways.push(words);
        }
    }
    let tried = ways.into_iter().map(|words| report::ServerReport {
        command: words.clone(),
        failure: probe::probe(words, settings.config.clone()).err(),
    });
    let mut first = None;
    for report in tried {
        if report.failure.is_some() {
            return Some(report);
        }
        first.get_or_insert(report);
    }
    first
}
