//! Stored output: read by the tool, read by address, and news of it.

use super::client::Client;
use bashd_testkit::Home;
use serde_json::{Value, json};

fn home() -> Home {
    Home::new().keeping_in_state(&["runs", "artifacts"])
}

/// Has the output of 20,000 lines stored; gives its address.
fn store(client: &mut Client) -> String {
    let result = client.bash(&json!({"command": "seq 1 20000"}));
    let address = &result["_meta"]["bashd/reply"]["artifact"];
    address
        .as_str()
        .unwrap_or_else(|| panic!("{result}"))
        .to_owned()
}

fn artifact(client: &mut Client, arguments: &Value) -> Value {
    let answer = client.ask(
        "tools/call",
        &json!({"name": "artifact", "arguments": arguments}),
    );
    answer["result"].clone()
}

#[test]
fn the_tool_reads_a_range_a_tail_and_what_matches() {
    let home = home();
    let mut client = Client::connect(&home, &[]);
    let id = store(&mut client);
    for (arguments, text) in [
        (
            json!({"id": id, "from_line": 9999, "to_line": 10001}),
            "9999\n10000\n10001\n",
        ),
        (json!({"id": id, "tail": 2}), "19999\n20000\n"),
        (
            json!({"id": id, "grep": "^7777$", "context": 1}),
            "7776-7776\n7777:7777\n7778-7778\n",
        ),
        (
            json!({"id": id, "from_line": 1, "to_line": 5, "grep": "3"}),
            "3:3\n",
        ),
    ] {
        let result = artifact(&mut client, &arguments);
        assert_eq!(result["_meta"]["bashd/reply"]["output"], text, "{result}");
        assert_eq!(result["content"][0]["text"], text, "{result}");
        assert_eq!(result["_meta"]["bashd/reply"]["truncated"], false);
        assert_eq!(result["_meta"]["bashd/reply"]["lines"], 20000);
    }
    let whole = artifact(&mut client, &json!({"id": id}));
    assert_eq!(whole["_meta"]["bashd/reply"]["truncated"], true);
    assert_eq!(
        whole["_meta"]["bashd/reply"]["output"]
            .as_str()
            .unwrap()
            .len(),
        32 * 1024
    );
}

#[test]
fn the_tool_says_what_was_wrong() {
    let home = home();
    let mut client = Client::connect(&home, &[]);
    let id = store(&mut client);
    for (arguments, complaint) in [
        (
            json!({"id": "artifact://4711"}),
            "there is no artifact 4711",
        ),
        (json!({"id": "/etc/passwd"}), "not an address"),
        (json!({"id": "artifact://../x"}), "not an address"),
        (json!({}), "`id` is missing; it must be a string"),
        (json!({"id": id, "grep": "("}), "regex"),
        (json!({"id": id, "tail": 1, "to_line": 2}), "not both"),
        (
            json!({"id": id, "tail": -1}),
            "`tail` must be a whole number from 1 to 9007199254740991, not -1",
        ),
    ] {
        let result = artifact(&mut client, &arguments);
        assert_eq!(result["isError"], true, "{arguments}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(complaint), "{arguments}: {text}");
    }
}

#[test]
fn what_is_stored_is_listed_and_read_by_address() {
    let home = home();
    let mut client = Client::connect(&home, &[]);
    let none = client.ask("resources/list", &json!({}));
    assert_eq!(none["result"]["resources"], json!([]));
    let (first, second) = (store(&mut client), store(&mut client));
    let listed = client.ask("resources/list", &json!({}));
    let addresses: Vec<&Value> = listed["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| &resource["uri"])
        .collect();
    assert_eq!(addresses, [&second, &first]);
    let templates = client.ask("resources/templates/list", &json!({}));
    let templates = &templates["result"]["resourceTemplates"];
    assert_eq!(templates[0]["uriTemplate"], "artifact://{id}");
    assert_eq!(
        templates[1]["uriTemplate"],
        "artifact://{id}?offset={offset}"
    );
    assert_eq!(templates[2]["uriTemplate"], "job://{id}");
    let read = client.ask("resources/read", &json!({"uri": first}));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("1\n2\n") && text.ends_with("\n20000\n"));
    for unknown in ["artifact://4711", "file:///etc/passwd", "0", ""] {
        let missing = client.ask("resources/read", &json!({"uri": unknown}));
        assert_eq!(missing["error"]["code"], -32002, "{missing}");
        assert_eq!(missing["error"]["data"]["uri"], unknown);
    }
}

#[test]
fn clients_hear_of_new_output_that_is_stored() {
    let home = home();
    let mut client = Client::connect(&home, &[]);
    let subscribed = client.ask("resources/subscribe", &json!({"uri": "artifact://0"}));
    assert!(subscribed["result"].is_object(), "{subscribed}");
    client.request(
        "tools/call",
        &json!({"name": "bash", "arguments": {"command": "seq 1 20000"}}),
    );
    client.wait_for(|message| message["method"] == "notifications/resources/list_changed");
    let updated = client.wait_for(|message| message["method"] == "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "artifact://0");
    client.ask("resources/unsubscribe", &json!({"uri": "artifact://0"}));
}

#[test]
fn profiles_that_store_nothing_have_no_tool_for_it() {
    let home = home();
    let mut client = Client::connect(&home, &["--profile", "harness"]);
    let tools = client.ask("tools/list", &json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 1);
    let answer = client.ask(
        "tools/call",
        &json!({"name": "artifact", "arguments": {"id": "0"}}),
    );
    assert_eq!(answer["error"]["code"], -32602);
}
