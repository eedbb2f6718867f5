//! `schema --rpc`: the description of the protocol against what a server really says, and the copy
//! that the SDKs are made from.

use crate::rpc_under_test::Client;
use crate::shown;
use bashd_testkit::{Home, sources};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

const RULE: &str = "[[rules]]\nname = 'asks'\ndecision = 'ask'\nmessage = 'really?'\n\
    command = 'made-up'\nexamples.deny = ['made-up']\nexamples.allow = ['true']\n";

fn description(home: &Home) -> Value {
    let printed = shown(home, &["schema", "--rpc"]);
    assert_eq!(printed.code(), Some(0), "{}", printed.err());
    serde_json::from_slice(&printed.stdout).unwrap()
}

/// The description, in which no object may have a field that it does not name.
fn closed(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(members) => {
            if members.contains_key("properties") {
                members.insert("additionalProperties".to_owned(), json!(false));
            }
            for (_, member) in members.iter_mut() {
                *member = closed(member.take());
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = closed(item.take());
            }
        }
        _ => {}
    }
    schema
}

/// Holds values against types of the description, and remembers which.
struct Described {
    closed: Value,
    seen: BTreeSet<String>,
}

impl Described {
    fn holds(&mut self, schema: &Value, value: &Value) {
        let name = schema["$ref"].as_str().unwrap_or_default().to_owned();
        let mut schema = schema.clone();
        schema["$defs"] = self.closed["$defs"].clone();
        let checked = jsonschema::validator_for(&schema).unwrap();
        let faults: Vec<String> = checked
            .iter_errors(value)
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{name}: {faults:?}\n{value}");
        self.seen.insert(name);
    }

    fn answer(&mut self, response: &Value) {
        let request = response["command"].as_str().unwrap();
        assert_eq!(response["success"], true, "{response}");
        let schema = self.closed["requests"][request]["data"].clone();
        match response.get("data") {
            Some(data) => self.holds(&schema, data),
            None => assert!(schema.is_null(), "{response}"),
        }
    }

    fn event(&mut self, event: &Value) {
        let name = event["type"].as_str().unwrap();
        let schema = self.closed["events"][name].clone();
        let mut fields = event.clone();
        for envelope in ["id", "type"] {
            fields.as_object_mut().unwrap().remove(envelope);
        }
        self.holds(&schema, &fields);
    }
}

