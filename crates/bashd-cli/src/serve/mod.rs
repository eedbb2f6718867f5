//! What every server has in common: its options, its engine, its runtime, and the end by signal.
//!
//! A server is an engine that stays alive: the fork server of its keepers runs before the first
//! request is read. Nothing here speaks a protocol; `mcp`, `rpc` and `acp` do that. `client` is
//! whom it serves, `asking` finds whom to ask for approval, `lines` reads and writes messages that
//! are lines, `id_scan` finds the id of what can't be read, `fair_turns` says whose turn it is,
//! `stored` reads stored output, `field_type` describes fields of replies. `door`
//! and `token` say who may come in by HTTP, `own_socket` is a socket for one user.

pub(crate) mod asking;
pub(crate) mod client;
pub(crate) mod door;
pub(crate) mod fair_turns;
pub(crate) mod field_type;
pub(crate) mod id_scan;
pub(crate) mod lines;
pub(crate) mod own_socket;
mod spans;
pub(crate) mod stdio;
pub(crate) mod stored;
pub(crate) mod token;

use crate::args::Serving;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::{Paint, Printer};
use crate::rules;
use crate::runtime;
use crate::settings::ConfigInForce;
use crate::signals::Signals;
use crate::surroundings;
use bashd::jobs::{ClientEntry, Clients};
use bashd::plan::SHARED_PREFIX;
use bashd::profile::offered::OfferedTool;
use bashd::profile::rules::ArtifactsWhen;
use bashd::profile::schema;
use bashd::request::OnTimeout;
use bashd::{Call, CancellationToken, Engine, KeeperSource, Profile, Request, request};
use client::JobsBegun;
use serde_json::{Value, json};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long a server is idle before it gives memory back.
const QUIET: Duration = Duration::from_millis(500);

/// Commands that run at once, for all clients of a server together; each has about four descriptors
/// here. Further ones wait for their turn.
pub(crate) const RUN_AT_ONCE: usize = 128;

/// What every server needs.
#[derive(Clone)]
pub(crate) struct ServerBase {
    _spans: spans::ServerSpans,
    /// Runs the calls.
    pub(crate) engine: Engine,
    /// The contract of this server's tools.
    pub(crate) profile: Arc<Profile>,
    /// All its tools, the one that runs its commands first.
    pub(crate) tools: Arc<[OfferedTool]>,
    /// The directory of calls that name none.
    pub(crate) cwd: PathBuf,
    /// The defaults of every call.
    pub(crate) defaults: Request,
    /// The clients that are connected.
    clients: Clients,
    /// The owner of all calls, if they share one session.
    shared: Option<Arc<ClientEntry>>,
    /// Whether the client has had a job.
    pub(crate) jobs_begun: Arc<JobsBegun>,
}

impl ServerBase {
    /// Starts an engine for a front end, and reads the options for its calls.
    pub(crate) fn start(
        front_end: &str,
        options: &Serving,
        mut settings: ConfigInForce,
        printer: &Printer,
    ) -> Result<Self, Failure> {
        let name = options.profile.as_ref().unwrap_or(&settings.config.profile);
        let profile = settings.profile(name)?;
        rules::say_if_there_are_none(&settings, name, printer);
        let mut surroundings = surroundings::for_commands(options.cwd.as_deref())?;
        if let Some(cwd) = &options.cwd {
            surroundings.cwd =
                std::path::absolute(surroundings.cwd.join(cwd)).map_err(|error| {
                    let message = format!("{} can't be resolved: {error}", cwd.display());
                    Failure::new(FailureKind::Usage, message)
                })?;
        }
        let mut defaults = Request::new("").profile(&profile.name);
        options.judging.apply_to(&mut defaults);
        // For all calls of this server, also those in sessions.
        if let Some(preset) = defaults.confine.take() {
            settings.config.confinement.preset = Some(preset);
        }
        settings.run_all_at(options.on.as_deref())?;
        if let Some(mode) = options.effects {
            settings.config.effects.mode = mode.into();
        }
        defaults.session.clone_from(&options.session);
        // Counts for a model's calls, in profiles that leave the choice to the caller.
        defaults.on_timeout = Some(OnTimeout::Background);
        check(
            &defaults,
            &profile,
            options.cwd.is_some().then_some(&surroundings.cwd),
        )?;
        let cwd = surroundings.cwd.clone();
        let spans = spans::ServerSpans::start(&mut settings.config)?;
        let engine = Engine::new(settings.config, surroundings, KeeperSource::Hook)?;
        let tools = engine.tools(&profile, &cwd.to_string_lossy())?.into();
        let clients = Clients::of(engine.config(), front_end);
        let session = defaults.session.as_deref();
        let shared = session.filter(|name| name.starts_with(SHARED_PREFIX));
        let shared = shared.map(|name| Arc::new(clients.admit_as(name, &cwd)));
        Ok(Self {
            _spans: spans,
            engine,
            profile,
            tools,
            cwd,
            defaults,
            clients,
            shared,
            jobs_begun: Arc::default(),
        })
    }

