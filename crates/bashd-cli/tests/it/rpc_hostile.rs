//! `bashd rpc` with clients that mean no good: a clear error, bounded memory, no crash, nothing
//! left.

use crate::rpc_under_test::Client;
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::io::Write;
use std::time::{Duration, Instant};

/// What a server may have, whatever its client does; debug builds included.
const MEMORY: u64 = 150 * 1024 * 1024;

fn still_works(client: &mut Client) {
    let answer = client.ask(&json!({"id": "works", "type": "bash", "command": "echo fine"}));
    assert_eq!(answer["data"]["output"], "fine\n");
}

#[test]
fn what_is_no_message_is_answered_and_the_next_is_heard() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    let deep = format!("{}\n", "[".repeat(200_000));
    for (line, error) in [
        ("nonsense\n", "Failed to parse command: expected"),
        ("{\"type\":\"bash\"\n", "Failed to parse command: EOF"),
        ("\u{0}\u{1}\n", "Failed to parse command"),
        ("[]\n", "a message must be an object"),
        ("{\"type\":\"dance\"}\n", "Unknown command: dance"),
        (
            "{\"id\":[1],\"type\":\"bash\"}\n",
            "`id` must be a string or a number",
        ),
        (
            "{\"type\":\"reply\",\"id\":\"bashd-9\"}\n",
            "there was no request with the id",
        ),
        (
            "{\"type\":\"cancel\",\"target\":\"nobody\"}\n",
            "no call with the id",
        ),
        (
            "{\"type\":\"call\",\"arguments\":{},\"terminal\":true}\n",
            "not offered terminals",
        ),
        (deep.as_str(), "recursion limit"),
    ] {
        client.say_raw(line.as_bytes());
        let answer = client.next();
        assert_eq!(answer["success"], false, "{line}: {answer}");
        let told = answer["error"].as_str().unwrap();
        assert!(told.contains(error), "{line}: {told}");
    }
    for line in [
        "{\"id\":\"lone\",\"type\":\"bash\",\"command\":\"\\ud800\"}\n",
        "{\"type\":\"bash\",\"command\":\"\\udc00 x\",\"id\":\"lone\"}\n",
        "{\"id\":\"lone\",\"type\":\"bash\",\"command\":\n",
    ] {
        client.say_raw(line.as_bytes());
        let answer = client.next();
        assert_eq!(
            (&answer["id"], &answer["success"]),
            (&json!("lone"), &json!(false)),
            "{line}"
        );
    }
    client.say_raw(&[0xff, 0xfe, b'\n']);
    assert_eq!(client.next()["success"], false);
    still_works(&mut client);
    client.close();
}

#[test]
fn a_line_of_ten_megabytes_is_refused_without_being_kept() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    for _ in 0..3 {
        let line = format!(
            "{{\"id\":\"1\",\"type\":\"bash\",\"command\":\"{}\"}}\n",
            "x".repeat(10_000_000)
        );
        client.say_raw(line.as_bytes());
        let answer = client.next();
        assert_eq!(
            answer["error"],
            "Failed to parse command: a line may have at most 8 MiB"
        );
        assert_eq!(answer["id"], "1", "its sender waits for it");
    }
    still_works(&mut client);
    assert!(client.most_memory() < MEMORY, "{}", client.most_memory());
    client.close();
}

#[test]
fn an_id_that_is_in_use_is_refused() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    client.say(
        &json!({"id": "1", "type": "bash", "command": "until [ -e go ]; do sleep 0.01; done"}),
    );
    client.say(&json!({"id": "1", "type": "bash", "command": "touch X"}));
    let answer = client.next();
    assert_eq!(
        answer["error"],
        "a call with the id \"1\" is already in progress"
    );
    std::fs::write(home.workspace().join("go"), "").unwrap();
    assert_eq!(client.response("1")["success"], true);
    assert!(!home.workspace().join("X").exists());
    client.close();
}

#[test]
fn a_thousand_requests_at_once_are_all_answered() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    let count: u64 = 1000;
    let mut stdin = client.stdin.take().unwrap();
    let asking = std::thread::spawn(move || {
        for id in 0..count {
            let line = json!({"id": id, "type": "bash", "command": format!("echo {id}")});
            writeln!(stdin, "{line}").unwrap();
        }
        stdin
    });
    let mut outputs: Vec<(u64, String)> = (0..count)
        .map(|_| client.next())
        .map(|answer| {
            let output = answer["data"]["output"]
                .as_str()
                .unwrap_or_else(|| panic!("{answer}"));
            (answer["id"].as_u64().unwrap(), output.to_owned())
        })
        .collect();
    outputs.sort();
    let expected: Vec<(u64, String)> = (0..count).map(|id| (id, format!("{id}\n"))).collect();
    assert_eq!(outputs, expected);
    assert!(client.most_memory() < MEMORY, "{}", client.most_memory());
    client.stdin = Some(asking.join().unwrap());
    client.close();
}