#[test]
fn the_description_is_what_a_server_says() {
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    fs::create_dir_all(home.config()).unwrap();
    fs::write(home.config().join("config.toml"), RULE).unwrap();
    let closed = closed(description(&home));
    let mut described = Described {
        closed,
        seen: BTreeSet::new(),
    };
    let mut client = Client::start(&home, &[]);
    let all = json!({"approve": true, "jobs": true, "progress": true});
    described.answer(&client.ask(&json!({"id": "0", "type": "hello", "capabilities": all})));
    described.answer(&client.ask(&json!({"id": "1", "type": "schema"})));
    let all_tools = client.ask(&json!({"id": "1a", "type": "schema", "all": true}));
    assert!(all_tools["data"].is_array(), "{all_tools}");
    described.answer(&all_tools);
    let tools = client.ask(&json!({"id": "2", "type": "tools"}));
    described.answer(&tools);
    let names = |tools: &Value| -> Vec<String> {
        let tools = tools["data"]["tools"].as_array().unwrap().iter();
        let named = tools.map(|tool| format!("{}: {}", tool["request"], tool["name"]));
        named.collect()
    };
    let expected = [
        r#""call": "bash""#,
        r#""job": "job""#,
        r#""artifact": "artifact""#,
    ];
    assert_eq!(names(&tools), expected);
    let phoenix = client.ask(&json!({"id": "3", "type": "tools", "profile": "phoenix"}));
    assert_eq!(names(&phoenix), [r#""call": "bash""#]);
    described.answer(&client.ask(&json!({"id": "4", "type": "bash", "command": "seq 1 20000"})));
    described.answer(&client.ask(&json!({"id": "5", "type": "abort_bash"})));

    client.say(&json!({"id": "6", "type": "call", "stream": true, "arguments": {"command": "echo hi; exit 3"}}));
    for event in ["started", "output", "finished"] {
        described.event(&client.next_where(|message| message["type"] == event));
    }
    described.answer(&client.response("6"));
    client.say(&json!({"id": "7", "type": "call", "arguments": {"command": "made-up"}}));
    let asked = client.next_where(|message| message["type"] == "request");
    let approve = described.closed["questions"]["approve"]["params"].clone();
    described.holds(&approve, &asked["params"]);
    client.say(&json!({"id": asked["id"], "type": "reply", "result": {"approved": false}}));
    let denied = client.response("7");
    assert!(denied["data"]["denied"].is_object(), "{denied}");
    described.answer(&denied);

    let long =
        client.ask(&json!({"id": "8", "type": "call", "arguments": {"command": "seq 1 20000"}}));
    let address = &long["data"]["artifact"];
    let arguments = json!({"id": address, "tail": 2});
    let stored = client.ask(&json!({"id": "9", "type": "artifact", "arguments": arguments}));
    described.answer(&stored);
    assert_eq!(stored["data"]["output"], "19999\n20000\n");
    let missing = client.ask(&json!({"id": "10", "type": "artifact", "arguments": {"id": "x"}}));
    let reason = "`x` is not an address like artifact://3";
    assert_eq!(missing["error"], reason, "{missing}");

    jobs_are_as_described(&mut described, &mut client);
    client.say(&json!({"id": "30", "type": "call", "arguments": {"command": "sleep 100"}}));
    described.answer(&client.ask(&json!({"id": "31", "type": "cancel", "target": "30"})));
    described.answer(&client.response("30"));
    drop(client);

    let results = described.closed["requests"]["job"]["results"].clone();
    let events = described.closed["events"].clone();
    let expected = results.as_object().unwrap().values();
    let expected = expected.chain(events.as_object().unwrap().values());
    for schema in expected {
        let name = schema["$ref"].as_str().unwrap();
        let is_of_terminals = name.ends_with("TerminalEvent");
        assert!(
            described.seen.contains(name) || is_of_terminals,
            "{name} was not seen"
        );
    }
}

fn jobs_are_as_described(described: &mut Described, client: &mut Client) {
    let command = "echo one; read x; echo got $x; sleep 100";
    let arguments = json!({"command": command, "background": true, "pty": true});
    let started = client.ask(&json!({"id": "20", "type": "call", "arguments": arguments}));
    described.answer(&started);
    let job = started["data"]["job"].clone();
    for (action, more) in [
        ("list", json!({})),
        ("send", json!({"text": "a\n"})),
        ("wait", json!({"regex": "got"})),
        ("output", json!({"grep": "got"})),
        ("screen", json!({})),
        ("rename", json!({"name": "mine"})),
        ("signal", json!({"signal": "WINCH"})),
    ] {
        let mut arguments = more;
        arguments["action"] = json!(action);
        if action != "list" {
            arguments["job"] = job.clone();
        }
        let id = format!("job {action}");
        let answer = client.ask(&json!({"id": id, "type": "job", "arguments": arguments}));
        described.answer(&answer);
        let result = described.closed["requests"]["job"]["results"][action].clone();
        described.holds(&result, &answer["data"]["result"]);
    }
    described.event(&client.next_where(|message| message["type"] == "job_progress"));
    // An end that nobody has asked about is told.
    let arguments = json!({"action": "signal", "job": job, "signal": "KILL"});
    client.ask(&json!({"id": "21", "type": "job", "arguments": arguments}));
    described.event(&client.next_where(|message| message["type"] == "job_ended"));
    described.event(&client.next_where(|message| message["type"] == "jobs_ended"));
    let arguments = json!({"action": "kill", "job": job});
    let ended = client.ask(&json!({"id": "22", "type": "job", "arguments": arguments}));
    let result = described.closed["requests"]["job"]["results"]["kill"].clone();
    described.holds(&result, &ended["data"]["result"]);
}

#[test]
fn the_sdks_are_made_from_this_description() {
    let home = Home::new();
    let printed = shown(&home, &["schema", "--rpc"]).out();
    let path = sources::root().join("sdk/protocol.json");
    if std::env::var_os("BASHD_BLESS").is_some() {
        fs::write(&path, &printed).unwrap();
        let made = Command::new(sources::root().join("sdk/generate")).status();
        assert!(made.unwrap().success());
    }
    let copy = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        copy == printed,
        "sdk/protocol.json is not what `bashd schema --rpc` prints: BASHD_BLESS=1 writes it, and the SDKs' types"
    );
    let check = Command::new("python3")
        .arg(sources::root().join("sdk/generate"))
        .arg("--check")
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&check.stderr);
    assert!(check.status.success(), "{complaint}");
}

/// What is wrong with the bounds of arguments: every number has two, every list and every pattern
/// one.
fn unbounded(schema: &Value, path: &str, found: &mut Vec<String>) {
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let path = format!("{path}.{name}");
        let caps: &[&str] = match property["type"].as_str() {
            Some("number" | "integer") => &["minimum", "maximum"],
            Some("array") => &["maxItems"],
            Some("string") if ["regex", "grep"].contains(&name.as_str()) => &["maxLength"],
            _ => &[],
        };
        if caps.iter().any(|cap| !property[cap].is_number()) {
            found.push(path.clone());
        }
        unbounded(property, &path, found);
    }
}

#[test]
fn every_size_that_a_client_can_name_has_a_cap_in_the_description() {
    let home = Home::new();
    let description = description(&home);
    let (mut found, mut seen) = (Vec::new(), 0);
    let definitions = description["$defs"].as_object().unwrap().iter();
    for (name, definition) in definitions.filter(|(name, _)| name.ends_with("Arguments")) {
        unbounded(definition, name, &mut found);
        seen += 1;
    }
    unbounded(&description["$defs"]["Until"], "Until", &mut found);
    for (name, request) in description["requests"].as_object().unwrap() {
        unbounded(&request["fields"], name, &mut found);
    }
    assert_eq!((seen, found), (3, Vec::<String>::new()));
}
