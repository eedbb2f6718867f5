//! `bashd init`: files of agents before and after, and what is left alone.

use crate::bashd;
use bashd_testkit::{Home, Transcript};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const AGENTS: [&str; 9] = [
    "claude-code",
    "codex",
    "gemini",
    "opencode",
    "cursor",
    "vscode",
    "zed",
    "qwen",
    "cline",
];

/// Configurations as people have them.
const FILES: [(&str, &str); 7] = [
    (
        ".claude.json",
        "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}",
    ),
    (
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"Read(./.env)\"]}}\n",
    ),
    (
        ".codex/config.toml",
        "# mine\nmodel = \"x\"   # two\n\n[features]\nother = true",
    ),
    (
        ".gemini/settings.json",
        "{\r\n\t\"ui\": {\"theme\": \"dark\"}, // mine\r\n}\r\n",
    ),
    (
        ".config/opencode/opencode.jsonc",
        "// mine\n{\n  \"permission\": {\n    \"*\": \"ask\", // careful\n  },\n}\n",
    ),
    (
        ".config/zed/settings.json",
        "// Zed\n{\n  \"vim_mode\": true\n}\n",
    ),
    (".qwen/settings.json", ""),
];

fn home() -> Home {
    Home::new().keeping_in_state(&["init", "runs", "clients"])
}

fn write(home: &Home, name: &str, text: &str) -> PathBuf {
    let path = home.home().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn init(home: &Home, arguments: &[&str]) -> Transcript {
    bashd(home, &[&["init"], arguments].concat()).run()
}

/// The report of an init that must succeed, and that needs no question.
fn done(home: &Home, arguments: &[&str]) -> Value {
    let transcript = init(home, &[&["--yes", "--json"], arguments].concat());
    assert_eq!(transcript.code(), Some(0), "{}", transcript.block());
    serde_json::from_slice(&transcript.stdout).unwrap()
}

/// The states of all files of a report.
fn states(report: &Value) -> Vec<&str> {
    let agents = report["agents"].as_array().unwrap().iter();
    let files = agents.flat_map(|agent| agent["files"].as_array().unwrap());
    files.map(|file| file["state"].as_str().unwrap()).collect()
}

/// Every file and folder below a home and its project, but for bashd's own.
fn everything(home: &Home) -> BTreeMap<PathBuf, Option<(Vec<u8>, u32)>> {
    let mut found = BTreeMap::new();
    let mut open = vec![home.home(), home.workspace()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path == home.home().join(".local") {
                continue;
            }
            if path.is_dir() {
                open.push(path.clone());
                found.insert(path, None);
            } else {
                let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
                let bytes = fs::read(&path).unwrap_or_default();
                found.insert(path, Some((bytes, mode)));
            }
        }
    }
    found
}

#[test]
fn what_was_put_in_is_taken_out_to_the_byte() {
    for files in [&FILES[..], &[]] {
        let home = home();
        for (name, text) in files {
            write(&home, name, text);
        }
        let before = everything(&home);
        let wanted: Vec<&str> = AGENTS
            .into_iter()
            .chain(["--hook", "--replace-shell"])
            .collect();
        let report = done(&home, &wanted);
        assert!(states(&report).iter().all(|state| *state == "written"));
        assert_eq!(report["server"]["failure"], Value::Null, "{report:#}");
        let after = everything(&home);
        // Twice changes nothing.
        let again = done(&home, &wanted);
        assert!(states(&again).iter().all(|state| *state == "unchanged"));
        assert!(after == everything(&home));
        let backup = report["agents"][0]["files"][0]["backup"].as_str();
        assert_eq!(backup.is_some(), !files.is_empty());
        if let Some(backup) = backup {
            assert_eq!(fs::read_to_string(backup).unwrap(), FILES[0].1);
        }
        done(&home, &["--uninstall"]);
        assert!(
            before == everything(&home),
            "{:?}",
            everything(&home).keys()
        );
        assert!(!home.state().join("init").exists());
    }
}

#[test]
fn what_is_foreign_is_kept_in_place() {
    let home = home();
    for (name, text) in FILES {
        write(&home, name, text);
    }
    done(
        &home,
        &[
            "claude-code",
            "codex",
            "gemini",
            "opencode",
            "--hook",
            "--replace-shell",
        ],
    );
    for (name, text) in &FILES[..5] {
        let after = fs::read_to_string(home.home().join(name)).unwrap();
        for line in text.lines().filter(|line| line.trim().len() > 3) {
            let line = line.trim_end_matches(['}', ']', ',', ' ']);
            assert!(after.contains(line), "{name} lacks {line}:\n{after}");
        }
    }
    let claude = fs::read_to_string(home.home().join(".claude/settings.json")).unwrap();
    let claude: Value = serde_json::from_str(&claude).unwrap();
    assert_eq!(claude["permissions"]["deny"][0], "Read(./.env)");
    assert_eq!(
        claude["hooks"]["PreToolUse"][0]["hooks"][0]["onFailure"],
        "block"
    );
    done(&home, &["--uninstall"]);
}

