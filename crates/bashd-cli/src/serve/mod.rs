//! What every server has in common: its options, its engine, its runtime, and the end by signal.
//!
//! A server is an engine that lives on: the fork server of its keepers runs before the first
//! request is read. Here nothing speaks a protocol; that is what `mcp`, `rpc` and `acp` do.
//! `asking` is who is asked for approval, `lines` is the way that messages come and go, where they
//! are lines.

pub(crate) mod asking;
pub(crate) mod lines;

pub(crate) mod stdio;

use crate::args::Serving;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, Kind};
use crate::print::{Paint, Printer};
use crate::runtime;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::surroundings;
use bashd::profile::schema;
use bashd::{Call, CancellationToken, Engine, KeeperSource, Profile, Request, request};
use serde_json::Value;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long nobody has asked for anything when memory is given back.
const QUIET: Duration = Duration::from_millis(500);

/// What a server stands on.
#[derive(Clone)]
pub(crate) struct Server {
    /// Runs the calls.
    pub(crate) engine: Engine,
    /// The contract that this server's tools keep.
    pub(crate) profile: Arc<Profile>,
    /// Where calls run that name no directory.
    pub(crate) cwd: PathBuf,
    /// What every call has unless it says otherwise.
    pub(crate) defaults: Request,
}

impl Server {
    /// An engine that is ready, and what the command line says about its calls.
    pub(crate) fn start(options: &Serving, settings: Settings) -> Result<Self, Failure> {
        let name = options.profile.as_ref().unwrap_or(&settings.config.profile);
        let profile = settings.profile(name)?;
        let mut surroundings = surroundings::for_commands(options.cwd.as_deref())?;
        if let Some(cwd) = &options.cwd {
            surroundings.cwd =
                std::path::absolute(surroundings.cwd.join(cwd)).map_err(|error| {
                    let message = format!("{} can't be resolved: {error}", cwd.display());
                    Failure::new(Kind::Usage, message)
                })?;
        }
        let mut defaults = Request::new("").profile(&profile.name);
        options.judging.apply_to(&mut defaults);
        defaults.session.clone_from(&options.session);
        check(
            &defaults,
            &profile,
            options.cwd.is_some().then_some(&surroundings.cwd),
        )?;
        let cwd = surroundings.cwd.clone();
        let engine = Engine::new(settings.config, surroundings, KeeperSource::Hook)?;
        Ok(Self {
            engine,
            profile,
            cwd,
            defaults,
        })
    }

    /// Says which front end this is: its jobs are of this name and user.
    pub(crate) fn set_front_end(&mut self, name: &str) {
        let user = rustix::process::getuid().as_raw();
        let session = self.defaults.session.clone();
        self.defaults.owner = session.or_else(|| Some(format!("{name}:{user}")));
    }

    /// Whose the jobs of this server's calls are.
    pub(crate) fn owner(&self) -> &str {
        self.defaults.owner.as_deref().unwrap_or_default()
    }

    /// A call with a model's arguments, in the profile's spelling.
    pub(crate) fn call(&self, arguments: String) -> Call {
        Call::json(arguments, self.defaults.clone())
    }

    /// The profile's tool: `name`, `description`, `input_schema`.
    pub(crate) fn tool(&self) -> Value {
        let pwd = self.cwd.to_string_lossy();
        schema::definition(&self.profile, &pwd, self.engine.config())
    }
}

/// Refuses what would make every call fail: better now than one by one.
fn check(defaults: &Request, profile: &Profile, cwd: Option<&PathBuf>) -> Result<(), Failure> {
    if let Some(cwd) = cwd.filter(|cwd| !cwd.is_dir()) {
        let message = format!("{} is not a directory", cwd.display());
        return Err(Failure::new(Kind::Usage, message));
    }
    let mut harmless = defaults.clone();
    "true".clone_into(&mut harmless.command);
    match request::validate(profile, &harmless) {
        Ok(_) => Ok(()),
        Err(refusal) => Err(Failure::new(Kind::Usage, refusal.detail)),
    }
}

/// Tells a person who started a server by hand whom it waits for.
pub(crate) fn greet(printer: &Printer, whom: &str, page: &str) {
    if io::stdin().is_terminal() {
        let text = format!("waiting for {whom} on stdin; end with Ctrl-D ({page})");
        printer.remark(Paint::Hint, "bashd:", &text);
    }
}

/// Serves until the future is done, or a signal ends it: then the token is cancelled, and whoever
/// serves comes to an end. What busy times needed is given back in quiet ones.
pub(crate) fn until_done<T, F>(
    engine: &Engine,
    serve: impl FnOnce(CancellationToken) -> F,
) -> Result<(T, Option<ExitStatus>), Failure>
where
    F: Future<Output = T>,
{
    let failed = |error: std::io::Error| Failure::of(Kind::System, error.into());
    let runtime = runtime::build().map_err(failed)?;
    let ended = runtime.block_on(async {
        let token = CancellationToken::new();
        let signals = Signals::listen()?;
        let engine = engine.clone();
        tokio::spawn(async move { engine.tidy_up(QUIET).await });
        Ok(signals.heed(&token, serve(token.clone())).await)
    });
    // Whatever still reads stdin in a thread of the runtime must not hold up the end.
    runtime.shutdown_background();
    ended.map_err(failed)
}
