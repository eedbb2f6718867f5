//! Calls that take long, as tasks of the protocol: for clients that know them, and for others.

use super::client::{Client, until};
use super::http::Server;
use super::stateless::meta;
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

fn home() -> Home {
    Home::new().keeping_in_state(&["runs", "artifacts"])
}

/// What a client announces that knows tasks.
fn able() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// A client without a handshake, by whatever way.
trait Asks {
    fn send(&mut self, method: &str, params: &Value) -> Value;
}

impl Asks for Client {
    fn send(&mut self, method: &str, params: &Value) -> Value {
        self.ask(method, params)
    }
}

impl Asks for Server {
    fn send(&mut self, method: &str, params: &Value) -> Value {
        let about = ["name", "uri", "taskId"];
        let name = about.iter().find_map(|key| params[key].as_str());
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.ask_alone(name.unwrap_or_default(), &request)
    }
}

/// A client on stdin and stdout, and one over HTTP, of servers that wait for so long.
fn each_way(home: &Home, wait_max: &str) -> [Box<dyn Asks>; 2] {
    let wait_max = ["--wait-max", wait_max];
    let over_http = [&wait_max[..], &["--token", "none"]].concat();
    [
        Box::new(Client::start(home, &wait_max)),
        Box::new(Server::start(home, &over_http)),
    ]
}

/// Sends a request without a handshake, with these capabilities.
fn ask(client: &mut dyn Asks, method: &str, capabilities: &Value, mut params: Value) -> Value {
    params["_meta"] = meta(capabilities);
    client.send(method, &params)
}

fn bash(client: &mut dyn Asks, arguments: &Value) -> Value {
    let params = json!({"name": "bash", "arguments": arguments});
    ask(client, "tools/call", &able(), params)["result"].clone()
}

/// What a task is now.
fn task(client: &mut dyn Asks, id: &Value) -> Value {
    let answer = ask(client, "tasks/get", &able(), json!({"taskId": id}));
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    answer["result"].clone()
}

/// The task once it is over.
fn over(client: &mut dyn Asks, id: &Value) -> Value {
    let mut last = Value::Null;
    until("the task is over", || {
        last = task(client, id);
        last["status"] != "working"
    });
    last
}

/// A command that goes on until a file is there.
fn gated(gate: &Path, then: &str) -> String {
    let gate = gate.display();
    format!("echo begun; until [ -e {gate} ]; do sleep 0.05; done; {then}")
}

