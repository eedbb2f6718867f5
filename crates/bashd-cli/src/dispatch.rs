//! Which front end answers which subcommand.

use crate::args::{ArtifactAction, ConfigAction, ConfineAction, Everywhere, Subcommand};
use crate::artifact;
use crate::exit_status::ExitStatus;
use crate::failure::Failure;
use crate::print::Printer;
use crate::settings::ConfigInForce;
use crate::{
    acp, check, completions, config, confine, console, doctor, grants, hook, init, jobs, log, man,
    mcp, minimize, rpc, rules, run, schema, stats,
};
use bashd::KeeperSource;
use bashd::exec::TerminalGuardian;
use std::io;

/// Processes that were forked before anything else was done.
pub(crate) struct Early {
    /// The keeper of a `run`.
    keeper: Option<KeeperSource>,
    /// The guardian of a console's terminal.
    guardian: Option<io::Result<TerminalGuardian>>,
}

impl Early {
    /// Forks what the command line may need, while there is a single thread.
    pub(crate) fn fork() -> Self {
        Self {
            keeper: run::fork_early(),
            guardian: console::guard_early(),
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
    let settings = || ConfigInForce::load(everywhere, printer);
    match subcommand {
        Subcommand::Run(arguments) => {
            let keeper = early.keeper.unwrap_or_else(run::fork_keeper);
            run::run(keeper, arguments, settings()?, printer)
        }
        Subcommand::Mcp(arguments) => mcp::mcp(arguments, settings()?, printer),
        Subcommand::Check(arguments) => check::check(arguments, &settings()?, printer),
        Subcommand::Rules(arguments) => rules::rules(arguments, &settings()?, printer),
        Subcommand::Acp(arguments) => acp::acp(arguments, settings()?, printer),
        Subcommand::Rpc(arguments) => rpc::rpc(arguments, settings()?, printer),
        Subcommand::Hook(arguments) => Ok(hook::answer_event(arguments, &settings, printer)),
        Subcommand::Init(arguments) => init::init(arguments, settings()?, printer),
        Subcommand::Console(_) => console::console(early.guardian, settings()?, printer),
        Subcommand::Jobs(arguments) => jobs::jobs(arguments, &settings()?, printer),
        Subcommand::Log(arguments) => log::log(arguments, &settings()?, printer),
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
        Subcommand::Grants(arguments) => grants::grants(arguments, &settings()?, printer),
        Subcommand::Confine(ConfineAction::Show(arguments)) => {
            confine::show(arguments, &settings()?, printer)
        }
        Subcommand::Schema(arguments) => schema::schema(arguments, &settings()?, printer),
        Subcommand::Config(ConfigAction::Show(arguments)) => {
            config::show(arguments, &settings()?, printer)
        }
        Subcommand::Config(ConfigAction::Reference) => config::reference(printer),
        Subcommand::Doctor(arguments) => doctor::doctor(arguments, &settings()?, printer),
        Subcommand::Completions { shell } => completions::completions(*shell, printer),
        Subcommand::Man { subcommand } => man::man(subcommand.as_deref(), printer),
    }
}
