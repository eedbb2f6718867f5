//! A whole agent loop on a far machine: what a scripted model asks for, one call after the other,
//! in a session, with the carrier killed in the middle.

use super::{Far, whole};
use bashd::{Call, Engine, Reply, Request};
use bashd_testkit::processes::Process;
use serde_json::json;

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
