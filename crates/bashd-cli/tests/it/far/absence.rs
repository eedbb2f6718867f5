//! The machine, the network, the engine or the outpost is gone, or stands still.

use super::{SLACK, assert_unknown, wait_until, whole};
use bashd::{Call, Request};
use bashd_testkit::processes::Process;
use bashd_testkit::repeat;
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The grace of a command that is told to end.
const GRACE: Duration = Duration::from_secs(2);

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

#[test]
fn fault_04_a_machine_that_loses_its_power_leaves_an_end_that_nobody_knows() {
    let Some(mut far) = whole() else { return };
    let engine = far.engine(|place| place.patience = seconds(1));
    let call = engine.clone();
    let request =
        Request::new("echo $BASHD_RUN >>marks; touch begun; sleep 60").timeout(seconds(1));
    let begun = Instant::now();
    let call = far
        .runtime
        .spawn(async move { call.run(request.on("far")).await });
    far.until_begun();
    far.machine.power_off();
    let reply = far.wait(call).unwrap();
    assert_unknown(&reply);
    assert!(
        begun.elapsed() < seconds(2) + GRACE + SLACK,
        "{:?}",
        begun.elapsed()
    );
    far.machine.power_on();
    // An order that went into a dead connection may have been begun, for all that is known.
    wait_until("the same engine", || {
        let reply = far.run(&engine, Request::new("exit 4"));
        reply.exit_code == Some(4) || {
            assert_unknown(&reply);
            false
        }
    });
    assert_eq!(
        far.lines("/home/u/marks").len(),
        1,
        "nothing was begun again"
    );
}

