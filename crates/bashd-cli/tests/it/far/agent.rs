//! Whole agent loops on a far machine: what a scripted model asks for, one call after the other, in
//! a session, with the carrier killed in the middle; in the library, and by MCP.

use super::{Far, wait_until, whole};
use crate::mcp::Client;
use bashd::{Call, Engine, Reply, Request};
use bashd_testkit::processes::Process;
use serde_json::{Value, json};

/// One turn of the model. That it is far away is the engine's business.
fn turn(far: &Far, engine: &Engine, arguments: &serde_json::Value) -> Reply {
    let given = Request::new("").profile("anthropic-bash").on("far");
    far.wait(engine.run(Call::json(arguments.to_string(), given)))
}

#[test]
fn an_agent_works_on_a_far_machine_and_does_not_notice_that_its_carrier_dies() {
    let Some(far) = whole() else { return };
    let engine = far.engine(|_| {});
    let command = |text: &str| turn(&far, &engine, &json!({ "command": text }));
    // A session: what one call does, the next one sees.
    let reply = command("mkdir -p task && cd task && X=kept && f() { echo f:$X; }");
    assert!(!reply.is_error, "{reply:?}");
    let text = "cat >main.sh <<'END'\n#!/bin/sh\nfor i in 1 2 3; do echo line $i; done\nexit 5\nEND\nchmod +x main.sh";
    assert!(!command(text).is_error);
    assert_eq!(command("pwd; f").output, "/home/u/task\nf:kept\n");
    let reply = command("./main.sh; echo status $?");
    assert_eq!(
        reply.output, "line 1\nline 2\nline 3\nstatus 5\n",
        "{reply:?}"
    );
    // Its carrier dies while it works, and once more between two calls.
    let reply = std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            far.until_begun();
            far.live_carriers().iter().for_each(Process::kill);
        });
        let reply = command("touch ~/begun; echo $$ >>pids; sleep 1; seq 1 2000 | tail -n 3; f");
        killer.join().unwrap();
        reply
    });
    assert_eq!(reply.output, "1998\n1999\n2000\nf:kept\n", "{reply:?}");
    far.live_carriers().iter().for_each(Process::kill);
    assert_eq!(
        command("pwd; f; echo $$ >>pids").output,
        "/home/u/task\nf:kept\n"
    );
    let shells = far.lines("/home/u/task/pids");
    assert_eq!(shells.first(), shells.last(), "the same shell all the time");
    assert_eq!(shells.len(), 2, "nothing ran twice");
    // Long output: the model sees its ends, and counts of what it does not see.
    let reply = command("seq 1 100000");
    assert_eq!(
        (reply.output_lines, reply.output_bytes),
        (100_000, 588_895),
        "{reply:?}"
    );
    // It restarts its tool, as its contract allows.
    let reply = turn(&far, &engine, &json!({ "restart": true }));
    assert!(!reply.is_error, "{reply:?}");
    assert_eq!(command("echo x=$X").output, "x=\n");
}

/// What a tool answers, as its model reads it.
fn answer(client: &mut Client, tool: &str, arguments: &Value) -> String {
    let asked = json!({ "name": tool, "arguments": arguments });
    let answer = client.ask("tools/call", &asked);
    let text = answer["result"]["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{arguments}: {answer}"));
    assert_ne!(answer["result"]["isError"], true, "{arguments}: {answer}");
    text.to_owned()
}

#[test]
fn an_agent_works_on_a_far_machine_by_mcp_without_knowing_it() {
    let Some(far) = whole() else { return };
    far.configure("");
    let mut client = Client::of(far.any_bashd(&["mcp", "--on", "far"]).stdin("").spawn());
    client.initialize(&json!({}));
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let tools = client.ask("tools/list", &json!({}));
    let bash = &tools["result"]["tools"][0]["inputSchema"]["properties"];
    assert!(
        bash["command"].is_object() && bash["on"].is_null(),
        "{bash}"
    );
    // A session, a file, a program.
    let run = |client: &mut Client, command: &str| {
        answer(
            client,
            "bash",
            &json!({ "command": command, "session": "s" }),
        )
    };
    assert_eq!(
        run(
            &mut client,
            "hostname; cd /home/u; X=kept; f() { echo f:$X; }"
        ),
        "far\n"
    );
    run(
        &mut client,
        "printf 'for i in 1 2 3; do echo line $i; done; exit 5' >main.sh",
    );
    let shown = run(&mut client, "bash main.sh");
    assert_eq!(shown, "line 1\nline 2\nline 3\n[exit code 5]", "{shown}");
    // A job, while the session goes on.
    let script = "until [ -e gate ]; do sleep 0.05; done; seq 1 3; exit 6";
    let begun = answer(
        &mut client,
        "bash",
        &json!({ "command": script, "background": true }),
    );
    assert!(begun.contains("bg_1"), "{begun}");
    // More than a reply shows, and more than is brought here: it is read over there.
    let address = address_in(&run(&mut client, "seq 1 400000"));
    // The carrier dies in the middle of a call, between two, and while something is read.
    let result = std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            far.until_begun();
            far.live_carriers().iter().for_each(Process::kill);
        });
        let script = "touch ~/begun; echo $$ >>pids; sleep 1; seq 1 2000 | tail -n 2; f";
        let result = run(&mut client, script);
        killer.join().unwrap();
        result
    });
    assert_eq!(result, "1999\n2000\nf:kept\n");
    far.live_carriers().iter().for_each(Process::kill);
    let part = json!({ "id": address, "from_line": 300_000, "to_line": 300_002 });
    let read = answer(&mut client, "artifact", &part);
    assert_eq!(read, "300000\n300001\n300002\n");
    far.live_carriers().iter().for_each(Process::kill);
    let found = json!({ "id": address, "grep": "^39999[89]$" });
    let read = answer(&mut client, "artifact", &found);
    assert_eq!(read, "399998:399998\n399999:399999\n");
    assert_eq!(
        run(&mut client, "echo $$ >>pids; sort -u pids | wc -l"),
        "1\n"
    );
    assert_told_once(&far, || run(&mut client, "echo next"));
    let output = answer(
        &mut client,
        "job",
        &json!({ "action": "output", "job": "bg_1" }),
    );
    assert!(output.contains("1\n2\n3\n"), "{output}");
    client.finish();
}

/// The address of stored output in a reply.
fn address_in(shown: &str) -> String {
    let address = shown.split_whitespace().find_map(|word| {
        let (_, rest) = word.split_once("artifact://")?;
        let id = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        Some(format!("artifact://{id}"))
    });
    address.unwrap_or_else(|| panic!("{shown}"))
}

/// The job ends, which is told unasked with what is said next, and once.
fn assert_told_once(far: &Far, mut next: impl FnMut() -> String) {
    std::fs::write(far.machine.file("/home/u/gate"), "").unwrap();
    let mut told = String::new();
    wait_until("the news of its end", || {
        told = next();
        told.contains("bg_1")
    });
    assert!(
        told.contains("exit code 6") && told.ends_with("next\n"),
        "{told}"
    );
    assert_eq!(next(), "next\n", "it is told once");
}
