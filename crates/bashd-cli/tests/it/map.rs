//! `map`: items, order, statuses, failures; each item at most once, whatever is killed; places.

use crate::console::tmux::Tmux;
use bashd_testkit::processes::with_variable;
use bashd_testkit::repeat::is_soak;
use bashd_testkit::{Binary, Home, MARK, Transcript, repetitions};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

fn home() -> Home {
    Home::new().keeping_in_state(&["maps", "outpost"])
}

fn map<'home>(home: &'home Home, arguments: &[&str], items: &str) -> Binary<'home> {
    crate::bashd(home, &[&["map"], arguments].concat()).stdin(items)
}

fn numbers(most: usize) -> String {
    (1..=most).fold(String::new(), |mut text, number| {
        writeln!(text, "{number}").unwrap();
        text
    })
}

/// The results of a map in JSON, and its counts.
fn results(shown: &Transcript) -> (Vec<Value>, Value) {
    let lines = shown.out();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let mut lines: Vec<Value> = lines.collect();
    let last = lines.pop().unwrap_or_else(|| panic!("{}", shown.err()));
    (lines, last["map"].clone())
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// How often each line is in a file.
fn counted(path: &std::path::Path) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in fs::read_to_string(path).unwrap_or_default().lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    counts
}

#[test]
fn results_come_in_order_whatever_the_items_hold() {
    let home = home();
    let items = "3 a\n\n1 'b\n2 $HOME\n0 \"; echo no\n";
    let script = "i={}; sleep 0.${i%% *}; printf '<%s>\\n' {} \"$i\"";
    let shown = map(&home, &["-j", "4", script], items).run();
    let expected =
        "<3 a>\n<3 a>\n<1 'b>\n<1 'b>\n<2 $HOME>\n<2 $HOME>\n<0 \"; echo no>\n<0 \"; echo no>\n";
    assert_eq!((shown.out().as_str(), shown.code()), (expected, Some(0)));
    let asked = ["-j", "4", "--order", "as-they-come", "sleep 0.{}; echo {}"];
    let shown = map(&home, &asked, "8\n01\n").run();
    assert_eq!(shown.out(), "01\n8\n");
    let asked = ["-0", "printf", "[%s]"];
    let shown = map(&home, &asked, "a\nb\0\0c").run();
    assert_eq!(shown.out(), "[a\nb][][c]");
    let asked = ["-I", "%", "echo {} %"];
    assert_eq!(map(&home, &asked, "x\n").run().out(), "{} x\n");
    let empty = map(&home, &["echo"], "").run();
    assert_eq!((empty.out().as_str(), empty.code()), ("", Some(0)));
    assert!(!home.state().join("maps").exists(), "nothing is left");
}

