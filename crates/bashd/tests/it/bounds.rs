//! Every number that a caller can name, at its extremes: each is answered, and none costs the
//! engine much memory.

use crate::engine_under_test::{engine, engine_with};
use bashd::config::Preset;
use bashd::jobs::{OutputQuery, Whose};
use bashd::profile::schema;
use bashd::{Call, Config, Engine, Profile, Request};
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The profiles, and whether documents fix their schemas, so that a cap holds without being stated.
const PROFILES: [(&str, bool); 5] = [
    ("default", false),
    ("pi", true),
    ("voice", true),
    ("harness", true),
    ("phoenix", true),
];

/// What answers to all of this may add to the engine's memory: the text of a few at their largest,
/// and what the allocator keeps.
const MEMORY: u64 = 32 * 1024 * 1024;

/// Numbers beyond every cap.
const BEYOND: [f64; 6] = [
    -1.0,
    1e9 + 1.0,
    1e12,
    9_007_199_254_740_992.0,
    1.8e19,
    1e300,
];

/// The most memory that this process has had, in bytes.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("our own status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
    kibibytes
        .and_then(|text| text.parse::<u64>().ok())
        .expect("a number")
        * 1024
}

/// What a schema has of a kind: the path to each, and its own schema.
fn all_of(
    kind: fn(&str, &Value) -> bool,
    schema: &Value,
    path: &[String],
) -> Vec<(Vec<String>, Value)> {
    let mut found = Vec::new();
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let path = [path, std::slice::from_ref(name)].concat();
        found.extend(all_of(kind, property, &path));
        if kind(name, property) {
            found.push((path, property.clone()));
        }
    }
    found
}

fn numbers(schema: &Value) -> Vec<(Vec<String>, Value)> {
    let is_number =
        |_: &str, property: &Value| property["type"] == "number" || property["type"] == "integer";
    all_of(is_number, schema, &[])
}

fn lists_and_patterns(schema: &Value) -> Vec<(Vec<String>, Value)> {
    let is_one = |name: &str, property: &Value| {
        property["type"] == "array" || ["regex", "grep"].contains(&name)
    };
    all_of(is_one, schema, &[])
}

/// One more than a list or a pattern may have, if its schema says how many that is.
fn one_too_many(property: &Value) -> Option<Value> {
    let most = |name: &str| property[name].as_u64();
    let list = most("maxItems").map(|most| json!(vec!["x"; most as usize + 1]));
    list.or_else(|| most("maxLength").map(|most| json!("x".repeat(most as usize + 1))))
}

#[tokio::test]
async fn every_list_and_every_pattern_that_a_caller_can_name_is_bounded() {
    let home = Home::new();
    let engine = engine_with(&home, |config| config.async_enabled = true);
    for (name, is_fixed) in PROFILES {
        let profile = Profile::builtin(name).expect("one").expect("a good one");
        let mut config = Config::new(home.state());
        config.async_enabled = true;
        config.confinement.preset = Some(Preset::Workspace);
        let tool = schema::definition(&profile, "/", &config);
        let lists = lists_and_patterns(&tool["input_schema"]);
        assert!(name != "default" || lists.len() >= 3, "{lists:?}");
        for (path, property) in lists {
            let Some(many) = one_too_many(&property) else {
                assert!(is_fixed, "{name}: {path:?} has no cap: {property}");
                continue;
            };
            let mut base = json!({"command": "touch X", "background": path[0] == "until"});
            base[&path[0]] = json!({"reason": "to see"});
            if path[0] == "until" {
                base["until"] = json!({});
            }
            let arguments = with(&base, &path, &many).to_string();
            let request = Request::default().profile(name);
            let reply = engine.run(Call::json(&arguments, request)).await;
            let path = path.join(".");
            assert!(
                reply.is_error && reply.text.contains("at most"),
                "{path}: {reply:?}"
            );
        }
        let Some(tool) = schema::job_definition(&profile, &config) else {
            continue;
        };
        for (path, property) in lists_and_patterns(&tool["input_schema"]) {
            let many = one_too_many(&property);
            let many = many.unwrap_or_else(|| panic!("{name}: {path:?} has no cap: {property}"));
            let base = match tool["input_schema"]["properties"].get("action") {
                Some(_) => json!({"action": "list"}),
                None => json!({}),
            };
            let arguments = with(&base, &path, &many).to_string();
            let reply = engine
                .job(Call::json(&arguments, Request::default().profile(name)))
                .await;
            let is_refused = reply.is_error && reply.text.contains("at most");
            assert!(is_refused, "{name}: {path:?}: {}", reply.text);
        }
    }
    assert!(!home.workspace().join("X").exists());
}

