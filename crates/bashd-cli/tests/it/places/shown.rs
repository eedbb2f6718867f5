//! `bashd places`, the parameter `on`, and servers at a place.

use super::{carrier, home_with, reply_of};
use crate::rpc_under_test::Client;
use bashd_testkit::Home;
use serde_json::{Value, json};

fn home() -> Home {
    let lost = "[places.lost]\nkind = \"pipe\"\ncommand = [\"sh\", \"-c\", \"echo no route >&2; exit 3\"]\n";
    home_with(&carrier(), lost)
}

#[test]
fn places_are_shown_with_what_they_are_like_or_why_they_are_not_reached() {
    let home = home();
    let shown = crate::shown(&home, &["places"]);
    assert_eq!(shown.code(), Some(1), "{}", shown.err());
    let text = shown.out();
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(
        row("there").contains("reached") && row("there").contains("subreaper"),
        "{text}"
    );
    assert!(
        row("lost").contains("unreachable") && row("lost").contains("no route"),
        "{text}"
    );
    let shown = crate::shown(&home, &["places", "--json"]).out();
    let there = shown
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let there: Vec<Value> = there.collect();
    let [lost, there] = &there[..] else {
        panic!("{shown}");
    };
    assert_eq!(
        (&lost["state"], &there["state"]),
        (&json!("unreachable"), &json!("reached"))
    );
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(there["kernel"], kernel.trim());
    assert!(
        there["round_trip_ms"].as_f64().unwrap() > 0.0 && there["free_bytes"].as_u64() > Some(0)
    );
    assert!(there["load"].as_f64() >= Some(0.0) && there["processors"].as_u64() > Some(0));
    assert_eq!((&there["runs"], &there["jobs"]), (&json!(0), &json!(0)));
    assert!(there["build"].is_string() && there.get("survives_logout").is_some());
    assert_eq!(there["trees"], "subreaper and pidfd");
}

#[test]
fn a_place_is_checked() {
    let home = home();
    let shown = crate::shown(&home, &["places", "check", "there", "--json"]);
    let told = reply_of(&shown);
    let problems = told["problems"].as_array().unwrap();
    // A small disk is a finding about this machine.
    let is_space = |problem: &Value| problem.as_str().unwrap().contains("MiB left");
    assert!(problems.iter().all(is_space), "{told}");
    let shown = crate::shown(&home, &["places", "check", "there"]).out();
    for said in ["reached in", "a command ran there", "confinement there"] {
        assert!(shown.contains(said), "{shown}");
    }
    let lost = crate::shown(&home, &["places", "check", "lost"]);
    assert_eq!(lost.code(), Some(1));
    assert!(
        lost.out().starts_with("not ok") && lost.out().contains("no route"),
        "{}",
        lost.out()
    );
    let unknown = crate::shown(&home, &["places", "check", "nowhere"]);
    assert_eq!(unknown.code(), Some(125));
    assert!(
        unknown.err().contains("one of: lost, there"),
        "{}",
        unknown.err()
    );
}

#[test]
fn models_are_told_of_places_where_there_are_some() {
    let home = home();
    let on = |home: &Home, more: &[&str]| {
        let shown = crate::shown(home, &[&["schema", "--profile", "default"], more].concat());
        reply_of(&shown)["input_schema"]["properties"]["on"].clone()
    };
    assert_eq!(on(&home, &[])["enum"], json!(["here", "lost", "there"]));
    assert_eq!(on(&Home::new(), &[]), Value::Null);
    let input = json!({"command": "echo $((6 * 7))", "on": "there"}).to_string();
    let shown = crate::bashd(&home, &["run", "--json", "--input", "-"]).stdin(&*input);
    let reply = reply_of(&shown.run());
    assert_eq!(
        (&reply["output"], &reply["place"]),
        (&json!("42\n"), &json!("there"))
    );
}

#[test]
fn a_server_runs_everything_at_its_place() {
    let home = home();
    let mut client = Client::start(&home, &["--on", "there"]);
    let asked = json!({"id": 1, "type": "call", "arguments": {"command": "echo hello"}});
    let told = client.ask(&asked);
    assert_eq!(told["data"]["place"], "there", "{told}");
    assert_eq!(told["data"]["output"], "hello\n", "{told}");
    client.close();
    let unknown = crate::shown(&home, &["rpc", "--on", "nowhere"]);
    assert!(
        unknown.err().contains("there is no place `nowhere`"),
        "{}",
        unknown.err()
    );
}
