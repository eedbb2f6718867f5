//! The SDKs in `sdk/`: their own tests, their READMEs' programs, their packages, the frameworks.
//!
//! `tests/peers/install` installs the frameworks and compilers; without them these tests say so,
//! and show less.

use crate::mcp::{in_home, node, packages};
use bashd_testkit::{Home, loudly, sources};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const BASHD: &str = env!("CARGO_BIN_EXE_bashd");

/// What the tests of both SDKs ask about.
const ASKING: &str = "[[rules]]\nname = 'ask-touch'\ncommand = 'touch'\ndecision = 'ask'\nmessage = 'May it touch?'\n";

fn sdk() -> PathBuf {
    sources::root().join("sdk")
}

/// A model that says what a script says.
fn model() -> PathBuf {
    sources::root().join("crates/bashd-cli/tests/agents/model.py")
}

fn home() -> Home {
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    fs::write(home.config().join("config.toml"), ASKING).unwrap();
    home
}

/// A program that uses the Python sources.
fn python(program: &Path, home: &Home) -> Command {
    let mut python = in_home(program, home);
    python
        .env("BASHD", BASHD)
        .env("PYTHONPATH", sdk().join("python/src"))
        // Nothing is written beside the sources.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("MODEL", model());
    python
}

fn installed(name: &str, what: &str) -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../peers");
    if !place.join(format!("{name}.installed")).exists() {
        loudly(&format!("{what} NOT tested here: not installed"));
        return None;
    }
    Some(place.join(name).canonicalize().unwrap())
}

/// Python with the frameworks.
fn frameworks() -> Option<PathBuf> {
    let place = installed("frameworks", "our tools in Python's frameworks are")?;
    Some(place.join("bin/python"))
}

/// The compiler and the frameworks for TypeScript.
fn modules() -> Option<PathBuf> {
    let place = installed("sdk", "the npm package and the SDKs' types are")?;
    Some(place.join("node_modules"))
}

/// Runs it; shows what it printed if it failed.
fn succeeds(mut command: Command) -> String {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{told}\n{complaints}");
    told
}

fn python_test(file: &str) {
    let home = home();
    let mut tests = python(Path::new("python3"), &home);
    tests.arg(sdk().join("python/tests").join(file));
    succeeds(tests);
}

#[test]
fn the_python_client_runs_streams_waits_and_asks() {
    python_test("test_client.py");
}

#[test]
fn the_python_client_says_what_is_wrong() {
    python_test("test_faults.py");
}

#[test]
fn every_program_of_the_python_readme_does_what_it_says() {
    let home = home();
    let mut readme = python(Path::new("python3"), &home);
    readme.arg(sdk().join("python/tests/readme.py"));
    readme.arg(sdk().join("python/README.md"));
    let told = succeeds({
        readme.args(["python", "python3"]);
        readme
    });
    assert_eq!(told, "6 programs\n");
}

fn in_framework(name: &str) {
    let Some(with_frameworks) = frameworks() else {
        return;
    };
    let home = home();
    let mut tests = python(&with_frameworks, &home);
    tests
        .arg(sdk().join("python/tests/frameworks.py"))
        .arg(name);
    assert_eq!(succeeds(tests), "ok\n");
}

#[test]
fn the_openai_agents_sdk_uses_the_tools() {
    in_framework("agents");
}

#[test]
fn langchain_uses_the_tools() {
    in_framework("langchain");
}

#[test]
fn pydantic_ai_uses_the_tools() {
    in_framework("pydantic_ai");
}

#[test]
fn the_wheel_is_installed_and_used() {
    let Some(with_pip) = frameworks() else { return };
    let home = home();
    let mut package = python(&with_pip, &home);
    package.arg(sdk().join("python/tests/package.py"));
    package.arg(sdk().join("python"));
    assert_eq!(succeeds(package), "ok\n");
}

#[test]
fn the_types_of_the_python_package_and_its_programs_are_right() {
    let (Some(with_frameworks), Some(modules), Some(packages)) =
        (frameworks(), modules(), packages())
    else {
        return;
    };
    let home = home();
    let mut check = python(&with_frameworks, &home);
    check.arg(sdk().join("python/tests/check_types.py"));
    check.arg(sdk().join("python"));
    check.arg(node(&packages, &home).get_program());
    check.arg(modules.join("pyright/index.js"));
    assert_eq!(succeeds(check), "ok\n");
}

#[test]
fn the_typescript_client_does_all_of_it_too() {
    let Some(packages) = packages() else { return };
    for file in ["client.test.ts", "faults.test.ts"] {
        let home = home();
        let mut tests = node(&packages, &home);
        tests.env("BASHD", BASHD);
        tests.args(["--test-reporter=spec", "--test"]);
        tests.arg(sdk().join("typescript/tests").join(file));
        succeeds(tests);
    }
}

#[test]
fn the_npm_package_is_installed_and_used_in_frameworks() {
    let (Some(modules), Some(packages)) = (modules(), packages()) else {
        return;
    };
    let home = home();
    let node = node(&packages, &home);
    let node = Path::new(node.get_program()).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut package = in_home(&sdk().join("typescript/tests/package"), &home);
    package
        .env("PATH", format!("{}:{path}", node.display()))
        .env("BASHD", BASHD)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        // npm would leave what it compiled.
        .env("NODE_DISABLE_COMPILE_CACHE", "1")
        .arg(modules)
        .arg(model());
    let told = succeeds(package);
    assert!(
        told.ends_with("5 programs\nai ok\n@openai/agents ok\n"),
        "{told}"
    );
}

#[test]
fn the_packages_have_the_version_of_bashd() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, line) in [
        ("python/pyproject.toml", format!("version = \"{version}\"")),
        (
            "python/src/bashd/__init__.py",
            format!("__version__ = \"{version}\""),
        ),
        (
            "typescript/package.json",
            format!("  \"version\": \"{version}\","),
        ),
    ] {
        let text = fs::read_to_string(sdk().join(file)).unwrap();
        assert!(text.lines().any(|one| one == line), "{file} lacks {line}");
    }
}