/// These arguments with a number put where the path leads.
fn with(base: &Value, path: &[String], number: &Value) -> Value {
    let mut arguments = base.clone();
    let mut place = &mut arguments;
    for name in path {
        place = &mut place[name];
    }
    *place = number.clone();
    arguments
}

/// The ends of a number's range, and what is beyond.
fn extremes(property: &Value) -> Vec<Value> {
    let is_whole = property["type"] == "integer";
    let ends = [&property["minimum"], &property["maximum"]];
    let mut all: Vec<Value> = ends
        .into_iter()
        .filter(|end| !end.is_null())
        .cloned()
        .collect();
    all.extend(BEYOND.map(|number| match number as u64 {
        whole if is_whole && number > 0.0 && number < 1.8e19 => json!(whole),
        _ => json!(number),
    }));
    all.push(json!(u64::MAX));
    all
}

#[tokio::test]
async fn every_number_that_a_caller_can_name_is_bounded() {
    let home = Home::new();
    let engine = engine(&home);
    let job = job_with_much_output(&engine).await;
    let before = most_memory();
    for (name, is_fixed) in PROFILES {
        let profile = Profile::builtin(name)
            .expect("a profile")
            .expect("a good one");
        let config = Config::new(home.state());
        let tool = schema::definition(&profile, "/", &config);
        for (path, property) in numbers(&tool["input_schema"]) {
            let is_stated = !property["maximum"].is_null() && !property["minimum"].is_null();
            assert!(
                is_stated || is_fixed,
                "{name}: {path:?} has no cap: {property}"
            );
            for number in extremes(&property) {
                let mut base = json!({"command": "echo fine"});
                if path.first().is_some_and(|first| first == "until") {
                    base["background"] = json!(true);
                    base["until"] = json!({"port": 1, "timeout": 0});
                    if path.last().is_some_and(|last| last != "timeout") {
                        base["until"] = json!({"timeout": 0});
                    }
                    base["command"] = json!("exit 0");
                }
                let arguments = with(&base, &path, &number).to_string();
                let request = Request::default().profile(name);
                let reply = engine.run(Call::json(&arguments, request)).await;
                let is_right = reply.text.contains("fine") || reply.is_error || reply.job.is_some();
                assert!(
                    is_right || base["background"] == true,
                    "{arguments}: {reply:?}"
                );
            }
        }
        let Some(tool) = schema::job_definition(&profile, &config) else {
            continue;
        };
        for (path, property) in numbers(&tool["input_schema"]) {
            let is_stated = !property["maximum"].is_null() && !property["minimum"].is_null();
            assert!(is_stated, "{name}: {path:?} has no cap: {property}");
            let ends = ["minimum", "maximum"].map(|end| property[end].as_f64());
            let [least, most] = ends.map(|end| end.expect("a number"));
            for number in extremes(&property) {
                for action in actions(&path) {
                    let base = json!({"action": action, "job": job, "timeout": 0});
                    let arguments = with(&base, &path, &number).to_string();
                    let request = Request::default().profile(name).owner("tester");
                    let begun = Instant::now();
                    let reply = engine.job(Call::json(&arguments, request)).await;
                    let is_within = (least..=most).contains(&number.as_f64().expect("a number"));
                    let is_refused = reply.is_error && reply.text.contains("must be");
                    assert!(is_within || is_refused, "{arguments}: {}", reply.text);
                    assert!(begun.elapsed().as_secs() < 30, "{arguments}");
                }
            }
        }
    }
    let more = most_memory() - before;
    assert!(more < MEMORY, "{more}");
    let end = json!({"action": "kill", "job": job}).to_string();
    engine
        .job(Call::json(end, Request::default().owner("tester")))
        .await;
}

/// The actions that a number of the job tool belongs to; none of them waits here.
fn actions(path: &[String]) -> &'static [&'static str] {
    match path.first().map(String::as_str) {
        Some("offset" | "tail" | "max_bytes") => &["output"],
        Some("scrollback") => &["screen"],
        // At its largest it would wait for an hour.
        Some("timeout") => &["list"],
        _ => &["wait"],
    }
}

/// A job whose output is larger than all that is allowed here.
async fn job_with_much_output(engine: &Engine) -> String {
    let command = "yes 'a line' | head -c 60000000; echo; echo whole; sleep 300";
    let request = Request::new(command).owner("tester").background();
    let reply = engine.run(request).await;
    let job = reply.job.clone();
    let job = job.unwrap_or_else(|| panic!("no job: {reply:?}"));
    let found = engine
        .jobs()
        .find(Whose::Owner("tester"), &job)
        .expect("the job");
    let begun = Instant::now();
    loop {
        let last = engine.jobs().output(&found, &OutputQuery::tail(1)).await;
        if last.expect("its end").text == "whole\n" {
            return job;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "it does not end");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
