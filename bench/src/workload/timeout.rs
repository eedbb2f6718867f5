//! How long after its deadline a call is answered, beside a plain timer of the same length.

use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Result, ensure};
use bashd::Request;
use rustix::event::Timespec;
use std::time::{Duration, Instant};

/// The shortest limit that the default profile takes.
const TIMEOUT: Duration = Duration::from_secs(1);

/// From TERM to KILL in the default profile.
const GRACE: Duration = Duration::from_secs(2);

/// A command that runs into its deadline.
struct Case {
    name: &'static str,
    script: &'static str,
    /// From the call to the moment at which it must be over.
    nominal: Duration,
    bar: Duration,
    /// Pairs of a round.
    pairs: usize,
}

pub(super) fn obeys(bench: &Bench) -> Result<Vec<Row>> {
    let case = Case {
        name: "timeout-obeys",
        script: "sleep 30 | sleep 30",
        nominal: TIMEOUT,
        bar: Duration::from_millis(5),
        pairs: 3,
    };
    run(bench, &case)
}

pub(super) fn ignores(bench: &Bench) -> Result<Vec<Row>> {
    let case = Case {
        name: "timeout-ignores",
        script: "trap '' TERM; sleep 30 | sleep 30; sleep 30",
        nominal: TIMEOUT + GRACE,
        bar: Duration::from_millis(20),
        pairs: 1,
    };
    run(bench, &case)
}

fn run(bench: &Bench, case: &Case) -> Result<Vec<Row>> {
    let engine = bench.engine(|_| ())?;
    let ours = || {
        let begun = Instant::now();
        let reply = bench.wait(engine.run(Request::new(case.script).timeout(TIMEOUT)));
        let took = begun.elapsed();
        ensure!(reply.timed_out && reply.left_behind.is_empty(), "{reply:?}");
        ensure!(took >= case.nominal, "answered after {took:?} already");
        Ok(took)
    };
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(case.pairs, 1),
        Bench::rest,
        ours,
        || plain_timer(case.nominal),
    )?;
    let against = format!("a timer of {} s", case.nominal.as_secs());
    let nominal = case.nominal.as_secs_f64();
    let row = Row::time_over(case.name, &against, &compared, nominal, case.bar);
    Ok(vec![row])
}

pub(super) fn plain_timer(length: Duration) -> Result<Duration> {
    let begun = Instant::now();
    rustix::event::poll(&mut [], Some(&Timespec::try_from(length)?))?;
    Ok(begun.elapsed())
}
