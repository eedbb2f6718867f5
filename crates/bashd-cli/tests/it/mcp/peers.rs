//! Clients that nobody here wrote: the official SDKs, the inspector, the conformance suite.
//!
//! `tests/peers/install` puts them into the target directory; `./test` calls it. Without them these
//! tests say so, and show nothing.

use super::http::Server;
use bashd_testkit::{Home, loudly, repeat};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const BASHD: &str = env!("CARGO_BIN_EXE_bashd");

/// Where the peers are installed.
fn installed() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../peers")
}

/// Where their scripts are.
pub(crate) fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers")
}

/// Python with the SDK, if it is installed.
pub(super) fn python() -> Option<PathBuf> {
    let place = installed();
    if !place.join("python.installed").exists() {
        loudly("the Python peers are not installed: the official Python SDK is NOT tested here");
        return None;
    }
    Some(place.join("python/bin/python"))
}

/// The packages of npm, if they are installed.
pub(crate) fn packages() -> Option<PathBuf> {
    let place = installed();
    if !place.join("node.installed").exists() {
        loudly(
            "the npm peers are not installed: the TypeScript SDKs, acpx, inspector and conformance suite are NOT tested here",
        );
        return None;
    }
    Some(place.join("node/node_modules"))
}

/// Node as the packages want it.
pub(crate) fn node(packages: &Path, home: &Home) -> Command {
    let machine = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    };
    let mut node = in_home(
        &packages.join(format!("node-linux-{machine}/bin/node")),
        home,
    );
    node.env("NODE_MODULES", packages);
    node
}

pub(crate) fn in_home(program: &Path, home: &Home) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(home.env())
        .current_dir(home.workspace());
    command
}

/// What a peer printed; its complaints, where it failed.
pub(super) fn output(mut command: Command) -> String {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{told}\n{complaints}");
    told
}

/// What every client must have seen.
fn is_right(peer: &str, told: &str) {
    let seen: Value = serde_json::from_str(told).unwrap_or_else(|_| panic!("{peer}: {told}"));
    assert_eq!(seen["tools"][0], "bash", "{peer}: {seen}");
    assert_eq!(seen["text"], "hi\n[exit code 3]", "{peer}: {seen}");
    assert_eq!(seen["result"]["exit_code"], 3, "{peer}: {seen}");
    assert_eq!(seen["result"]["output"], "hi\n", "{peer}: {seen}");
    let progress = seen["progress"].as_str().unwrap_or_default();
    assert!(progress.starts_with("running for "), "{peer}: {seen}");
    assert_eq!(seen["range"], "9999\n10000\n10001\n", "{peer}: {seen}");
    assert_eq!(
        seen["found"], "19998:19998\n19999:19999\n",
        "{peer}: {seen}"
    );
    assert_eq!(seen["resource"], 108_894, "{peer}: {seen}");
    let waited = seen["waited"].as_str().unwrap_or_default();
    assert!(waited.contains("listening on 80"), "{peer}: {seen}");
    assert_eq!(seen["job"], "running", "{peer}: {seen}");
    assert_eq!(seen["cancelled"], 2, "{peer}: {seen}");
    assert_eq!(seen["after"], "alive\n", "{peer}: {seen}");
}

/// The client's last arguments for a server on stdin and stdout: one for programs, so that the SDKs
/// hold its results against their schemas.
fn on_stdio(command: &mut Command) {
    command.args(["stdio", BASHD, "mcp", "--structured"]);
}

/// The same for a running server.
fn over_http(command: &mut Command, server: &Server) {
    let token = server.token.as_deref().unwrap_or_default();
    command.args(["http", &server.url(), token]);
}

#[test]
fn the_python_sdk_lists_runs_hears_and_cancels() {
    let Some(python) = python() else { return };
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    let server = Server::start(&home, &[]);
    for mode in ["auto", "legacy"] {
        let mut client = in_home(&python, &home);
        client.arg(scripts().join("mcp_client.py")).arg(mode);
        client.arg(home.workspace());
        on_stdio(&mut client);
        is_right(&format!("{mode} on stdio"), &output(client));
        let mut client = in_home(&python, &home);
        client.arg(scripts().join("mcp_client.py")).arg(mode);
        client.arg(home.workspace());
        over_http(&mut client, &server);
        is_right(&format!("{mode} over HTTP"), &output(client));
    }
}

#[test]
fn the_typescript_sdk_lists_runs_hears_and_cancels() {
    let Some(packages) = packages() else { return };
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    let server = Server::start(&home, &[]);
    for (line, mode) in [("1", "legacy"), ("2", "auto")] {
        let mut client = node(&packages, &home);
        client.arg(scripts().join("mcp_client.mjs"));
        client.args([line, mode]).arg(home.workspace());
        on_stdio(&mut client);
        is_right(&format!("line {line} on stdio"), &output(client));
        let mut client = node(&packages, &home);
        client.arg(scripts().join("mcp_client.mjs"));
        client.args([line, mode]).arg(home.workspace());
        over_http(&mut client, &server);
        is_right(&format!("line {line} over HTTP"), &output(client));
    }
}

