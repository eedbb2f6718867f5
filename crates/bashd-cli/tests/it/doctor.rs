//! `bashd doctor`: findings for people and for programs, and the status that sums them up.

use crate::{bashd, shown};
use bashd_testkit::Home;
use serde_json::Value;

fn checks(home: &Home, path: Option<&str>) -> (Option<i32>, Value) {
    let run = bashd(home, &["doctor", "--json"]);
    let transcript = match path {
        Some(path) => run.env("PATH", path).run(),
        None => run.run(),
    };
    (
        transcript.code(),
        serde_json::from_slice(&transcript.stdout).unwrap(),
    )
}

fn find<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap()
}

#[test]
fn every_line_has_a_finding_and_a_consequence() {
    let home = Home::new();
    let (code, report) = checks(&home, None);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["fit"], true);
    for check in report["checks"].as_array().unwrap() {
        for part in ["name", "verdict", "finding", "consequence"] {
            assert!(!check[part].as_str().unwrap().is_empty(), "{check}");
        }
    }
    let bash = find(&report, "bash")["finding"].as_str().unwrap();
    assert!(bash.contains("/bash ") && bash.contains('.'), "{bash}");
    let people = shown(&home, &["doctor"]).out();
    // A blank line and the verdict come last.
    assert_eq!(
        people.lines().count(),
        2 + 2 * report["checks"].as_array().unwrap().len()
    );
    let verdict = people.lines().last().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        verdict.starts_with(&format!("bashd {version} works here")),
        "{verdict}"
    );
    assert_eq!(
        (&report["version"], &report["verdict"]),
        (&version.into(), &verdict.into())
    );
}

#[test]
fn the_whole_configuration_is_checked_and_a_broken_one_is_the_verdict() {
    let home = Home::new();
    let (code, report) = checks_with(&home, &["--set", "profle=x", "--set", "profile=voic"]);
    assert_eq!(code, Some(1));
    assert_eq!(find(&report, "profile")["verdict"], "missing");
    let broken = shown(&home, &["doctor", "--set", "spool.head_bytes=many"]);
    insta::assert_snapshot!(broken.block().replace(env!("CARGO_PKG_VERSION"), "VERSION"), @r#"
    --- stdout
    MISSING  configuration  `spool.head_bytes` must be a size from 4KiB to 1TiB such as 1048576 or "64MiB", but --set gives "many"
                            bashd does not start: mend it (`bashd config edit`)

    bashd VERSION can't work here: configuration
    --- stderr
    --- status
    exit 1
    "#);
}

fn checks_with(home: &Home, options: &[&str]) -> (Option<i32>, Value) {
    let run = shown(home, &[&["doctor", "--json"], options].concat());
    let report = serde_json::from_slice(&run.stdout).unwrap();
    (run.code(), report)
}

#[test]
fn a_missing_shell_is_status_1() {
    let home = Home::new();
    let (code, report) = checks(&home, Some("/nonexistent"));
    assert_eq!(code, Some(1));
    assert_eq!(report["fit"], false);
    assert_eq!(find(&report, "bash")["verdict"], "missing");
    assert_eq!(find(&report, "zsh")["verdict"], "limited");
}

#[test]
fn a_state_directory_that_can_not_be_is_limited_and_nothing_is_made() {
    let home = Home::new();
    let file = home.workspace().join("file");
    std::fs::write(&file, "").unwrap();
    let run = bashd(&home, &["doctor", "--json"]).env("BASHD_HOME", &file);
    let report: Value = serde_json::from_slice(&run.run().stdout).unwrap();
    assert_eq!(
        find(&report, "state directory")["verdict"],
        "limited",
        "{report:#}"
    );
    assert!(!home.state().exists());
}

#[test]
fn an_interceptor_rule_that_is_no_pattern_is_told_and_the_others_hold() {
    let home = Home::new();
    let config = home.workspace().join("config.toml");
    let rules = r#"
        [[bashInterceptor.patterns]]
        pattern = '(?<!a'
        tool = "read"
        message = "bad"
        [[bashInterceptor.patterns]]
        pattern = '^(?!ok)less\b'
        tool = "read"
        message = "Use read."
    "#;
    std::fs::write(&config, rules).unwrap();
    let run = |arguments: &[&str]| bashd(&home, arguments).env("BASHD_CONFIG", &config);
    let report: Value = serde_json::from_slice(&run(&["doctor", "--json"]).run().stdout).unwrap();
    let check = find(&report, "interceptor rules");
    let finding = check["finding"].as_str().unwrap();
    assert_eq!(check["verdict"], "limited", "{check}");
    assert!(
        finding.contains("(?<!a") && !finding.contains("less"),
        "{check}"
    );
    let blocked = run(&["run", "--profile", "pi", "--tools", "read", "less file"]).run();
    let said = [blocked.stdout, blocked.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("Blocked: Use read."), "{said}");
}

#[test]
fn a_snapshot_that_failed_is_told_and_one_of_the_users_own_bash_is_found() {
    const NAME: &str = "rc script";
    for (rc, verdict, finding) in [
        ("alias greet='echo hello'", "good", "rc-bash-"),
        ("exit 0", "limited", "it ended the shell"),
    ] {
        let home = Home::new();
        std::fs::write(home.home().join(".bashrc"), rc).unwrap();
        let bash = home.workspace().join("bash");
        std::os::unix::fs::symlink("/bin/bash", &bash).unwrap();
        let run = |arguments: &[&str]| bashd(&home, arguments).env("SHELL", &bash);
        let report = || -> Value {
            serde_json::from_slice(&run(&["doctor", "--json"]).run().stdout).unwrap()
        };
        let before = report();
        assert_eq!(find(&before, NAME)["finding"], "not created yet");
        let request = "{\"id\": \"1\", \"type\": \"bash\", \"command\": \"true\"}\n";
        let served = run(&["rpc", "--profile", "pi"]).stdin(request).run();
        assert_eq!(served.code(), Some(0));
        let after = report();
        let check = find(&after, NAME);
        assert_eq!(check["verdict"], verdict, "{check}");
        assert!(
            check["finding"].as_str().unwrap().contains(finding),
            "{check}"
        );
    }
}

#[test]
fn a_clock_that_jumped_is_said() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let clock = home.state().join("runs/clock");
    let of_clock = || find(&checks(&home, None).1, "clock").clone();
    assert_eq!(of_clock()["finding"], "no jump seen");
    // What was seen last: a clock that showed something else, at this moment.
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let up = read("/proc/uptime");
    let up: f64 = up.split(' ').next().unwrap().parse().unwrap();
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let look = |hours: u64| {
        serde_json::json!({
            "boot": read("/proc/sys/kernel/random/boot_id").trim(),
            "up_ms": (up * 1000.0) as u64,
            "wall_ms": since.as_millis() as u64 - hours * 3_600_000,
            "jumps": [],
        })
    };
    std::fs::create_dir_all(clock.parent().unwrap()).unwrap();
    for (hours, verdict, finding) in [
        (0, "good", "no jump seen"),
        (241, "limited", "went forward by 10d"),
    ] {
        std::fs::write(&clock, look(hours).to_string()).unwrap();
        let said = of_clock();
        let told = said["finding"].as_str().unwrap();
        assert!(told.starts_with(finding), "{said}");
        assert_eq!(said["verdict"], verdict, "{said}");
    }
}
