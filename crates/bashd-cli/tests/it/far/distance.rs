//! Wires that are long or narrow, and floods at their other end.

use super::{Far, PATIENCE, wait_until, whole};
use bashd::{Call, Engine, Request};
use bashd_testkit::slow_wire::SlowWire;
use bashd_testkit::{MARK, processes, repeat};
use std::fs;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

fn wire(far: &Far, one_way: Duration) -> SlowWire {
    let address = SocketAddr::from((far.machine.address, 22));
    let wire = SlowWire::to(address, one_way);
    let port = wire.port;
    far.machine.ssh_setting(&format!(
        "HostName 127.0.0.1
Port {port}"
    ));
    wire
}

/// The least time of some calls: a busy machine only adds to it.
fn best(far: &Far, engine: &Engine) -> Duration {
    let calls = (0..10).map(|_| {
        let begun = Instant::now();
        let reply = far.run(engine, Request::new("true"));
        assert_eq!(reply.exit_code, Some(0), "{reply:?}");
        begun.elapsed()
    });
    calls.min().unwrap()
}

#[test]
fn fault_26_a_call_costs_one_round_trip() {
    let Some(far) = whole() else { return };
    let near = best(&far, &far.engine(|_| {}));
    for trip in [Duration::from_millis(40), Duration::from_millis(200)] {
        let _wire = wire(&far, trip / 2);
        let took = best(&far, &far.engine(|_| {}));
        assert!(took >= trip, "the wire is not long: {took:?}");
        // Half a round trip more would be another one.
        assert!(
            took < near + trip + trip / 2,
            "{took:?} at {trip:?}, and {near:?} without"
        );
    }
}

/// An engine at the end of a narrow wire, and a call there that can be cancelled.
fn cancelled_meanwhile(far: &Far, engine: &Engine, meanwhile: impl FnOnce() -> Duration) {
    let (cancel, running) = (CancellationToken::new(), engine.clone());
    let call =
        Call::from(Request::new("touch begun; sleep 60").on("far")).cancel_by(cancel.clone());
    let call = far.runtime.spawn(async move { running.run(call).await });
    far.until_begun();
    std::thread::sleep(meanwhile());
    let begun = Instant::now();
    cancel.cancel();
    wait_until("the end of the command", || {
        far.machine.running("sleep 60").is_empty()
    });
    let took = begun.elapsed();
    let reply = far.wait(call).unwrap();
    // 64 KiB take half a second, and what tells of the end half a second more.
    assert!(took < Duration::from_millis(1500), "{took:?}");
    assert!(reply.cancelled, "{reply:?}");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn fault_26_a_narrow_wire_holds_up_no_call() {
    let Some(far) = whole() else { return };
    let Some(()) = far.machine.narrow("1mbit") else {
        return;
    };
    let engine = far.engine(|_| {});
    assert_eq!(far.run(&engine, Request::new("true")).exit_code, Some(0));
    // Half a megabyte on its way there takes four seconds.
    let mut bulk = None;
    cancelled_meanwhile(&far, &engine, || {
        let much = Request::new("wc -c").stdin(vec![b'x'; 500_000]).on("far");
        let running = engine.clone();
        bulk = Some(far.runtime.spawn(async move { running.run(much).await }));
        Duration::from_millis(300)
    });
    let bulk = bulk.unwrap();
    assert!(!bulk.is_finished(), "the bulk was there before");
    assert_eq!(far.wait(bulk).unwrap().output.trim(), "500000");
}

#[test]
fn fault_26_output_that_is_read_over_a_narrow_wire_holds_up_no_call() {
    let Some(far) = whole() else { return };
    let Some(()) = far.machine.narrow("1mbit") else {
        return;
    };
    let engine = far.engine(|_| {});
    // Its output is brought here to be stored: 700 kB, that take six seconds.
    let script = "head -c 700000 /dev/urandom | od -An -tx1 -v | tr -d ' \\n' | head -c 700000";
    let mut bulk = None;
    cancelled_meanwhile(&far, &engine, || {
        let running = engine.clone();
        let request = Request::new(script).on("far");
        bulk = Some(far.runtime.spawn(async move { running.run(request).await }));
        Duration::from_millis(1500)
    });
    let bulk = bulk.unwrap();
    assert!(!bulk.is_finished(), "the bulk was there before");
    let reply = far.wait(bulk).unwrap();
    assert_eq!(reply.output_bytes, 700_000, "{reply:?}");
    assert!(reply.artifact.is_some(), "{reply:?}");
}

/// Bytes that are resident in this process.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn fault_25_a_flood_that_nobody_reads_costs_neither_wire_nor_memory() {
    let Some(far) = whole() else { return };
    let wire = wire(&far, Duration::ZERO);
    let engine = far.engine(|_| {});
    assert_eq!(
        far.run(&engine, Request::new("yes | head -c 1000000"))
            .exit_code,
        Some(0)
    );
    let ((_, before), memory) = (wire.bytes(), resident());
    let gibibytes: u64 = if repeat::is_soak() { 10 } else { 1 };
    let request =
        Request::new(format!("yes | head -c {gibibytes}G")).timeout(Duration::from_mins(5));
    let reply = far.run(&engine, request);
    assert_eq!(
        (reply.exit_code, reply.output_bytes),
        (Some(0), gibibytes << 30),
        "{reply:?}"
    );
    let sent = wire.bytes().1 - before;
    // What the reply shows, and up to a mebibyte that is stored of it.
    assert!(sent < 256 * 1024, "{sent} bytes came");
    let grown = resident().saturating_sub(memory);
    assert!(grown < 1 << 20, "{grown} bytes more");
}

/// How long a call takes beside a hundred floods whose followers read nothing, all there or here.
fn beside_floods(far: &Far, engine: &Engine, place: &'static str) -> Duration {
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let request = Request::new("yes").timeout(Duration::from_secs(3));
            let call = Call::from(request.on(place));
            let engine = engine.clone();
            // Events are asked for, and the first is never taken.
            far.runtime.spawn(async move {
                let mut run = engine.stream(call);
                let _first = run.next().await;
                tokio::time::sleep(PATIENCE).await;
                drop(run);
            })
        })
        .collect();
    let floods = || {
        let there = far.machine.running("yes").len();
        let here = processes::with_variable(MARK, far.home.mark()).into_iter();
        there + here.filter(|process| process.command == "yes").count()
    };
    wait_until("the floods", || floods() > 50);
    let begun = Instant::now();
    let reply = far.wait(engine.run(Request::new("exit 4").on(place)));
    assert_eq!(reply.exit_code, Some(4), "{reply:?}");
    let took = begun.elapsed();
    for call in calls {
        call.abort();
    }
    wait_until("their end", || floods() == 0);
    took
}

#[test]
fn fault_25_a_hundred_followers_of_a_flood_hold_up_nobody() {
    let Some(far) = whole() else { return };
    let engine = far.engine(|_| {});
    let took = beside_floods(&far, &engine, "far");
    if took > Duration::from_secs(10) {
        // On a machine that is busy with other things, that holds up everybody.
        let here = beside_floods(&far, &engine, "here");
        assert!(took < here * 3, "{took:?}, and {here:?} with floods here");
    }
}
