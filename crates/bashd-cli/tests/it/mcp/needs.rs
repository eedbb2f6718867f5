//! A confined agent that is refused something, asks for it with a reason, and goes on.

use super::client::Client;
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;

/// A server on this machine that says `hello` to everybody.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        }
    });
    port
}

fn configure(home: &Home) {
    let text = "[confinement]\npreset = \"workspace+net\"\nresolve = [\"web.test=127.0.0.1\"]\n";
    fs::write(home.config().join("config.toml"), text).unwrap();
}

/// A model as a script: it tries, and where it is refused it asks for exactly that.
struct ScriptedModel {
    client: Client,
    /// What its user answers, and how often that user was asked.
    answer: &'static str,
    asked: Vec<String>,
}

impl ScriptedModel {
    /// One call of the tool; questions are answered as the user would.
    fn call(&mut self, arguments: &Value) -> Value {
        let params = json!({"name": "bash", "arguments": arguments});
        let id = self.client.request("tools/call", &params);
        loop {
            let message = self.client.wait_for(|message| {
                message["method"] == "elicitation/create"
                    || message["id"] == id && message["method"].is_null()
            });
            if message["method"].is_null() {
                return message["result"].clone();
            }
            let text = message["params"]["message"].as_str().unwrap().to_owned();
            self.asked.push(text);
            let result = json!({"action": "accept", "content": {"choice": self.answer}});
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            self.client.say(&answer);
        }
    }

    /// Runs a command, and again with what was refused, if it was.
    fn work(&mut self, command: &str) -> Value {
        let first = self.call(&json!({ "command": command }));
        let refused = first["_meta"]["bashd/reply"]["refused"].clone();
        let Some(refused) = refused.as_array().filter(|list| !list.is_empty()) else {
            return first;
        };
        let hosts: Vec<&Value> = refused.iter().map(|one| &one["what"]).collect();
        let needs = json!({"network": hosts, "reason": "the page is what I was asked for"});
        self.call(&json!({"command": command, "needs": needs}))
    }
}

#[test]
fn an_agent_is_refused_asks_is_granted_for_the_session_and_goes_on() {
    let port = server();
    let home = Home::new().keeping_in_state(&["grants.jsonl", "grants.lock"]);
    configure(&home);
    let client = Client::connect_with(&home, &[], &json!({"elicitation": {}}));
    let mut model = ScriptedModel {
        client,
        answer: "session",
        asked: Vec::new(),
    };
    let tools = model.client.ask("tools/list", &json!({}));
    let needs = &tools["result"]["tools"][0]["inputSchema"]["properties"]["needs"];
    assert_eq!(needs["required"], json!(["reason"]), "{tools}");
    let ask = format!("curl -sS http://web.test:{port}/");
    let result = model.work(&ask);
    assert_eq!(result["content"][0]["text"], "hello", "{result}");
    assert_eq!(model.asked.len(), 1, "{:?}", model.asked);
    let question = &model.asked[0];
    for part in [
        &ask,
        &format!("connect web.test:{port}"),
        "what I was asked for",
    ] {
        assert!(question.contains(part), "{question}");
    }
    // It goes on, with another command: what was granted is the host.
    let result = model.work(&format!("{ask} | tr a-z A-Z"));
    assert_eq!(result["content"][0]["text"], "HELLO", "{result}");
    assert_eq!(model.asked.len(), 1, "{:?}", model.asked);
    // Another thing is another question, and a no is a no.
    model.answer = "deny";
    let outside = home.home().join("outside");
    fs::create_dir(&outside).unwrap();
    let needs = json!({"write": [outside.to_str().unwrap()], "reason": "to leave a file"});
    let command = format!("echo x > {}/file", outside.display());
    let result = model.call(&json!({"command": command, "needs": needs}));
    assert_eq!(
        result["_meta"]["bashd/reply"]["denied"]["rule"],
        "confinement"
    );
    assert!(!outside.join("file").exists());
    model.answer = "always";
    let result = model.call(&json!({"command": command, "needs": needs}));
    assert_eq!(result["_meta"]["bashd/reply"]["exit_code"], 0, "{result}");
    assert!(outside.join("file").exists());
    assert_eq!(model.asked.len(), 3, "{:?}", model.asked);
    // What holds secrets is not asked for.
    fs::create_dir_all(home.home().join(".ssh")).unwrap();
    let keys = json!({"write": ["~/.ssh"], "reason": "to make a key"});
    let result = model.call(&json!({"command": "true", "needs": keys}));
    let message = result["content"][0]["text"].as_str().unwrap();
    assert!(message.contains("hidden"), "{message}");
    assert_eq!(model.asked.len(), 3, "{:?}", model.asked);
    drop(model);
    // Always means also elsewhere, and can be taken back; the session's does not.
    let listed = crate::shown(&home, &["grants"]).out();
    assert!(
        listed.contains(&format!("write {}", outside.display())),
        "{listed}"
    );
    assert!(!listed.contains("connect"), "{listed}");
    let mut next = Client::connect(&home, &[]);
    let result = next.bash(&json!({"command": format!("{command}2"), "needs": needs}));
    assert_eq!(result["isError"], false, "{result}");
    let wants = json!({"network": [format!("web.test:{port}")], "reason": "again"});
    let result = next.bash(&json!({"command": ask, "needs": wants}));
    let text = result["content"][0]["text"].as_str().unwrap();
    let how = format!("confinement.network = [\"web.test:{port}\"]");
    assert!(
        text.contains(&how) && text.contains("Nobody can be asked"),
        "{text}"
    );
    crate::shown(&home, &["grants", "rm", "1"]);
    let result = next.bash(&json!({"command": command, "needs": needs}));
    assert_eq!(result["isError"], true, "{result}");
}