#[test]
fn fault_04_a_machine_that_was_started_anew_begins_nothing_again() {
    let Some(mut far) = whole() else { return };
    let engine = far.engine(|place| place.connect = seconds(5));
    let call = engine.clone();
    let request = Request::new("echo $BASHD_RUN >>marks; touch begun; sleep 60");
    let call = far
        .runtime
        .spawn(async move { call.run(request.on("far")).await });
    far.until_begun();
    far.machine.power_off();
    far.machine.power_on();
    let begun = Instant::now();
    let reply = far.wait(call).unwrap();
    assert_unknown(&reply);
    // It takes 15 s until a connection that says nothing is given up.
    assert!(
        begun.elapsed() < seconds(16) + SLACK,
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(
        far.lines("/home/u/marks").len(),
        1,
        "nothing was begun again"
    );
    assert!(far.machine.running("sleep 60").is_empty());
}

/// A stall during a run, which loses nothing; how long the call took after the network was back.
fn stalled(stall: Duration) {
    let Some(far) = whole() else { return };
    let engine = far.engine(|_| {});
    let script = "echo $BASHD_RUN >>marks; touch begun; sleep 2; seq 1 3000; exit 7";
    let mut back = None;
    let reply = far.run_and(&engine, Request::new(script), || {
        far.machine.cut();
        std::thread::sleep(stall);
        far.machine.mend();
        back = Some(Instant::now());
    });
    let took = back.unwrap().elapsed();
    assert_eq!(
        (reply.exit_code, reply.output_lines),
        (Some(7), 3000),
        "{reply:?}"
    );
    assert_eq!(far.lines("/home/u/marks").len(), 1);
    // TCP tries again in its own time, which doubles; a new connection is tried for after 15 s.
    assert!(took < stall.max(seconds(10)) + SLACK, "{took:?}");
}

#[test]
fn fault_05_a_network_that_stalls_for_five_seconds_loses_nothing() {
    stalled(seconds(5));
}

#[test]
fn fault_05_a_network_that_stalls_for_a_minute_loses_nothing() {
    if !repeat::is_soak() {
        bashd_testkit::loudly("a network that stalls for a minute: only in ./soak");
        return;
    }
    stalled(seconds(60));
}

#[test]
fn fault_05_a_network_that_stalls_for_ever_holds_up_no_call() {
    let Some(far) = whole() else { return };
    let engine = far.engine(|place| place.patience = seconds(1));
    let request = Request::new("touch begun; sleep 60").timeout(seconds(1));
    let begun = Instant::now();
    let reply = far.run_and(&engine, request, || far.machine.cut());
    assert_unknown(&reply);
    assert!(
        begun.elapsed() < seconds(2) + GRACE + SLACK,
        "{:?}",
        begun.elapsed()
    );
    wait_until("its own deadline there", || {
        far.machine.running("sleep 60").is_empty()
    });
    far.machine.mend();
    let reply = far.run(&engine, Request::new("exit 4"));
    assert_eq!(reply.exit_code, Some(4), "{reply:?}");
}

#[test]
fn fault_05_a_call_is_cancelled_while_its_network_stands_still() {
    let Some(far) = whole() else { return };
    let engine = far.engine(|_| {});
    let (cancel, running) = (CancellationToken::new(), engine.clone());
    let call = Call::from(Request::new("trap '' TERM; touch begun; sleep 60").on("far"))
        .cancel_by(cancel.clone());
    let call = far.runtime.spawn(async move { running.run(call).await });
    far.until_begun();
    far.machine.cut();
    let begun = Instant::now();
    cancel.cancel();
    let reply = far.wait(call).unwrap();
    let took = begun.elapsed();
    assert_unknown(&reply);
    assert!(
        reply
            .error
            .as_deref()
            .unwrap()
            .contains("it was told to end, which is not confirmed")
    );
    assert!(took < seconds(1) + GRACE + SLACK / 2, "{took:?}");
    far.machine.mend();
    // What was cancelled is told as soon as anybody gets there.
    let reply = far.run(&engine, Request::new("true"));
    assert_eq!(reply.exit_code, Some(0), "{reply:?}");
    wait_until("the end of what was cancelled", || {
        far.machine.running("sleep 60").is_empty()
    });
}

#[test]
fn fault_05_an_ssh_that_stands_still_is_noticed_and_replaced() {
    let Some(far) = whole() else { return };
    let engine = far.engine(|_| {});
    let begun = Instant::now();
    let reply = far.run_and(
        &engine,
        Request::new("touch begun; sleep 1; exit 7"),
        || {
            far.live_carriers().iter().for_each(Process::hold);
        },
    );
    assert_eq!(reply.exit_code, Some(7), "{reply:?}");
    assert!(
        begun.elapsed() < seconds(17) + SLACK,
        "{:?}",
        begun.elapsed()
    );
    wait_until("the end of the one that stood still", || {
        far.live_carriers().len() == 1
    });
}

#[test]
fn fault_06_a_killed_engine_leaves_a_run_that_ends_by_its_deadline() {
    let Some(far) = whole() else { return };
    far.configure("");
    let mut child = far
        .bashd(&["--timeout", "2", "touch begun; sleep 60"])
        .spawn();
    far.until_begun();
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    let begun = Instant::now();
    wait_until("the end of its carrier", || far.live_carriers().is_empty());
    wait_until("its deadline", || {
        far.machine.running("sleep 60").is_empty()
    });
    assert!(
        begun.elapsed() < seconds(2) + GRACE + SLACK,
        "{:?}",
        begun.elapsed()
    );
    let shown = far.bashd(&["exit 4"]).run();
    assert_eq!(shown.code(), Some(4), "the next engine: {}", shown.err());
}

#[test]
fn fault_07_a_killed_outpost_takes_its_commands_along() {
    let Some(far) = whole() else { return };
    let engine = far.engine(|place| place.patience = seconds(5));
    let request = Request::new("echo $BASHD_RUN >>marks; touch begun; sleep 60");
    let reply = far.run_and(&engine, request, || {
        far.machine
            .running("outpost --serve")
            .iter()
            .for_each(Process::kill);
    });
    assert_unknown(&reply);
    wait_until("the end of its command", || {
        far.machine.running("sleep 60").is_empty()
    });
    assert_eq!(
        far.lines("/home/u/marks").len(),
        1,
        "nothing was begun again"
    );
    assert_eq!(far.run(&engine, Request::new("exit 4")).exit_code, Some(4));
}

#[test]
fn fault_07_an_outpost_that_stands_still_is_noticed_and_said() {
    let Some(far) = whole() else { return };
    let engine = far.engine(|place| {
        place.connect = seconds(2);
        place.patience = seconds(1);
    });
    let request = Request::new("touch begun; sleep 60").timeout(seconds(1));
    let begun = Instant::now();
    let mut outposts = Vec::new();
    let reply = far.run_and(&engine, request, || {
        outposts = far.machine.running("outpost --serve");
        outposts.iter().for_each(Process::hold);
    });
    assert_unknown(&reply);
    assert!(
        begun.elapsed() < seconds(2) + GRACE + SLACK,
        "{:?}",
        begun.elapsed()
    );
    // Its keeper still sees to the deadline.
    wait_until("its own deadline there", || {
        far.machine.running("sleep 60").is_empty()
    });
    drop(engine);
    let engine = far.engine(|place| place.connect = seconds(2));
    let reply = far.run(&engine, Request::new("exit 4"));
    let error = super::error_of(&reply);
    assert!(error.contains("did not answer within 2 s"), "{error}");
    for outpost in outposts {
        let _ = kill_process(Pid::from_raw(outpost.pid).unwrap(), Signal::CONT);
    }
    let reply = far.run(&engine, Request::new("exit 4"));
    assert_eq!(reply.exit_code, Some(4), "{reply:?}");
}
