//! The page in a real Chromium, driven by Playwright: `tests/browser/cases.mjs` has the cases.
//!
//! `tests/peers/install` puts the packages into the target directory; `./test` calls it. The smoke
//! case always runs; the whole with `./test --with browser` and in `./soak`.

use super::server;
use bashd_testkit::{Home, loudly, repeat};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a Chromium is looked for.
const BROWSERS: &[&str] = &[
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
];

fn packages() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../peers/browser/node_modules")
}

/// Node with the browser's packages, if all of it is there.
fn node(home: &Home) -> Option<Command> {
    let browser = BROWSERS.iter().find(|path| Path::new(path).exists());
    let Some(browser) = browser else {
        loudly("chromium is missing: the page of `bashd web` is NOT tested in a browser here");
        return None;
    };
    let installed = packages().join("../../browser.installed");
    if !installed.exists() {
        loudly(
            "playwright is not installed: the page of `bashd web` is NOT tested in a browser here",
        );
        return None;
    }
    let mut node = Command::new("node");
    node.env_clear()
        .envs(home.env())
        .env("NODE_MODULES", packages())
        .env("BASHD", env!("CARGO_BIN_EXE_bashd"))
        .env("CHROMIUM", browser)
        .current_dir(home.workspace());
    Some(node)
}

/// Where a case runs.
#[derive(PartialEq)]
enum Net {
    /// With whatever network this machine has.
    Any,
    /// In a network of its own, which has the loopback alone.
    Loopback,
}

/// Runs one case.
fn case(name: &str, net: &Net) {
    // Who is killed leaves its question until somebody asks again, and grants stay.
    let left = ["web", "changes", "asks", "grants.jsonl", "grants.lock"];
    let home = Home::new().keeping_in_state(&left);
    let Some(mut node) = node(&home) else {
        return;
    };
    if *net == Net::Loopback {
        let mut words = vec!["-rn", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"];
        let tried = Command::new("unshare")
            .args(words.iter().chain(&["true"]))
            .status();
        if !tried.is_ok_and(|status| status.success()) {
            return loudly("no network namespace: the page is NOT loaded without a network here");
        }
        words.push("node");
        let mut alone = Command::new("unshare");
        alone.args(words).env_clear().current_dir(home.workspace());
        alone.envs(
            node.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        node = alone;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/cases.mjs");
    if repeat::is_soak() {
        node.env("SOAK", "1");
    }
    let output = node.arg(script).arg(name).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}\n{told}\n{complaints}");
    // The browser's own files.
    let _ = std::fs::remove_dir_all(home.tmp());
    let _ = std::fs::create_dir_all(home.tmp());
}

/// Runs one case, if the whole of these tests is asked for.
fn whole(name: &str) {
    whole_in(name, &Net::Any);
}

fn whole_in(name: &str, net: &Net) {
    if !repeat::is_soak() && std::env::var_os("BASHD_TEST_BROWSER").is_none() {
        loudly("the page in a browser: only the smoke case (./test --with browser has the whole)");
        return;
    }
    case(name, net);
}

#[test]
fn smoke_a_person_follows_answers_and_ends() {
    case("smoke", &Net::Any);
}

#[test]
fn what_runs_is_followed_and_scrolled_back() {
    whole("follow");
}

#[test]
fn a_search_goes_from_hit_to_hit() {
    whole("search");
}

#[test]
fn a_gibibyte_is_scrolled_from_its_first_byte() {
    whole("seek");
}

#[test]
fn a_password_is_typed_into_a_prompt() {
    whole("typing");
}

#[test]
fn questions_are_allowed_and_denied_and_counted_in_the_title() {
    whole("approvals");
}

#[test]
fn a_tree_is_shown_before_and_after_its_end() {
    whole("ending");
}

#[test]
fn it_is_loaded_again_without_a_network() {
    whole_in("offline", &Net::Loopback);
}

#[test]
fn a_page_left_open_goes_on_after_a_restart() {
    whole("restart");
}

#[test]
fn everything_works_by_keyboard_alone() {
    whole("keyboard");
}

#[test]
fn nothing_that_is_hostile_does_anything() {
    whole("hostile");
}

#[test]
fn nobody_is_shut_out() {
    whole("accessible");
}

#[test]
fn a_thousand_jobs_are_painted_at_once() {
    whole("thousand");
}

#[test]
fn past_calls_are_found_shown_and_played() {
    whole("past");
}

#[test]
fn a_full_screen_program_is_shown_as_it_is() {
    whole("full_screen");
}

#[test]
fn the_packages_of_the_page_are_those_of_the_registry() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/web/vendor");
    let home = server::home();
    if node(&home).is_none() {
        return;
    }
    for (ours, theirs) in [
        ("xterm.mjs", "@xterm/xterm/lib/xterm.mjs"),
        ("xterm.css", "@xterm/xterm/css/xterm.css"),
        ("xterm-LICENSE", "@xterm/xterm/LICENSE"),
        ("addon-fit.mjs", "@xterm/addon-fit/lib/addon-fit.mjs"),
        ("addon-fit-LICENSE", "@xterm/addon-fit/LICENSE"),
    ] {
        let read = |path: PathBuf| {
            let text = std::fs::read_to_string(path).unwrap();
            let lines = text
                .lines()
                .filter(|line| !line.starts_with("//# sourceMappingURL="));
            lines.collect::<Vec<_>>().join("\n")
        };
        assert!(
            read(own.join(ours)) == read(packages().join(theirs)),
            "{ours}"
        );
    }
}