#[test]
fn too_many_calls_are_refused_and_those_under_way_can_be_ended() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    let mut stdin = client.stdin.take().unwrap();
    let asking = std::thread::spawn(move || {
        for _ in 0..4200 {
            writeln!(stdin, "{}", json!({"type": "bash", "command": "sleep 300"})).unwrap();
        }
        writeln!(stdin, "{}", json!({"id": "enough", "type": "abort_bash"})).unwrap();
        stdin
    });
    assert_eq!(client.response("enough")["success"], true);
    client.stdin = Some(asking.join().unwrap());
    let answers: Vec<Value> = (0..4200)
        .map(|_| client.next_where(|answer| answer["command"] == "bash"))
        .collect();
    let refused = answers.iter().filter(|answer| {
        answer["error"]
            .as_str()
            .is_some_and(|error| error.contains("too many calls"))
    });
    assert_eq!(refused.count(), 4200 - 4096);
    still_works(&mut client);
    client.close();
}

#[test]
fn a_client_that_never_reads_costs_little_and_loses_nothing() {
    let home = Home::new();
    let mut client = Client::start_deaf(&home, &[]);
    for id in 0..20 {
        let command = "seq 200000";
        client.say(
            &json!({"id": id, "type": "call", "stream": true, "arguments": {"command": command}}),
        );
    }
    // Until everything that may go ahead has gone ahead.
    let mut last = 0;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) || client.most_memory() > last {
        last = client.most_memory();
        std::thread::sleep(Duration::from_millis(300));
    }
    assert!(last < MEMORY, "{last}");
    client.listen();
    let mut ends = vec![0; 20];
    let mut responses = 0;
    while responses < 20 {
        let message = client.next();
        let id = message["id"].as_u64().unwrap() as usize;
        if message["type"] == "output" {
            assert_eq!(message["offset"], ends[id], "a gap in {id}");
            ends[id] += message["text"].as_str().unwrap().len();
        }
        responses += usize::from(message["type"] == "response");
    }
    assert_eq!(ends, vec![1_288_895; 20]);
    client.close();
}

#[test]
fn a_client_that_closes_and_never_reads_is_given_up() {
    let home = Home::new();
    let mut client = Client::start_deaf(&home, &["--linger", "0.3"]);
    for id in 0..200 {
        client.say(&json!({"id": id, "type": "bash", "command": "seq 10000"}));
    }
    drop(client.stdin.take());
    assert_eq!(client.ended().code(), Some(0));
}

#[test]
fn a_client_that_closes_one_end_first_is_answered() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    let command = "until [ -e go ]; do sleep 0.01; done; echo late";
    client.say(&json!({"id": "1", "type": "bash", "command": command}));
    drop(client.stdin.take());
    std::fs::write(home.workspace().join("go"), "").unwrap();
    assert_eq!(client.response("1")["data"]["output"], "late\n");
    assert_eq!(client.ended().code(), Some(0));
}

/// One client has every place that one may have, and a further call of its own waits for one.
#[test]
fn a_call_that_comes_to_no_place_is_answered_at_its_own_deadline() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    // A client's share of 128 places.
    for _ in 0..96 {
        client.say(&json!({"type": "bash", "command": "sleep 300"}));
    }
    let begun = Instant::now();
    let arguments = json!({"command": "touch X", "timeout": 1});
    client.say(&json!({"id": "late", "type": "call", "arguments": arguments}));
    let answer = client.response("late");
    let error = answer["data"]["error"].as_str().unwrap_or_default();
    let words = "every place for a command was taken for 1 s, and nothing was run";
    assert!(error.contains(words), "{answer}");
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    assert!(!home.workspace().join("X").exists());
    client.ask(&json!({"id": "enough", "type": "abort_bash"}));
    still_works(&mut client);
    client.close();
}

/// With a search for each name it would take the server a minute, which nothing could end. What
/// takes bash as long ends at the call's own deadline.
#[test]
fn an_environment_of_many_thousands_is_read_and_delays_nobody() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    let named = |number: usize| (format!("V{number}"), json!(number.to_string()));
    for (count, seconds) in [(10_000, 60), (100_000, 3)] {
        let env: serde_json::Map<String, Value> = (0..count).map(named).collect();
        let arguments =
            json!({"command": "echo $V77", "env": env, "timeout": seconds, "on_timeout": "kill"});
        client.say(&json!({"id": "large", "type": "call", "arguments": arguments}));
        let begun = Instant::now();
        let answer = loop {
            if let Some(answer) = client.kept("large") {
                break answer;
            }
            let one = Instant::now();
            client.ask(&json!({"id": "beside", "type": "schema"}));
            assert!(
                one.elapsed() < Duration::from_secs(5),
                "{:?}",
                one.elapsed()
            );
            assert!(begun.elapsed() < Duration::from_secs(30), "{count}");
        };
        let reply = &answer["data"];
        let is_right = reply["output"] == "77\n" || (seconds < 60 && reply["timed_out"] == true);
        assert!(is_right, "{answer}");
        still_works(&mut client);
    }
    client.close();
}
