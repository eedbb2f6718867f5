//! Which front end answers which subcommand.

use crate::args::{ArtifactAction, ConfigAction, ConfineAction, Everywhere, Subcommand};
use crate::artifact;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::settings::ConfigInForce;
use crate::{
    acp, changes, check, complete, completions, config, confine, console, doctor, grants, hook,
    init, jobs, log, man, map, mcp, minimize, outpost, places, profiles, recording, rpc, rules,
    run, schema, stats, tape, terminal, top,
};
use bashd::KeeperSource;
use bashd::changes::Effects;
use bashd::exec::TerminalGuardian;
use std::io;

/// Processes that were forked before anything else was done.
pub(crate) struct Early {
    /// The keeper of a `run`.
    keeper: Option<KeeperSource>,
    /// The guardian of a terminal that will be taken.
    guardian: Option<io::Result<TerminalGuardian>>,
}

impl Early {
    /// Forks what the command line may need, while there is a single thread.
    pub(crate) fn fork() -> Self {
        Self {
            keeper: run::fork_early(),
            guardian: console::guard_early().or_else(terminal::guard_early),
        }
    }
}

/// Runs the front end that was asked for. Only those that need the configuration read it, and only
/// `run` needs the keeper.
pub(crate) fn dispatch(
    subcommand: &Subcommand,
    everywhere: &Everywhere,
    printer: &Printer,
    early: Early,
) -> Result<ExitStatus, Failure> {
    confine::refuse_inside(subcommand)?;
    let settings = || ConfigInForce::load(everywhere, printer);
    let Early { keeper, guardian } = early;
    match subcommand {
        Subcommand::Run(arguments) => {
            let keeper = keeper.unwrap_or_else(run::fork_keeper);
            let effects = arguments.effects.map(Into::into);
            run::run(keeper, (arguments, effects), settings()?, printer)
        }
        Subcommand::Try(arguments) => {
            if arguments.run.effects.is_some() {
                let text = "`bashd try` always holds what the command does to files";
                let hint = "--effects is for `bashd run`";
                return Err(Failure::new(FailureKind::Usage, text).hint(hint));
            }
            let keeper = keeper.unwrap_or_else(run::fork_keeper);
            let effects = Some(Effects::Hold);
            run::run(keeper, (&arguments.run, effects), settings()?, printer)
        }
        Subcommand::Map(arguments) => map::map(arguments, settings()?, printer),
        Subcommand::Changes(arguments) => changes::changes(arguments, &settings()?, printer),
        Subcommand::Undo(arguments) => changes::undo(arguments, &settings()?, printer),
        Subcommand::Mcp(arguments) => mcp::mcp(arguments, settings()?, printer),
        Subcommand::Check(arguments) => check::check(arguments, &settings()?, printer),
        Subcommand::Rules(arguments) => rules::rules(arguments, &settings()?, printer),
        Subcommand::Acp(arguments) => acp::acp(arguments, settings()?, printer),
        Subcommand::Rpc(arguments) => rpc::rpc(arguments, settings()?, printer),
        Subcommand::Hook(arguments) => Ok(hook::answer_event(arguments, &settings, printer)),
        Subcommand::Init(arguments) => init::init(arguments, &settings()?, printer),
        Subcommand::Console(args) => {
            let look = console::ConsoleLook::of(args.plain, printer);
            let mut settings = settings()?;
            settings.run_all_at(args.on.as_deref())?;
            console::console(guardian, settings, look)
        }
        Subcommand::Top(arguments) => top::top(arguments, guardian, &settings()?, printer),
        #[cfg(feature = "web")]
        Subcommand::Web(arguments) => crate::web::web(arguments, &settings()?, printer),
        Subcommand::Jobs(arguments) => jobs::jobs(arguments, &settings()?, printer),
        Subcommand::Log(arguments) => log::log(arguments, &settings()?, printer),
        Subcommand::Replay(arguments) => recording::replay(arguments, &settings()?, printer),
        Subcommand::Export(arguments) => recording::export(arguments, &settings()?, printer),
        Subcommand::Tape(action) => tape::tape(action, printer),
        Subcommand::Minimize(arguments) => minimize::minimize(arguments, &settings()?, printer),
        Subcommand::Stats(arguments) => stats::stats(arguments, &settings()?, printer),
        Subcommand::Artifact(ArtifactAction::List(arguments)) => {
            artifact::list(arguments, &settings()?, printer)
        }
        Subcommand::Artifact(ArtifactAction::Read(arguments)) => {
            artifact::read(arguments, &settings()?, printer)
        }
        Subcommand::Artifact(ArtifactAction::Rm(arguments)) => {
            artifact::remove(arguments, &settings()?, printer)
        }
        Subcommand::Places(arguments) => places::places(arguments, settings()?, printer),
        Subcommand::Grants(arguments) => grants::grants(arguments, &settings()?, printer),
        Subcommand::Confine(ConfineAction::Show(arguments)) => {
            confine::show(arguments, &settings()?, printer)
        }
        Subcommand::Profiles(arguments) => profiles::profiles(arguments, &settings()?, printer),
        Subcommand::Schema(arguments) => schema::schema(arguments, &settings()?, printer),
        Subcommand::Config(ConfigAction::Show(arguments)) => {
            config::show(arguments, &settings()?, printer)
        }
        Subcommand::Config(ConfigAction::Edit { .. }) => config::edit(everywhere, printer),
        Subcommand::Config(ConfigAction::Path { .. }) => config::path(everywhere, printer),
        Subcommand::Config(ConfigAction::Reference) => config::reference(printer),
        Subcommand::Doctor(arguments) => match settings() {
            Ok(settings) => doctor::doctor(arguments, &settings, printer),
            Err(failure) => doctor::without_configuration(arguments, &failure, printer),
        },
        Subcommand::Outpost(arguments) => outpost::outpost(arguments),
        Subcommand::Completions { shell } => completions::completions(*shell, printer),
        Subcommand::Complete { words } => complete::complete(words, &settings()?, printer),
        Subcommand::Man { subcommand } => man::man(subcommand, printer),
    }
}
