//! What a map over many nodes would take: a simulation, event by event, with costs that were
//! measured on three nodes (`docs/scale.md` says how).
//!
//! One thread here sends each item to the node with most room and takes its result; the carriers
//! have the other processors of this machine; a node runs as many items at a time as it has
//! processors. Nothing fails, and the nodes are held before it begins.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::process::ExitCode;

/// What was measured, in seconds.
#[derive(Debug, Clone, Copy)]
struct Costs {
    /// Processor time of bashd here for an item: half to send it, half for its result.
    near: f64,
    /// Processor time of its carrier here.
    carrier: f64,
    /// Time on a node, beside what the command itself takes.
    far: f64,
    /// The way there and back.
    trip: f64,
    /// Processor time here until a node can be spoken to.
    dial: f64,
    /// And how long that takes.
    dialled: f64,
}

const MEASURED: Costs = Costs {
    near: 0.000_11,
    carrier: 0.000_03,
    far: 0.002_5,
    trip: 0.000_6,
    dial: 0.030,
    dialled: 0.100,
};

/// A cluster, and the machine from which it is used.
#[derive(Debug, Clone, Copy)]
struct Cluster {
    nodes: usize,
    /// Processors of each.
    room: usize,
    /// Processors here.
    here: usize,
}

/// What happens, in nanoseconds from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    /// A node can be spoken to.
    Reached(usize),
    /// A result is here.
    Result(usize),
}

/// How a map went.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    seconds: f64,
    /// The part of that in which the thread here had something to do.
    busy: f64,
}

/// Carries a map out in no time.
fn map(items: u64, command: f64, cluster: Cluster, costs: Costs) -> Outcome {
    let at = |seconds: f64| (seconds * 1e9) as u64;
    let mut events = BinaryHeap::new();
    for node in 0..cluster.nodes {
        let begun = (node + 1) as f64 * costs.dial / cluster.here as f64;
        events.push(Reverse((at(begun + costs.dialled), Happens::Reached(node))));
    }
    // Nodes by how much runs on them.
    let mut free: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut running = vec![0; cluster.nodes];
    // The thread here; carriers share the other processors.
    let carriers = cluster.here.saturating_sub(1).max(1) as f64;
    let each = (costs.near / 2.0).max(costs.carrier / 2.0 / carriers);
    let (mut idle_from, mut worked, mut left, mut last) = (0.0_f64, 0.0, items, 0.0_f64);
    while let Some(Reverse((now, happens))) = events.pop() {
        let now = now as f64 / 1e9;
        let mut clock = idle_from.max(now);
        let node = match happens {
            Happens::Reached(node) => node,
            Happens::Result(node) => {
                clock += each;
                worked += each;
                last = last.max(clock);
                if let Some(count) = running.get_mut(node) {
                    free.remove(&(*count, node));
                    *count -= 1;
                }
                node
            }
        };
        free.insert((running.get(node).copied().unwrap_or_default(), node));
        while left > 0
            && let Some((count, node)) = free.pop_first()
        {
            left -= 1;
            clock += each;
            worked += each;
            if count + 1 < cluster.room {
                free.insert((count + 1, node));
            }
            if let Some(running) = running.get_mut(node) {
                *running = count + 1;
            }
            let back = clock + costs.trip + costs.far + command;
            events.push(Reverse((at(back), Happens::Result(node))));
        }
        idle_from = clock;
    }
    Outcome {
        seconds: last,
        busy: worked / last,
    }
}

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a table for people is all that it makes"
)]
fn main() -> ExitCode {
    let mut costs = MEASURED;
    for given in std::env::args().skip(1) {
        let set = given.split_once('=').and_then(|(name, value)| {
            let value: f64 = value.parse().ok().filter(|value: &f64| *value >= 0.0)?;
            let cost = match name {
                "near" => &mut costs.near,
                "carrier" => &mut costs.carrier,
                "far" => &mut costs.far,
                "trip" => &mut costs.trip,
                "dial" => &mut costs.dial,
                "dialled" => &mut costs.dialled,
                _ => return None,
            };
            *cost = value;
            Some(())
        });
        if set.is_none() {
            eprintln!(
                "scale [COST=SECONDS ...]: costs are near, carrier, far, trip, dial, dialled; `{given}` is none"
            );
            return ExitCode::from(2);
        }
    }
    println!("{costs:?}\n");
    println!("|  nodes |   items | each takes | whole map | items a second | here is busy |");
    println!("|-------:|--------:|-----------:|----------:|---------------:|-------------:|");
    for (nodes, items) in [(3, 100_000), (100, 1_000_000), (1000, 1_000_000)] {
        for command in [0.0, 1.0, 60.0] {
            let cluster = Cluster {
                nodes,
                room: 8,
                here: 8,
            };
            let Outcome { seconds, busy } = map(items, command, cluster, costs);
            println!(
                "| {nodes:>6} | {items:>7} | {command:>8} s | {seconds:>7.0} s | {:>14.0} | {:>10.0} % |",
                items as f64 / seconds,
                busy * 100.0
            );
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Costs = Costs {
        near: 0.0,
        carrier: 0.0,
        far: 0.0,
        trip: 0.0,
        dial: 0.0,
        dialled: 0.0,
    };

    const CLUSTER: Cluster = Cluster {
        nodes: 3,
        room: 8,
        here: 8,
    };

    fn is_about(found: f64, wanted: f64) -> bool {
        (found / wanted - 1.0).abs() < 0.01
    }

    #[test]
    fn what_takes_time_itself_is_bound_by_the_processors_there() {
        let outcome = map(2400, 1.0, CLUSTER, FREE);
        assert!(is_about(outcome.seconds, 100.0), "{outcome:?}");
        assert!(outcome.busy < 0.01, "{outcome:?}");
    }

    #[test]
    fn what_takes_none_is_bound_by_the_thread_here() {
        let costs = Costs {
            near: 0.001,
            ..FREE
        };
        let outcome = map(10_000, 0.0, CLUSTER, costs);
        assert!(is_about(outcome.seconds, 10.0), "{outcome:?}");
        assert!(outcome.busy > 0.99, "{outcome:?}");
    }

    #[test]
    fn nodes_are_used_as_they_come() {
        let costs = Costs { dial: 8.0, ..FREE };
        // The first is there after one second, the last after three.
        let outcome = map(48, 1.0, CLUSTER, costs);
        assert!(is_about(outcome.seconds, 4.0), "{outcome:?}");
    }
}
