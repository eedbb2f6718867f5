//! Tapes: what a client's session asked and was answered, written down and served again.
//!
//! `recorder` is between a server and its client and writes every message; `script` reads a tape,
//! `player` serves it without an engine, `compare` says whether a message is the expected one.
//! `client` is `bashd tape record|play FILE -- CLIENT…`, which tells servers by variables. A tape
//! is JSON lines: one with the front end, then `{"client": MESSAGE}` and `{"server": MESSAGE}`.

mod client;
mod compare;
mod desk;
mod player;
mod recorder;
mod script;
#[cfg(test)]
mod tests;

use crate::args::TapeOptions;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::settings::ConfigInForce;
use crate::surroundings;
use anyhow::Context;
use bashd::config::env_vars;
pub(crate) use client::tape;
use desk::Desk;
use player::Matching;
pub(crate) use recorder::{TapeRecorder, TapedIn, TapedOut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The version of the format.
const VERSION: u64 = 1;

/// Which protocol a tape has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TapedProtocol {
    Mcp,
    Rpc,
}

impl TapedProtocol {
    fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Rpc => "rpc",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::Mcp, Self::Rpc]
            .into_iter()
            .find(|protocol| protocol.name() == name)
    }
}

/// What a server does with a tape: by its options, or as the variables say.
enum TapeUse {
    Record(PathBuf),
    Play(PathBuf, Matching),
}

/// What this server is to do with a tape, if anything.
fn wanted(options: &TapeOptions) -> Option<(TapeUse, Option<Desk>)> {
    if let Some(file) = &options.tape_record {
        return Some((TapeUse::Record(file.clone()), None));
    }
    if let Some(file) = &options.tape_play {
        let matching = Matching::of(options.tape_match);
        return Some((TapeUse::Play(file.clone(), matching), None));
    }
    let file = |name| surroundings::given(name).map(PathBuf::from);
    let desk = file(env_vars::TAPE_DESK).map(Desk::at);
    let nth = |path: PathBuf| match desk.as_ref().and_then(Desk::take_number) {
        Some(number) => desk::numbered(&path, number),
        None => path,
    };
    if let Some(path) = file(env_vars::TAPE_RECORD) {
        return Some((TapeUse::Record(nth(path)), desk));
    }
    let path = file(env_vars::TAPE_PLAY)?;
    let matching = Matching::of(surroundings::given(env_vars::TAPE_MATCH).is_some());
    Some((TapeUse::Play(nth(path), matching), desk))
}

/// What becomes of a server with these options.
pub(crate) enum TapedServer {
    /// It serves, and what it says may be recorded.
    Serves(Option<Arc<TapeRecorder>>),
    /// A tape was played in its place.
    Played(ExitStatus),
}

/// Opens the tape that is to be recorded, or plays one.
pub(crate) fn begin(
    protocol: TapedProtocol,
    options: &TapeOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<TapedServer, Failure> {
    let unusable = |path: &Path, what: &str| {
        let text = format!("the tape {} can't be {what}", path.display());
        move || text
    };
    match wanted(options) {
        None => Ok(TapedServer::Serves(None)),
        Some((TapeUse::Record(path), _)) => {
            let known = settings.config.secrets.known.clone();
            let recorder = TapeRecorder::create(&path, protocol, known)
                .with_context(unusable(&path, "written"))
                .map_err(|chain| Failure::of(FailureKind::System, chain))?;
            Ok(TapedServer::Serves(Some(Arc::new(recorder))))
        }
        Some((TapeUse::Play(path, matching), desk)) => {
            let script = script::TapeScript::load(&path, protocol)
                .with_context(unusable(&path, "played"))
                .map_err(|chain| Failure::of(FailureKind::Usage, chain))?;
            let known = settings.config.secrets.known.now();
            let problem = player::play(script, matching, &known);
            if let (Some(problem), Some(desk)) = (&problem, &desk) {
                desk.note(problem);
            }
            Ok(TapedServer::Played(match problem {
                None => ExitStatus::Success,
                Some(problem) => {
                    printer.warn(&format!("the tape {}: {problem}", path.display()));
                    ExitStatus::Unfit
                }
            }))
        }
    }
}
