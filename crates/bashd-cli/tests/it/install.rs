//! What `./dist` builds, installed into an empty root by a script that anybody can run
//! (`tests/install/install.py`): the quick ways always, every way with `./test --with install`.

use bashd_testkit::{loudly, sources};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The script's status where it can't be tried.
const NOT_HERE: i32 = 77;

/// Names packages that `./dist` has built before, so that they are not built again.
const BUILT: &str = "BASHD_TEST_PACKAGES";

fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(err)
    )
}

/// Runs `./dist`, which builds packages into a directory. Says what it could not build.
fn dist(out: &Path, options: &[&str]) {
    let done = Command::new(sources::root().join("dist"))
        .args(options)
        .arg("--out")
        .arg(out)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", text(&done));
    say_what_was_not_done(&done);
}

/// What the scripts say of it, a line each, beside what they did.
fn say_what_was_not_done(done: &Output) {
    let said = String::from_utf8_lossy(&done.stderr);
    for line in said
        .lines()
        .filter(|line| line.contains("NOT built: ") || line.contains("NOT tried: "))
    {
        loudly(line.trim_start_matches(['*', ' ']));
    }
}

/// Installs from there, as these options say. Nothing where it can't be tried.
fn installed(packages: &Path, options: &[&str]) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install/install.py");
    let done = Command::new("python3")
        .arg(script)
        .arg("--packages")
        .arg(packages)
        .args(options)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    if done.status.code() == Some(NOT_HERE) {
        let why = String::from_utf8_lossy(&done.stderr).trim_end().to_owned();
        loudly(&format!("installing is NOT tried: {why}"));
        return None;
    }
    assert!(done.status.success(), "{}", text(&done));
    say_what_was_not_done(&done);
    Some(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn has(program: &str) -> bool {
    let tried = Command::new(program).arg("--version").output();
    let is_there = tried.is_ok_and(|output| output.status.success());
    if !is_there {
        loudly(&format!("installing is NOT tried: there is no {program}"));
    }
    is_there
}

#[test]
fn installer_archive_and_debian_package_run_in_an_empty_root() {
    if !["python3", "dpkg-deb", "strip"].into_iter().all(has) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    // What the compiler tells debuggers is most of it, and is not what is packed.
    let program = place.path().join("bashd");
    let stripped = Command::new("strip")
        .arg("-o")
        .arg(&program)
        .arg(env!("CARGO_BIN_EXE_bashd"))
        .status();
    assert!(stripped.unwrap().success());
    let packages = place.path().join("packages");
    let program = program.to_str().unwrap();
    let kinds = ["--only", "archive", "--only", "deb"];
    dist(&packages, &[&["--program", program], &kinds[..]].concat());
    let Some(table) = installed(&packages, &["--smoke", program]) else {
        return;
    };
    assert_eq!(table.lines().count(), 4, "{table}");
    sums_are_right(&packages);
    bill_is_complete(&packages);
}

/// Every file is in `SHA256SUMS`, with its hash.
fn sums_are_right(packages: &Path) {
    let checked = Command::new("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(packages)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", text(&checked));
    assert_eq!(text(&checked).lines().count(), files_below(packages) - 1);
}

fn files_below(folder: &Path) -> usize {
    let found = fs::read_dir(folder).unwrap().map(|one| one.unwrap().path());
    let count = |path: PathBuf| if path.is_dir() { files_below(&path) } else { 1 };
    found.map(count).sum()
}

/// The bill of materials has the program, what it links with a hash each, and no test's crate.
fn bill_is_complete(packages: &Path) {
    let version = env!("CARGO_PKG_VERSION");
    let bill = packages.join(format!("bashd-{version}.cdx.json"));
    let bill: serde_json::Value = serde_json::from_slice(&fs::read(bill).unwrap()).unwrap();
    assert_eq!(bill["metadata"]["component"]["name"], "bashd-cli");
    let components = bill["components"].as_array().unwrap();
    let named = |name: &str| components.iter().find(|one| one["name"] == name);
    for linked in ["bashd", "bashd-keeper", "tokio", "rmcp", "tree-sitter-bash"] {
        let found = named(linked).unwrap_or_else(|| panic!("the bill lacks {linked}"));
        assert_eq!(found["scope"], "required");
        let is_ours = linked.starts_with("bashd");
        assert_eq!(found["hashes"].is_array(), !is_ours, "{found}");
        assert!(found["licenses"].is_array(), "{found}");
    }
    assert!(named("proptest").is_none() && named("bashd-testkit").is_none());
}

#[test]
fn every_way_to_install_works_in_an_empty_root() {
    // Sets of packages that take minutes to build are made only when they are asked for.
    if std::env::var_os("BASHD_TEST_INSTALL").is_none() {
        loudly(
            "pip, uvx, npx, cargo and a whole Debian are NOT installed into: ./test --with install",
        );
        return;
    }
    let cache: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../install");
    fs::create_dir_all(&cache).unwrap();
    let packages = if let Some(built) = std::env::var_os(BUILT) {
        sources::root().join(built)
    } else {
        let packages = cache.join("packages");
        dist(&packages, &["--fast", "--partial"]);
        packages
    };
    sums_are_right(&packages);
    let cache = cache.to_str().unwrap();
    if let Some(table) = installed(&packages, &["--cache", cache]) {
        loudly(&table);
    }
}
