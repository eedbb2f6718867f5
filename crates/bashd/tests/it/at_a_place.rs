//! The contracts of the profiles once more, with every call through an outpost on this machine: a
//! place of kind `pipe`.
//!
//! This very test program is started again for the tests of the contracts, and the engines that it
//! makes then have a place, which all requests name. What differs there is a written list,
//! `tests/cases/places/differs.toml`: a case that fails and is not in it fails here, and so does
//! one that is in it and passes.

use bashd::place::{PlaceKind, PlaceSettings};
use bashd_testkit::home::AT_A_PLACE;
use bashd_testkit::{loudly, repeat};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The place's name.
pub(crate) const NAME: &str = "there";

/// The contracts that CI runs through it, and those of a soak run.
const SOME: &[&str] = &["phoenix::", "harness::"];
const ALL: &[&str] = &["phoenix::", "harness::", "voice::"];

/// A case that differs at a place.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Differs {
    case: String,
    #[expect(dead_code, reason = "for whoever reads the list")]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    differs: Vec<Differs>,
}

/// The program whose `outpost` all calls go through, if they do.
pub(crate) fn program() -> Option<String> {
    std::env::var(AT_A_PLACE).ok()
}

/// The place: the same machine, the same directories.
pub(crate) fn settings(program: &str) -> PlaceSettings {
    let command = [program, "outpost", "--idle", "0.05"].map(str::to_owned);
    let kind = PlaceKind::Pipe {
        command: command.to_vec(),
    };
    let mut place = PlaceSettings::new(NAME, kind);
    place.map = vec![("/".into(), "/".into())];
    place
}

/// bashd, which cargo builds beside the tests' programs if the whole workspace is tested.
fn bashd() -> Option<PathBuf> {
    let own = std::env::current_exe().expect("this program has a path");
    let program = own.parent()?.parent()?.join("bashd");
    program.is_file().then_some(program)
}

/// How each test of these modules ended, by its name.
fn ran(bashd: &Path, modules: &[&str]) -> BTreeMap<String, bool> {
    let own = std::env::current_exe().expect("this program has a path");
    let output = Command::new(own)
        .args(modules)
        .args(["--test-threads=1", "--skip", "at_a_place"])
        .env(AT_A_PLACE, bashd)
        .stdin(Stdio::null())
        .output()
        .expect("this program can be started again");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if std::env::var_os("BASHD_TEST_SHOW").is_some() {
        loudly(&text);
        loudly(&String::from_utf8_lossy(&output.stderr));
    }
    let ends = text.lines().filter_map(|line| {
        let (name, end) = line.strip_prefix("test ")?.split_once(" ... ")?;
        Some((name.to_owned(), end == "ok"))
    });
    ends.collect()
}

#[test]
fn the_contracts_hold_at_a_place_but_for_a_written_list() {
    let Some(bashd) = bashd() else {
        loudly("bashd is not built: the contracts are NOT tried through a place");
        return;
    };
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/places/differs.toml");
    let list = fs::read_to_string(list).expect("the list");
    let list: List = toml::from_str(&list).expect("the list");
    let listed: BTreeSet<String> = (list.differs.into_iter())
        .map(|differs| differs.case)
        .collect();
    let modules = if repeat::is_soak() { ALL } else { SOME };
    let ended = ran(&bashd, modules);
    assert!(ended.len() > 15, "only {} tests ran", ended.len());
    let mut wrong = Vec::new();
    for (name, is_ok) in &ended {
        match (is_ok, listed.contains(name)) {
            (false, false) => wrong.push(format!("{name}: differs")),
            (true, true) => wrong.push(format!("{name}: does not differ any more")),
            _ => {}
        }
    }
    if repeat::is_soak() {
        let gone = listed.iter().filter(|name| !ended.contains_key(*name));
        wrong.extend(gone.map(|name| format!("{name}: there is no such case")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