#[test]
fn statuses_timeouts_and_denials_are_told_of_each_item() {
    let home = home();
    let items = "exit 0\nexit 3\nkill -9 $$\nsleep 60\ngit push --force\n";
    let asked = ["--json", "-j", "4", "--timeout", "0.5", "eval"];
    let shown = map(&home, &asked, items).run();
    let (results, counts) = results(&shown);
    let told = results.iter().map(|result| {
        let of = |key: &str| result[key].to_string();
        format!("{} {} {}", of("state"), of("exit_code"), of("signal"))
    });
    let told: Vec<String> = told.collect();
    let expected = [
        "\"done\" 0 null",
        "\"failed\" 3 null",
        "\"failed\" null 9",
        "\"timed_out\" null null",
        "\"denied\" null null",
    ];
    for (told, expected) in told.iter().zip(expected) {
        assert!(
            told.starts_with(expected.trim_end_matches(" null")),
            "{told}"
        );
    }
    assert_eq!((told.len(), shown.code()), (5, Some(123)));
    assert_eq!(
        (&counts["counts"]["done"], &counts["counts"]["failed"]),
        (&1.into(), &4.into())
    );
    assert!(
        shown.err().contains("item 2 (exit 3): exit 3"),
        "{}",
        shown.err()
    );
    // Each failure, and the map as a whole: nothing of what went well.
    let log = crate::shown(&home, &["log", "--json"]);
    let records: Vec<Value> = (log.out().lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(records.len(), 5, "{}", log.out());
    let whole = records.iter().find(|record| {
        let command = record["command"].as_str().unwrap();
        command.starts_with("map ") && command.ends_with(": eval")
    });
    let error = whole.unwrap()["error"].as_str().unwrap();
    assert_eq!(error, "1 of 5 items done: 4 failed, 0 lost");
}

#[test]
fn at_a_terminal_the_bar_stays_below_results_and_an_end_has_its_own_word() {
    let home = home();
    let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
        return;
    };
    let bashd = env!("CARGO_BIN_EXE_bashd");
    // An item that stays: nothing is counted until it ends.
    let items = "echo a; echo b; echo wait";
    let command = "[ {} != wait ] || sleep 600; echo it is {}";
    tmux.line(&format!("clear; ({items}) | {bashd} map -j 3 '{command}'"));
    tmux.until_that("the bar below the results", |seen| {
        let after = seen.split_once("it is b").map(|(_, after)| after);
        after.is_some_and(|after| {
            after.contains("2 ended, 1 running") || after.contains("2/3, 1 running")
        })
    });
    tmux.keys(&["C-c"]);
    let seen = tmux.until("stopped: it was ended");
    assert!(seen.contains("item 3 (wait): cancelled"), "{seen}");
    tmux.line("clear; echo cleared");
    tmux.until("cleared\n");
    tmux.line(&format!("clear; {bashd} map 'echo it was {{}}'"));
    tmux.until("waiting for items, one a line, on stdin; end with Ctrl-D");
    tmux.line("typed");
    tmux.keys(&["C-d"]);
    tmux.until("it was typed");
    tmux.until("1 item done");
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let home = home();
    for (asked, status, said) in [
        (&["rm -rf / {}"][..], 126, "denied:"),
        (&["touch ran; echo `{}`"], 125, "backticks"),
        (
            &["--on", "nowhere", "touch ran"],
            125,
            "there is no place `nowhere`",
        ),
        (&["--resume", "nothing"], 125, "there is no map `nothing`"),
        (&["--name", "a/b", "touch ran"], 125, "is no name for a map"),
        (&["--profile", "nosuch", "touch ran"], 125, "nosuch"),
        (&[], 125, "required"),
    ] {
        let shown = map(&home, asked, "1\n").run();
        assert_eq!(shown.code(), Some(status), "{asked:?}: {}", shown.err());
        assert!(shown.err().contains(said), "{asked:?}: {}", shown.err());
    }
    assert!(!home.workspace().join("ran").exists());
    assert!(!home.state().join("maps").exists(), "nothing is left");
}

#[test]
fn a_failure_stops_what_has_not_begun_and_the_rest_is_resumed() {
    let home = home();
    let marks = home.workspace().join("marks");
    let script = format!(
        "echo {{}} >> {}; test {{}} != 5 && echo {{}}",
        marks.display()
    );
    let asked = ["--name", "some", "-j", "1", "--stop-at-failure", &script];
    let shown = map(&home, &asked, &numbers(20)).run();
    assert_eq!(shown.code(), Some(123));
    assert_eq!(shown.out(), "1\n2\n3\n4\n");
    assert!(
        shown.err().contains("stopped: item 5 failed"),
        "{}",
        shown.err()
    );
    assert!(
        map(&home, &asked, "")
            .run()
            .err()
            .contains("there is a map `some` already")
    );
    let listed = crate::shown(&home, &["map", "--list"]);
    assert!(listed.out().contains("stopped"), "{}", listed.out());
    // What had been told is told again: the whole result is there.
    let shown = map(&home, &["--resume", "some"], "").run();
    let all: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
    let expected: Vec<&str> = all
        .iter()
        .map(String::as_str)
        .filter(|n| *n != "5")
        .collect();
    assert_eq!(shown.out().lines().collect::<Vec<_>>(), expected);
    assert!(counted(&marks).values().all(|times| *times == 1));
    assert_eq!(counted(&marks).len(), 20);
    let shown = map(&home, &["--resume", "some", "--retry", "failed"], "").run();
    assert_eq!((shown.code(), counted(&marks)["5"]), (Some(123), 2));
    assert_eq!(
        crate::shown(&home, &["map", "--forget", "some"]).code(),
        Some(0)
    );
    assert!(!home.state().join("maps").exists());
}

