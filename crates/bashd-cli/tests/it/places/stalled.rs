//! A place that says nothing any more: calls return in time, and cancels are remembered.

use super::{PATIENCE, carriers, engine_with, kill, noted_carrier, stop, wait_until};
use bashd::{Call, CancellationToken, Reply, Request};
use bashd_testkit::Home;
use rustix::process::{Pid, test_kill_process};
use std::fs;
use std::time::{Duration, Instant};

/// Waits for a file of the test's `TMPDIR`; what is in it.
async fn written(home: &Home, name: &str) -> String {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(home.tmp().join(name)).unwrap_or_default();
        if text.ends_with('\n') {
            return text.trim().to_owned();
        }
        assert!(begun.elapsed() < PATIENCE, "{name} never came");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn a_cancel_at_a_stalled_place_returns_at_once_and_is_sent_first_later() {
    let home = Home::new().keeping_in_state(&["outpost", "places"]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let shell = runtime.block_on(async {
        let engine = engine_with(&home, &noted_carrier(), |_| {});
        let token = CancellationToken::new();
        let script = "echo $$ > \"$TMPDIR/shell\"; exec sleep 60";
        let call = Call::from(Request::new(script).on("there")).cancel_by(token.clone());
        let running = engine.run(call);
        let meanwhile = async {
            let shell: i32 = written(&home, "shell").await.parse().unwrap();
            let stopped = carriers(&home)[0];
            stop(stopped);
            token.cancel();
            (shell, stopped, Instant::now())
        };
        let (reply, (shell, stopped, cancelled)): (Reply, _) =
            futures::future::join(running, meanwhile).await;
        assert!(
            cancelled.elapsed() < Duration::from_secs(8),
            "{:?}",
            cancelled.elapsed()
        );
        assert_eq!(reply.exit_code, None, "{}", reply.text);
        let error = reply.error.unwrap();
        assert!(
            error.contains("it was told to end, which is not confirmed"),
            "{error}"
        );
        let shell = Pid::from_raw(shell).unwrap();
        assert!(test_kill_process(shell).is_ok(), "nobody could tell it");
        // The carrier dies with what it held, and the next call has another one.
        kill(stopped);
        let next = engine.run(Request::new("echo back").on("there")).await;
        assert_eq!(next.output, "back\n", "{}", next.text);
        shell
    });
    wait_until("its end", || test_kill_process(shell).is_err());
    for left in ["shell", "carriers"] {
        fs::remove_file(home.tmp().join(left)).unwrap();
    }
}
