//! A console that stays open for long: keys cost the same after much output, and memory stays flat.

use super::tmux::Tmux;
use bashd_testkit::Home;
use bashd_testkit::repeat::is_soak;
use std::fs;

/// Keys that are typed at a time.
const KEYS: &str = "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmn";

/// Times that they are typed on each side.
const TIMES: usize = 6;

/// How much more work a key may be after much output. A console that draws everything, or lays it
/// out again, does more than ten times as much.
const MOST: f64 = 2.5;

/// The most work of these keys, in nanoseconds: they are to be on the screen within 50 ms, and a
/// build without optimizations took 0.9 ms of work for them.
const WORK: u64 = 25_000_000;

/// The work that all threads of a process did, in nanoseconds. Time says nothing on a busy machine.
fn work(pid: &str) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of_task = |task: fs::DirEntry| {
        let told = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let first = told.split_whitespace().next();
        first.and_then(|nanos| nanos.parse::<u64>().ok())
    };
    tasks.flatten().filter_map(of_task).sum()
}

/// Bytes of memory that a process has.
fn memory(pid: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
    kibibytes.unwrap().parse::<u64>().unwrap() * 1024
}

/// The least work of typing the keys once.
fn work_of_keys(tmux: &Tmux<'_>, pid: &str) -> u64 {
    let once = |_| {
        let before = work(pid);
        tmux.text(KEYS);
        tmux.until(KEYS);
        let done = work(pid) - before;
        tmux.keys(&["C-u"]);
        tmux.until_gone(KEYS);
        done
    };
    (0..TIMES).map(once).min().unwrap()
}

#[test]
fn a_key_costs_the_same_after_ten_outputs_of_50_kb() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (80, 24)) else {
        return;
    };
    let pid = tmux.pid();
    tmux.command("echo one");
    tmux.until("✔ done");
    let before = work_of_keys(&tmux, &pid);
    for number in 0..10 {
        tmux.command(&format!("seq 1 10000; echo end of {number}"));
        tmux.until(&format!("\nend of {number}\n"));
    }
    tmux.until("[ready]");
    let after = work_of_keys(&tmux, &pid);
    let more = after as f64 / before as f64;
    let told = format!("{before} ns, then {after} ns: {more:.1} times");
    assert!(more < MOST, "{told}");
    assert!(after < WORK, "{told}");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}

#[test]
fn memory_is_flat_however_much_ran() {
    /// What an allocator may keep for itself.
    const SLACK: u64 = 8 << 20;
    // The megabytes that runs write until as much is held as ever is of them, and what they write
    // after that: a console that kept it all would have twice the slack more. In a soak it is a day
    // of work.
    let (filling, more) = if is_soak() {
        (vec![1; 18], vec![1; 160])
    } else {
        (vec![8], vec![14])
    };
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (80, 24)) else {
        return;
    };
    let pid = tmux.pid();
    let fill = |name: &str, runs: &[usize]| {
        for (number, megabytes) in runs.iter().enumerate() {
            let (line, lines) = ("x".repeat(190), megabytes * 5200);
            let end = format!("end of {name}{number}");
            tmux.command(&format!("yes {line} | head -n {lines}; echo {end}"));
            tmux.until(&format!("\n{end}\n"));
        }
        tmux.until("[ready]");
    };
    fill("f", &filling);
    let before = memory(&pid);
    fill("m", &more);
    let later = memory(&pid);
    let written = (more.iter().sum::<usize>() as u64) << 20;
    assert!(written > SLACK + SLACK / 2, "too little to tell");
    assert!(later < before + SLACK, "{before}, then {later}");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}