/// Kills maps at random moments and resumes them until they are complete.
fn killed_and_resumed(home: &Home, more: &[&str], rounds: usize) {
    let items = numbers(60);
    for round in 0..rounds {
        let marks = home.workspace().join(format!("marks{round}"));
        let script = format!("echo {{}} >> {}; sleep 0.02; echo {{}}", marks.display());
        let name = format!("killed{round}");
        let asked = [&["--name", &name, "-j", "4"], more, &[script.as_str()]].concat();
        let mut child = map(home, &asked, "").spawn();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(items.as_bytes()).unwrap();
        drop(stdin);
        let enough = 4 + (round * 13) % 40;
        wait_until("some items", || counted(&marks).len() >= enough);
        child.kill().unwrap();
        child.wait().unwrap();
        let resumed = || map(home, &["--resume", &name, "--json"], "").run();
        wait_until("the lock", || !resumed_is_refused(home, &name));
        let shown = resumed();
        let (results, whole) = results(&shown);
        let counts = &whole["counts"];
        assert_eq!(
            (results.len(), &whole["complete"]),
            (60, &true.into()),
            "{whole}"
        );
        let lost = counts["lost"].as_u64().unwrap();
        assert!(lost <= 4, "only what ran can be lost: {whole}");
        assert_eq!(counts["done"].as_u64().unwrap() + lost, 60, "{whole}");
        let marks = counted(&marks);
        assert!(
            marks.values().all(|times| *times == 1),
            "each once: {marks:?}"
        );
        for result in &results {
            let item = result["item"].as_str().unwrap();
            match result["state"].as_str().unwrap() {
                "done" => {
                    assert_eq!(
                        (&result["output"], marks[item]),
                        (&format!("{item}\n").into(), 1)
                    );
                }
                "lost" => assert!(result["exit_code"].is_null()),
                state => panic!("{item} is {state}"),
            }
        }
    }
}

fn resumed_is_refused(home: &Home, name: &str) -> bool {
    let listed = crate::shown(home, &["map", "--list", "--json"]).out();
    let mut maps = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    maps.any(|map: Value| map["map"] == *name && map["state"] == "running")
}

#[test]
fn a_killed_map_is_resumed_by_its_name_and_runs_nothing_twice() {
    killed_and_resumed(&home(), &[], repetitions(40));
}

/// A home with places `one` and `two` of kind `pipe`, the latter behind a script.
fn home_with_places(script: &str) -> Home {
    let home = home();
    let bashd = env!("CARGO_BIN_EXE_bashd");
    let outpost = |name: &str| {
        let state = home.state().join("outpost").join(name);
        format!(
            "{bashd:?}, \"outpost\", \"--idle\", \"0.3\", \"--state\", \"{}\"",
            state.display()
        )
    };
    let text = format!(
        "[places.one]\nkind = \"pipe\"\ncommand = [{}]\npatience_seconds = 5\n\
         [places.two]\nkind = \"pipe\"\ncommand = [\"sh\", \"-c\", {script:?}, \"sh\", {}]\npatience_seconds = 5\n",
        outpost("one"),
        outpost("two"),
    );
    fs::write(home.config().join("config.toml"), text).unwrap();
    home
}