    /// The owner of this server's jobs.
    pub(crate) fn owner(&self) -> &str {
        self.defaults.owner.as_deref().unwrap_or_default()
    }

    /// What a call of this client begins with.
    pub(crate) fn request(&self) -> Request {
        // Somebody may have removed what shows that it is there.
        self.clients.show(self.owner());
        self.defaults.clone()
    }

    /// A call with a model's arguments, in the profile's spelling.
    pub(crate) fn call(&self, arguments: String) -> Call {
        Call::json(arguments, self.request())
    }

    /// The tool of the profile that a name means.
    pub(crate) fn tool_named(&self, name: &str) -> Option<&OfferedTool> {
        let mut tools = self.tools.iter();
        tools.find(|tool| tool.names.iter().any(|known| known == name))
    }

    /// All tools of a profile.
    pub(crate) fn tools_of(&self, profile: &Profile) -> bashd::Result<Vec<OfferedTool>> {
        let pwd = self.cwd.to_string_lossy();
        self.engine.tools(profile, &pwd)
    }

    /// Whether a profile's output is stored, so that clients can read it. Where texts name the file
    /// with it, they need no tool for that.
    pub(crate) fn stores_output(profile: &Profile) -> bool {
        let output = &profile.output;
        output.artifacts != ArtifactsWhen::Never && !output.names_path()
    }

    /// Every tool that a model has with this profile, each with the request by which it is called.
    pub(crate) fn requests_of(&self, profile: &Profile) -> bashd::Result<Vec<Value>> {
        let called_by = |mut tool: Value, request: &str| {
            tool["request"] = json!(request);
            tool
        };
        let own = self.tools_of(profile)?.into_iter();
        let own = own.map(|tool| called_by(tool.definition, "call"));
        let mut tools: Vec<Value> = own.collect();
        let job = schema::job_definition(profile, self.engine.config());
        tools.extend(job.map(|job| called_by(job, "job")));
        if Self::stores_output(profile) {
            let artifact = json!({
                "name": stored::NAME,
                "description": stored::DESCRIPTION,
                "input_schema": stored::input(),
            });
            tools.push(called_by(artifact, "artifact"));
        }
        Ok(tools)
    }
}

/// Says what the people who run a server should know, when it happens.
pub(crate) fn say_warnings(engine: &Engine, printer: &Printer) {
    let (engine, printer) = (engine.clone(), printer.clone());
    tokio::spawn(async move {
        loop {
            for warning in engine.next_warnings().await {
                printer.warn(&warning);
            }
        }
    });
}

/// Refuses options that would make every call fail: better now than one by one.
fn check(defaults: &Request, profile: &Profile, cwd: Option<&PathBuf>) -> Result<(), Failure> {
    if let Some(cwd) = cwd.filter(|cwd| !cwd.is_dir()) {
        let message = format!("{} is not a directory", cwd.display());
        return Err(Failure::new(FailureKind::Usage, message));
    }
    let mut harmless = defaults.clone();
    "true".clone_into(&mut harmless.command);
    match request::validate(profile, &harmless) {
        Ok(_) => Ok(()),
        Err(refusal) => Err(Failure::new(FailureKind::Usage, refusal.detail)),
    }
}

/// Tells a person who started a server by hand whom it waits for.
pub(crate) fn greet(printer: &Printer, whom: &str, page: &str) {
    if io::stdin().is_terminal() {
        let text = format!("waiting for {whom} on stdin; end with Ctrl-D ({page})");
        printer.remark(Paint::Hint, "bashd:", &text);
    }
}

/// Serves until the future is done. A signal cancels the token, which ends the future. Memory of
/// busy times is given back in idle ones.
pub(crate) fn until_done<T, F>(
    engine: &Engine,
    serve: impl FnOnce(CancellationToken) -> F,
) -> Result<(T, Option<ExitStatus>), Failure>
where
    F: Future<Output = T>,
{
    let failed = |error: std::io::Error| Failure::of(FailureKind::System, error.into());
    let runtime = runtime::build().map_err(failed)?;
    let ended = runtime.block_on(async {
        bashd::serve_from_here();
        let token = CancellationToken::new();
        let signals = Signals::listen()?;
        let (engine, leaving) = (engine.clone(), engine.clone());
        tokio::spawn(async move { engine.tidy_up(QUIET).await });
        let ended = signals.heed(&token, serve(token.clone())).await;
        leaving.leave_places().await;
        Ok(ended)
    });
    // A thread of the runtime that still reads stdin must not delay the end.
    runtime.shutdown_background();
    ended.map_err(failed)
}
