//! The scripts of the oracle (`crates/bashd/tests/cases/oracle/`) at a place of kind `pipe`: the
//! same replies and files as here, where plain bash is the oracle.

use bashd::place::{PlaceKind, PlaceSettings};
use bashd::{Config, Engine, KeeperSource, Reply, Request, Surroundings};
use bashd_testkit::cases::{self, OracleCase};
use bashd_testkit::{Home, repeat};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What is no other thing at another place, but another number.
const VOLATILE: &[&str] = &["place", "wall_ms", "artifact", "left_behind"];

/// The fields of a reply that say what a script did.
fn told(reply: &Reply) -> Value {
    let mut told = serde_json::to_value(reply).unwrap();
    let fields = told.as_object_mut().unwrap();
    for name in VOLATILE {
        fields.remove(*name);
    }
    told
}

/// Everything that a script left in its directory.
fn files(directory: &Path) -> String {
    let script = "find . -mindepth 1 -printf '%y %m %P %l\\n' | sort; \
        find . -type f | sort | xargs -d '\\n' -r sha256sum";
    let listed = Command::new("sh")
        .args(["-c", script])
        .current_dir(directory)
        .output();
    String::from_utf8_lossy(&listed.unwrap().stdout).into_owned()
}

/// Runs a script in a directory of its own.
async fn done(engine: &Engine, case: &OracleCase, cwd: &Path, on: Option<&str>) -> (Value, String) {
    if cwd.exists() {
        fs::remove_dir_all(cwd).unwrap();
    }
    fs::create_dir(cwd).unwrap();
    let mut request = Request::new(&case.script).profile("harness").cwd(cwd);
    if let Some(text) = &case.stdin {
        request = request.stdin(text.clone().into_bytes());
    }
    if let Some(place) = on {
        request = request.on(place);
    }
    let reply = engine.run(request).await;
    (told(&reply), files(cwd))
}

#[test]
fn scripts_behave_at_a_place_as_they_do_here() {
    let home = Home::new().keeping_in_state(&["outpost", "runs"]);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bashd/tests/cases/oracle");
    let cases: Vec<(String, OracleCase)> = cases::load(&corpus);
    assert!(cases.len() >= 150, "only {} cases", cases.len());
    let command = [env!("CARGO_BIN_EXE_bashd"), "outpost", "--idle", "0.3"];
    let command = command.map(str::to_owned).to_vec();
    let mut place = PlaceSettings::new("there", PlaceKind::Pipe { command });
    place.map = vec![("/".into(), "/".into())];
    let mut config = Config::new(home.state());
    config.places = vec![place];
    config.guard_default = false;
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let cwd = home.workspace().join("case");
    let mut differences = Vec::new();
    runtime.unwrap().block_on(async {
        let engine = Engine::new(config, surroundings, KeeperSource::Hook).unwrap();
        // All of them in a soak run, and one in three otherwise.
        let step = if repeat::is_soak() { 1 } else { 3 };
        for (id, case) in cases.iter().step_by(step) {
            let here = done(&engine, case, &cwd, None).await;
            let there = done(&engine, case, &cwd, Some("there")).await;
            if here != there {
                differences.push(format!("{id}\n  here  {here:?}\n  there {there:?}"));
            }
        }
    });
    super::end_outposts(&home);
    let (count, all) = (differences.len(), cases.len());
    differences.truncate(10);
    assert!(
        count == 0,
        "{count} of {all} differ:\n{}",
        differences.join("\n")
    );
}