#[test]
fn the_agents_own_shell_stays_on_unless_it_is_replaced() {
    let home = home();
    let set_up = init(
        &home,
        &[
            "claude-code",
            "codex",
            "gemini",
            "opencode",
            "qwen",
            "--yes",
        ],
    );
    assert_eq!(set_up.code(), Some(0), "{}", set_up.block());
    assert!(set_up.out().contains("--replace-shell"), "{}", set_up.out());
    let all = |home: &Home| -> String {
        let files = everything(home).into_values().flatten();
        let texts = files.map(|(bytes, _)| String::from_utf8(bytes).unwrap());
        texts.collect()
    };
    let switches = [
        "\"Monitor\"",
        "shell_tool",
        "policies",
        "\"deny\"",
        "exclude",
    ];
    let own = all(&home);
    assert!(switches.iter().all(|switch| !own.contains(switch)), "{own}");
    done(
        &home,
        &[
            "claude-code",
            "codex",
            "gemini",
            "opencode",
            "qwen",
            "--replace-shell",
        ],
    );
    let replaced = all(&home);
    for switch in [
        "\"Monitor\"",
        "shell_tool = false",
        "decision = \"deny\"",
        "exclude",
    ] {
        assert!(replaced.contains(switch), "{switch}: {replaced}");
    }
    done(&home, &["--uninstall"]);
}

#[test]
fn what_an_agent_wrote_meanwhile_stays() {
    let home = home();
    let path = write(&home, ".claude.json", FILES[0].1);
    done(&home, &["claude-code", "--hook"]);
    // It writes the whole file again, with more in it.
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config["numStartups"] = 4.into();
    fs::write(&path, serde_json::to_string_pretty(&config).unwrap()).unwrap();
    assert!(states(&done(&home, &["claude-code"])).contains(&"unchanged"));
    done(&home, &["--uninstall", "claude-code"]);
    let mut expected: Value = serde_json::from_str(FILES[0].1).unwrap();
    expected["numStartups"] = 4.into();
    let expected = serde_json::to_string_pretty(&expected).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    assert!(!home.home().join(".claude/settings.json").exists());
}

#[test]
fn a_later_init_adds_to_an_earlier_one() {
    let home = home();
    let before = everything(&home);
    done(&home, &["gemini"]);
    done(&home, &["gemini", "--hook-only"]);
    let settings = fs::read_to_string(home.home().join(".gemini/settings.json")).unwrap();
    assert!(
        settings.contains("mcpServers") && settings.contains("hook gemini"),
        "{settings}"
    );
    done(&home, &["--uninstall"]);
    assert!(before == everything(&home));
}

#[test]
fn what_can_not_be_edited_is_left_as_it_was_with_the_reason() {
    type Setting = fn(&Home) -> PathBuf;
    let cases: [(&str, Setting); 8] = [
        ("Expected comma", |home| {
            write(home, ".cursor/mcp.json", "{\"a\": 1 \"b\"")
        }),
        ("it does not hold an object", |home| {
            write(home, ".cursor/mcp.json", "[1]\n")
        }),
        ("`mcpServers.bashd` is already there", |home| {
            let foreign = "{\"mcpServers\": {\"bashd\": {\"command\": \"mine\"}}}";
            write(home, ".cursor/mcp.json", foreign)
        }),
        ("`mcpServers` is not", |home| {
            write(home, ".cursor/mcp.json", "{\"mcpServers\": 1}")
        }),
        ("read-only", |home| {
            let path = write(home, ".cursor/mcp.json", "{}");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
            path
        }),
        ("a link that leads nowhere", |home| {
            let path = write(home, ".cursor/mcp.json", "");
            fs::remove_file(&path).unwrap();
            symlink("/nonexistent/mcp.json", &path).unwrap();
            path
        }),
        ("not a file", |home| {
            let path = home.home().join(".cursor/mcp.json");
            fs::create_dir_all(&path).unwrap();
            path
        }),
        ("not UTF-8", |home| {
            let path = write(home, ".cursor/mcp.json", "");
            fs::write(&path, b"{\"a\": \"\xff\"}").unwrap();
            path
        }),
    ];
    for (reason, set) in cases {
        let home = home();
        let path = set(&home);
        let before = everything(&home);
        let left = init(&home, &["cursor", "--yes"]);
        assert_eq!(left.code(), Some(1), "{}", left.block());
        assert!(left.out().contains(reason), "{reason}: {}", left.out());
        assert!(left.out().contains(&path.display().to_string()));
        assert!(before == everything(&home), "{reason}");
        assert!(!home.state().join("init").exists(), "{reason}");
    }
}