fn text(result: &Value) -> &str {
    let text = &result["content"][0]["text"];
    text.as_str().unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn a_call_over_the_servers_wait_is_a_task_whose_result_is_the_calls() {
    let home = home();
    for mut client in each_way(&home, "1") {
        let _ = std::fs::remove_file(home.workspace().join("gate"));
        becomes_a_task(&home, &mut *client);
    }
}

fn becomes_a_task(home: &Home, client: &mut dyn Asks) {
    let gate = home.workspace().join("gate");
    let command = gated(&gate, "echo done; exit 3");
    let begun = bash(client, &json!({"command": command}));
    assert_eq!(begun["resultType"], "task", "{begun}");
    assert_eq!(begun["status"], "working", "{begun}");
    assert!(begun["pollIntervalMs"].is_u64() && begun["createdAt"].is_string());
    let id = &begun["taskId"];
    let working = task(client, id);
    let said = working["statusMessage"].as_str().unwrap();
    assert!(
        said.starts_with("bg_1: running for ") && said.ends_with("\nbegun"),
        "{said}"
    );
    std::fs::write(gate, "").unwrap();
    // The one who asks about it is told, not the next reply.
    until("the job has ended", || {
        let told = bash(client, &json!({"command": "echo meanwhile"}));
        assert_eq!(text(&told), "meanwhile\n");
        let params = json!({"uri": format!("job://{}", id.as_str().unwrap())});
        let read = ask(client, "resources/read", &able(), params);
        let state = read["result"]["contents"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned();
        state.contains("\"state\":\"exited\"")
    });
    let told = bash(client, &json!({"command": "echo next"}));
    assert_eq!(text(&told), "next\n");
    let done = over(client, id);
    assert_eq!(done["status"], "completed", "{done}");
    let direct = bash(client, &json!({"command": "echo begun; echo done; exit 3"}));
    assert_eq!(text(&done["result"]), text(&direct));
    assert_eq!(done["result"]["isError"], direct["isError"]);
    // It can be asked again, and is told nowhere else.
    assert_eq!(task(client, id)["result"], done["result"]);
    let after = bash(client, &json!({"command": "echo after"}));
    assert_eq!(text(&after), "after\n");
}

#[test]
fn a_task_is_the_clients_own_and_outlives_its_server() {
    let home = home();
    let gate = home.workspace().join("gate");
    let mut client = Client::start(&home, &["--wait-max", "1"]);
    let mut other = Client::start(&home, &["--wait-max", "1"]);
    let begun = bash(&mut client, &json!({"command": gated(&gate, "echo done")}));
    let id = &begun["taskId"];
    for (method, params) in [
        ("tasks/get", json!({"taskId": id})),
        ("tasks/cancel", json!({"taskId": id})),
        ("tasks/update", json!({"taskId": id, "inputResponses": {}})),
        ("tasks/get", json!({"taskId": "bg_1"})),
    ] {
        let refused = ask(&mut other, method, &able(), params);
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
    }
    client.finish();
    std::fs::write(gate, "").unwrap();
    let done = over(&mut other, id);
    assert_eq!(text(&done["result"]), "begun\ndone\n", "{done}");
}

#[test]
fn a_task_that_is_cancelled_ends_with_everything_it_started() {
    let home = home();
    for mut client in each_way(&home, "1") {
        is_cancelled(&home, &mut *client);
    }
}

fn is_cancelled(home: &Home, client: &mut dyn Asks) {
    let command = "setsid sleep 300 & echo $! >pid; sleep 300";
    let begun = bash(client, &json!({"command": command}));
    let id = &begun["taskId"];
    let update = json!({"taskId": id, "inputResponses": {"unasked": {}}});
    let taken = ask(client, "tasks/update", &able(), update);
    assert_eq!(taken["result"]["resultType"], "complete", "{taken}");
    let taken = ask(client, "tasks/cancel", &able(), json!({"taskId": id}));
    assert_eq!(taken["result"]["resultType"], "complete", "{taken}");
    assert_eq!(task(client, id)["status"], "cancelled");
    let pid = std::fs::read_to_string(home.workspace().join("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
    let next = bash(client, &json!({"command": "echo next"}));
    assert_eq!(text(&next), "next\n");
    // Once more changes nothing.
    let taken = ask(client, "tasks/cancel", &able(), json!({"taskId": id}));
    assert_eq!(taken["result"]["resultType"], "complete", "{taken}");
}

#[test]
fn a_task_waits_no_longer_than_its_call_would() {
    let home = home();
    for mut client in each_way(&home, "1") {
        waits_no_longer(&mut *client);
    }
}

fn waits_no_longer(client: &mut dyn Asks) {
    let command = "echo begun; sleep 300";
    let begun = bash(client, &json!({"command": command, "timeout": 3}));
    assert_eq!(begun["resultType"], "task", "{begun}");
    let done = over(client, &begun["taskId"]);
    assert_eq!(done["status"], "completed", "{done}");
    let told = text(&done["result"]);
    assert!(told.starts_with("begun\n[still running after 3"), "{told}");
    assert!(told.contains("next: job wait bg_1"), "{told}");
    let killed = json!({"command": command, "timeout": 3, "on_timeout": "kill"});
    let begun = bash(client, &killed);
    let done = over(client, &begun["taskId"]);
    let told = text(&done["result"]);
    assert_eq!(told, "begun\n[timed out after 3 s and was ended]", "{done}");
    let kill = json!({"name": "job", "arguments": {"action": "kill", "job": "bg_1"}});
    ask(client, "tools/call", &able(), kill);
}

#[test]
fn who_asked_for_a_job_or_a_shorter_wait_has_the_plain_handle() {
    let home = home();
    for mut client in each_way(&home, "2") {
        has_the_plain_handle(&mut *client);
    }
}

fn has_the_plain_handle(client: &mut dyn Asks) {
    for arguments in [
        json!({"command": "echo a; sleep 300", "background": true}),
        json!({"command": "echo a; sleep 300", "wait_max": 1}),
        json!({"command": "echo a; sleep 300", "timeout": 1}),
    ] {
        let told = bash(client, &arguments);
        assert_eq!(told["resultType"], "complete", "{told}");
        assert!(text(&told).contains("next: job wait bg_"), "{told}");
    }
    let kill = json!({"action": "kill", "jobs": ["bg_1", "bg_2", "bg_3"]});
    let kill = json!({"name": "job", "arguments": kill});
    ask(client, "tools/call", &able(), kill);
}

#[test]
fn clients_without_tasks_have_the_plain_handle() {
    let home = home();
    let slow = json!({"command": "echo a; sleep 300"});
    let kill = json!({"name": "job", "arguments": {"action": "kill", "job": "bg_1"}});
    let mut client = Client::start(&home, &["--wait-max", "1"]);
    let params = json!({"name": "bash", "arguments": slow});
    let told = ask(&mut client, "tools/call", &json!({}), params)["result"].clone();
    assert_eq!(told["resultType"], "complete", "{told}");
    assert!(
        text(&told).starts_with("a\n[still running after "),
        "{told}"
    );
    let id = &told["_meta"]["bashd/reply"]["job"];
    let refused = ask(&mut client, "tasks/get", &json!({}), json!({"taskId": id}));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    ask(&mut client, "tools/call", &json!({}), kill.clone());
    // One that announces them in a handshake, which has none.
    let mut client = Client::connect_with(&home, &["--wait-max", "1"], &able());
    let told = client.bash(&slow);
    assert!(
        text(&told).starts_with("a\n[still running after "),
        "{told}"
    );
    let id = &told["_meta"]["bashd/reply"]["job"];
    let refused = client.ask("tasks/get", &json!({"taskId": id}));
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    client.ask("tools/call", &kill);
}

#[test]
fn tasks_are_announced_where_there_are_any() {
    let home = home();
    let announced = |arguments: &[&str]| {
        let mut client = Client::start(&home, arguments);
        let found = ask(&mut client, "server/discover", &json!({}), json!({}));
        let extensions = &found["result"]["capabilities"]["extensions"];
        extensions.get("io.modelcontextprotocol/tasks").cloned()
    };
    assert_eq!(announced(&[]), Some(json!({})));
    assert_eq!(announced(&["--profile", "voice"]), None);
    let mut client = Client::start(&home, &[]);
    let hello = client.initialize(&json!({}));
    let extensions = hello["result"]["capabilities"].get("extensions");
    assert_eq!(extensions, None, "{hello}");
}

#[test]
fn who_listens_to_a_tasks_job_hears_of_its_end() {
    let home = home();
    let mut client = Client::start(&home, &["--wait-max", "1"]);
    let gate = home.workspace().join("gate");
    let begun = bash(&mut client, &json!({"command": gated(&gate, "true")}));
    let address = format!("job://{}", begun["taskId"].as_str().unwrap());
    let filter = json!({"resourceSubscriptions": [address]});
    let listen = json!({"notifications": filter, "_meta": meta(&able())});
    client.request("subscriptions/listen", &listen);
    let accepted =
        |message: &Value| message["method"] == "notifications/subscriptions/acknowledged";
    client.wait_for(accepted);
    std::fs::write(gate, "").unwrap();
    let updated = client.wait_for(|message| message["method"] == "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], address, "{updated}");
    assert_eq!(over(&mut client, &begun["taskId"])["status"], "completed");
}

#[test]
fn over_http_a_task_is_that_of_who_holds_the_token_and_outlives_its_server() {
    let home = home();
    let gate = home.workspace().join("gate");
    let arguments = ["--wait-max", "1", "--token", "none"];
    let mut server = Server::start(&home, &arguments);
    let mut other = Client::start(&home, &["--wait-max", "1"]);
    let begun = bash(&mut server, &json!({"command": gated(&gate, "echo done")}));
    let id = &begun["taskId"];
    // Who is on stdin is somebody else.
    let refused = ask(&mut other, "tasks/get", &able(), json!({"taskId": id}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    // A client of the same server that knows no tasks can't ask, and reads the plain handle.
    let refused = ask(&mut server, "tasks/get", &json!({}), json!({"taskId": id}));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    assert_eq!(task(&mut server, id)["status"], "working");
    drop(server);
    let mut server = Server::start(&home, &arguments);
    std::fs::write(gate, "").unwrap();
    let done = over(&mut server, id);
    assert_eq!(text(&done["result"]), "begun\ndone\n", "{done}");
}

#[test]
fn the_end_of_a_task_that_nobody_asks_about_is_told_by_the_next_reply() {
    let home = home();
    let mut client = Client::start(&home, &["--wait-max", "1"]);
    let begun = bash(
        &mut client,
        &json!({"command": "echo begun; sleep 2; echo done"}),
    );
    assert_eq!(begun["resultType"], "task", "{begun}");
    let asked = Instant::now();
    // Until then it is the asking client's.
    std::thread::sleep(Duration::from_secs(5));
    let early = bash(&mut client, &json!({"command": "echo early"}));
    assert_eq!(text(&early), "early\n");
    std::thread::sleep(Duration::from_millis(30_500).saturating_sub(asked.elapsed()));
    let next = bash(&mut client, &json!({"command": "echo next"}));
    let told = text(&next);
    assert!(told.starts_with("[job bg_1 "), "{told}");
    assert!(told.ends_with("\n\nnext\n"), "{told}");
    let after = bash(&mut client, &json!({"command": "echo after"}));
    assert_eq!(text(&after), "after\n");
    // Its result can still be had.
    let done = task(&mut client, &begun["taskId"]);
    assert_eq!(text(&done["result"]), "begun\ndone\n", "{done}");
}