#[test]
fn a_client_that_waits_a_minute_gets_a_job_before() {
    let Some(packages) = packages() else { return };
    if !repeat::is_soak() {
        loudly("the real 50 s, within a client's 60, are only waited for by ./soak");
        return;
    }
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    let mut client = node(&packages, &home);
    client.arg(scripts().join("mcp_wait.mjs"));
    client.args([BASHD, "mcp"]);
    let told = output(client);
    let seen: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{told}"));
    let waited = seen["waited_ms"].as_u64().unwrap();
    assert!((50_000..60_000).contains(&waited), "{seen}");
    assert_eq!(seen["result"]["output"], "so far\n", "{seen}");
    assert!(seen["result"]["job"].is_string(), "{seen}");
    assert_eq!(seen["result"].get("timed_out"), None, "{seen}");
    // A wait for a job keeps within a minute as well, and then says that the job goes on.
    assert_eq!(seen["job_waited_is_error"], false, "{seen}");
    let ended = seen["ended"].as_str().unwrap_or_default();
    assert!(ended.contains("done"), "{seen}");
}

#[test]
fn the_inspector_lists_and_calls() {
    let Some(packages) = packages() else { return };
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    let inspect = |arguments: &[&str]| {
        let mut inspector = node(&packages, &home);
        inspector.arg(packages.join(".bin/mcp-inspector"));
        inspector.args(["--cli", BASHD, "mcp"]).args(arguments);
        let told = output(inspector);
        let told: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{told}"));
        told
    };
    let tools = inspect(&["--method", "tools/list", "--strict"]);
    assert_eq!(tools["tools"][0]["name"], "bash");
    let call = ["--method", "tools/call", "--tool-name", "bash"];
    let result = inspect(&[&call[..], &["--tool-arg", "command=echo hi; exit 3"]].concat());
    assert_eq!(result["_meta"]["bashd/reply"]["output"], "hi\n", "{result}");
    assert_eq!(result["_meta"]["bashd/reply"]["exit_code"], 3);
}

#[test]
fn the_inspector_follows_a_task_to_its_result() {
    let Some(packages) = packages() else { return };
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    for (era, is_task) in [("modern", true), ("legacy", false)] {
        let mut inspector = node(&packages, &home);
        inspector.arg(packages.join(".bin/mcp-inspector"));
        inspector.args(["--cli", BASHD, "mcp", "--wait-max", "1"]);
        inspector.args(["--protocol-era", era, "--method", "tools/call"]);
        inspector.args(["--tool-name", "bash", "--tool-arg"]);
        inspector.arg("command=echo begun; sleep 3; echo done; exit 3");
        let told = output(inspector);
        let told: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{told}"));
        let text = told["content"][0]["text"].as_str().unwrap_or_default();
        if is_task {
            assert_eq!(text, "begun\ndone\n[exit code 3]", "{told}");
        } else {
            assert!(text.starts_with("begun\n[still running after 1"), "{told}");
        }
    }
}

#[test]
fn the_conformance_suite_finds_nothing_that_is_not_listed() {
    let Some(packages) = packages() else { return };
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    let server = Server::start(&home, &["--token", "none"]);
    for (list, which) in [
        (
            "conformance-2025-11-25.yml",
            ["--spec-version", "2025-11-25"],
        ),
        (
            "conformance-2026-07-28.yml",
            ["--requirements", "2026-07-28"],
        ),
    ] {
        let mut suite = node(&packages, &home);
        suite.arg(packages.join(".bin/conformance")).arg("server");
        suite.args(["--url", &server.url()]).args(which);
        suite.arg("--expected-failures").arg(scripts().join(list));
        let told = output(suite);
        assert!(told.contains("tools-list: "), "{told}");
    }
}

#[test]
fn every_scenario_that_is_left_out_has_its_reason() {
    let page = include_str!("../../../../../docs/mcp.md");
    let (_, table) = page
        .split_once("| scenarios | why they do not apply |")
        .unwrap();
    let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
    let named = rows.flat_map(|row| {
        let cell = row.split('|').nth(1).unwrap_or_default();
        cell.split('`').skip(1).step_by(2)
    });
    let named: Vec<&str> = named.collect();
    let is_named = |scenario: &str| {
        named.iter().any(|name| match name.strip_suffix('*') {
            Some(begin) => scenario.starts_with(begin),
            None => *name == scenario,
        })
    };
    for list in ["conformance-2025-11-25.yml", "conformance-2026-07-28.yml"] {
        let text = std::fs::read_to_string(scripts().join(list)).unwrap();
        let listed = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- "));
        for entry in listed {
            let scenario = entry.split(':').next().unwrap_or(entry);
            assert!(
                is_named(scenario),
                "{list}: {entry} has no reason in docs/mcp.md"
            );
        }
    }
}
