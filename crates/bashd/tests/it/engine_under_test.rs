//! An engine in a hermetic home, and a run of it with all its bytes. No tests here.

use crate::at_a_place;
use bashd::KeeperSource;
use bashd::config::{Config, Surroundings};
use bashd::exec::Exit;
use bashd::output::{Source, StreamPiece};
use bashd::plan::Streams;
use bashd::{Engine, Request};
use bashd_testkit::Home;
use std::path::Path;

/// What a run wrote, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) exit: Exit,
}

/// An engine whose state and surroundings are those of `home`.
pub(crate) fn engine(home: &Home) -> Engine {
    engine_with(home, |_| {})
}

/// The same, where every call has a shell of its own whatever the profile says.
pub(crate) fn engine_without_sessions(home: &Home) -> Engine {
    engine_with(home, |config| config.sessions.most = 0)
}

/// The same, configured.
pub(crate) fn engine_with(home: &Home, configure: impl FnOnce(&mut Config)) -> Engine {
    let mut config = Config::new(home.state());
    configure(&mut config);
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    engine_of(config, surroundings)
}

/// The same, in surroundings of one's own. Where all calls are to go through a place, it has one.
pub(crate) fn engine_of(mut config: Config, surroundings: Surroundings) -> Engine {
    if let Some(program) = at_a_place::program() {
        config.places.push(at_a_place::settings(&program));
    }
    Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine")
}

/// Runs `script` with separate streams in `cwd`, before any reply mapping.
///
/// The profile is `phoenix` because its document says `bash -c` and it adds nothing to the
/// environment.
pub(crate) async fn run_apart(
    engine: &Engine,
    script: String,
    stdin: Option<Vec<u8>>,
    cwd: &Path,
) -> Ran {
    let mut request = Request::new(script).profile("phoenix").cwd(cwd);
    if let Some(bytes) = stdin {
        request = request.stdin(bytes);
    }
    let run = engine
        .run_unjudged(&request, Streams::Apart)
        .await
        .expect("a run");
    Ran {
        stdout: bytes(&run.out),
        stderr: bytes(run.err.as_ref().expect("stderr is apart")),
        exit: run.exit,
    }
}

/// All bytes of a stream, which must be there.
pub(crate) fn bytes(source: &impl Source) -> Vec<u8> {
    let pieces = source.read(0..source.len()).expect("a readable stream");
    let kept = pieces.into_iter().map(|piece| match piece {
        StreamPiece::Kept(bytes) => bytes,
        StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => {
            panic!("{count} bytes were dropped")
        }
    });
    kept.collect::<Vec<_>>().concat()
}