#[test]
fn a_link_stays_a_link_and_a_mode_stays_a_mode() {
    let home = home();
    let real = write(&home, "dotfiles/cursor.json", "{}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    let link = home.home().join(".cursor/mcp.json");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink("../dotfiles/cursor.json", &link).unwrap();
    let before = everything(&home);
    done(&home, &["cursor"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("bashd"));
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o600
    );
    done(&home, &["--uninstall"]);
    assert!(before == everything(&home));
}

#[test]
fn nothing_is_written_unless_somebody_says_so() {
    let home = home();
    write(&home, ".claude.json", FILES[0].1);
    let before = everything(&home);
    let printed = init(&home, &["--print", "--hook", "--replace-shell"]);
    assert_eq!(printed.code(), Some(0), "{}", printed.block());
    assert!(
        printed.out().contains("+    \"bashd\": {"),
        "{}",
        printed.out()
    );
    let unasked = init(&home, &[]);
    assert_eq!(unasked.code(), Some(1));
    assert!(unasked.err().contains("--yes"), "{}", unasked.err());
    assert_eq!(init(&home, &["--json"]).code(), Some(125));
    assert!(before == everything(&home));
    // A person is asked.
    for (answer, is_written) in [("\n\n", false), ("n\nn\n", false), ("y\ny\n", true)] {
        let mut asked = Command::new("script");
        asked.args(["--quiet", "--return", "--command"]);
        asked.arg(format!("{} init", env!("CARGO_BIN_EXE_bashd")));
        asked.arg("/dev/null").env_clear().envs(home.env());
        asked
            .current_dir(home.workspace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut asked = asked.spawn().unwrap();
        std::io::Write::write_all(asked.stdin.as_mut().unwrap(), answer.as_bytes()).unwrap();
        let said = asked.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.contains("Write this? [y/N]"), "{said}");
        assert!(said.contains("Confine them? [y/N]"), "{said}");
        assert_eq!(said.contains("--confine"), is_written, "{said}");
        assert_eq!(before != everything(&home), is_written, "{said}");
    }
    done(&home, &["--uninstall"]);
}

#[test]
fn commands_are_confined_if_that_was_wanted() {
    let home = home();
    let file = write(&home, ".claude.json", FILES[0].1);
    let entry = |arguments: &[&str]| {
        done(&home, arguments);
        let text = std::fs::read_to_string(&file).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        file["mcpServers"]["bashd"]["args"].clone()
    };
    let words = ["claude-code"];
    assert_eq!(entry(&words), serde_json::json!(["mcp"]));
    let confined = entry(&[&words[..], &["--confine", "workspace"]].concat());
    assert_eq!(
        confined,
        serde_json::json!(["mcp", "--confine", "workspace"])
    );
    // What was put in stays, unless something else is said.
    assert_eq!(entry(&words), confined);
    assert_eq!(entry(&[&words[..], &["--hook"]].concat()), confined);
    let other = entry(&[&words[..], &["--confine", "read-only"]].concat());
    assert_eq!(other, serde_json::json!(["mcp", "--confine", "read-only"]));
    assert_eq!(entry(&words), other);
    let off = entry(&[&words[..], &["--confine", "off"]].concat());
    assert_eq!(off, serde_json::json!(["mcp"]));
}

#[test]
fn a_project_gets_its_own_files_and_keeps_those_of_the_user() {
    let home = home();
    write(&home, ".cursor/mcp.json", "{}");
    let before = everything(&home);
    done(&home, &["cursor"]);
    let user_only = everything(&home);
    // The probe must find the program by its name, as everybody in the project does.
    let path = Path::new(env!("CARGO_BIN_EXE_bashd")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", path.display());
    let arguments = ["init", "cursor", "vscode", "--project", "--hook", "--yes"];
    let set_up = bashd(&home, &arguments).env("PATH", &path).run();
    assert_eq!(set_up.code(), Some(0), "{}", set_up.block());
    for name in [".cursor/mcp.json", ".cursor/hooks.json", ".vscode/mcp.json"] {
        let text = fs::read_to_string(home.workspace().join(name)).unwrap();
        assert!(text.contains("\"bashd"), "{text}");
        assert!(!text.contains('/'), "{text}");
    }
    done(&home, &["--uninstall", "--project"]);
    assert!(user_only == everything(&home));
    done(&home, &["--uninstall"]);
    assert!(before == everything(&home));
}

#[test]
fn no_agent_and_an_unknown_one_are_told() {
    let home = home();
    let nothing = bashd(&home, &["init"]).env("PATH", "/usr/bin:/bin").run();
    assert_eq!(nothing.code(), Some(1), "{}", nothing.block());
    for place in [
        "no agent was found",
        "claude in PATH",
        ".codex",
        ".config/zed",
    ] {
        assert!(nothing.err().contains(place), "{}", nothing.err());
    }
    let unknown = init(&home, &["emacs"]);
    assert_eq!(unknown.code(), Some(125));
    assert!(
        unknown.err().contains("one of: claude-code"),
        "{}",
        unknown.err()
    );
    let taken = init(&home, &["--uninstall", "--yes"]);
    assert_eq!(taken.code(), Some(0), "{}", taken.block());
}

#[test]
fn a_server_that_does_not_start_is_told() {
    let home = home();
    // Of a project, the entry is `bashd`, which is not in this PATH.
    let project = bashd(&home, &["init", "cursor", "--project", "--yes"])
        .env("PATH", "/usr/bin:/bin")
        .run();
    assert_eq!(project.code(), Some(1), "{}", project.block());
    assert!(
        project.out().contains("does not work: `bashd mcp`"),
        "{}",
        project.out()
    );
}