#[test]
fn items_are_spread_over_places_and_go_on_while_one_is_away() {
    // The second place is reached at the third attempt.
    let script = "echo x >> \"$TMPDIR/tries\"; [ $(wc -l < \"$TMPDIR/tries\") -ge 3 ] || exit 7; exec \"$@\"";
    let home = home_with_places(script);
    let marks = home.workspace().join("marks");
    let script = format!("echo {{}} >> {}; sleep 0.05; echo {{}}", marks.display());
    let asked = ["--json", "-j", "4", "--on", "one,two,here", &script];
    let shown = map(&home, &asked, &numbers(150)).run();
    let (results, whole) = results(&shown);
    assert_eq!(
        (shown.code(), &whole["counts"]["done"]),
        (Some(0), &150.into()),
        "{whole}"
    );
    assert!(counted(&marks).values().all(|times| *times == 1));
    for place in ["one", "two"] {
        let there = results
            .iter()
            .filter(|result| result["place"] == place)
            .count();
        assert!(there > 0, "{place} had none: {}", shown.err());
    }
    assert!(results.iter().any(|result| result["place"].is_null()));
    assert!(
        shown.err().contains("the place `two` can't be reached"),
        "{}",
        shown.err()
    );
    assert!(
        shown.err().contains("the place `two` is reached again"),
        "{}",
        shown.err()
    );
    fs::remove_file(home.tmp().join("tries")).unwrap();
}

#[test]
fn a_map_at_places_that_are_all_gone_ends_and_begins_nothing() {
    let home = home_with_places("exit 7");
    let shown = map(&home, &["--on", "two", "touch ran"], "1\n").run();
    assert_eq!(shown.code(), Some(125), "{}", shown.err());
    assert!(
        shown.err().contains("the place `two` can't be reached"),
        "{}",
        shown.err()
    );
    assert!(!home.workspace().join("ran").exists());
}

#[test]
fn a_killed_map_at_a_place_is_resumed_and_runs_nothing_twice() {
    let home = home_with_places("exec \"$@\"");
    killed_and_resumed(&home, &["--on", "one,two"], repetitions(40));
    // What nobody came back for would keep the outposts for ten minutes.
    for process in with_variable(MARK, home.mark()) {
        let line = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains("--serve") {
            kill_process(Pid::from_raw(process.pid).unwrap(), Signal::KILL).unwrap();
        }
    }
}

#[test]
fn ctrl_c_ends_what_runs_and_the_rest_can_be_resumed() {
    let home = home();
    let script = "touch begun{}; sleep 60";
    let mut child = map(&home, &["-j", "2", "--name", "slow", script], "").spawn();
    child.stdin.take().unwrap().write_all(b"1\n2\n3\n").unwrap();
    wait_until("two items", || {
        let begun = |number| home.workspace().join(format!("begun{number}")).exists();
        begun(1) && begun(2)
    });
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!home.workspace().join("begun3").exists());
    let listed = crate::shown(&home, &["map", "--list", "--json"]).out();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        (&listed["state"], &listed["ended"]),
        (&"stopped".into(), &2.into())
    );
    // The leak check sees that nothing of it runs on.
}

#[test]
fn memory_stays_flat_while_items_pass() {
    let home = home();
    let count = if is_soak() { 100_000 } else { 1_500 };
    let mut child = map(&home, &["-j", "8", "--order", "as-they-come", ":"], "").spawn();
    let mut stdin = child.stdin.take().unwrap();
    let pid = child.id();
    let writer = std::thread::spawn(move || stdin.write_all(numbers(count).as_bytes()));
    let kilobytes = || {
        let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix("RssAnon:"));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
    };
    let (mut early, mut most) = (None, 0);
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        let now = kilobytes().unwrap_or(0);
        // After it has warmed up.
        if begun.elapsed() > Duration::from_millis(700) {
            early.get_or_insert(now);
        }
        most = most.max(now);
        std::thread::sleep(Duration::from_millis(20));
    }
    writer.join().unwrap().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let early = early.unwrap_or(most);
    assert!(most < early + 8 * 1024, "from {early} kB to {most} kB");
}
