//! Looking at processes from outside, by `/proc`.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal};
use std::collections::BTreeSet;
use std::fs;

/// Every living process below this one.
pub(crate) fn below() -> Vec<Pid> {
    let mut found = Vec::new();
    let mut parents = vec![rustix::process::getpid()];
    while let Some(parent) = parents.pop() {
        for child in children(parent) {
            parents.push(child);
            if is_alive(child) {
                found.push(child);
            }
        }
    }
    found
}

/// The names of this process's threads.
pub(crate) fn threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let names = tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.map(|name| name.trim_end().to_owned()).collect()
}

fn children(pid: Pid) -> Vec<Pid> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    let lists = tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids = |list: String| -> Vec<Pid> {
        list.split_ascii_whitespace()
            .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
            .collect()
    };
    lists.flat_map(pids).collect()
}

/// Whether it is more than a status that nobody has collected.
fn is_alive(pid: Pid) -> bool {
    let state = status(pid, "State:");
    state.is_ok_and(|state| !state.starts_with(['Z', 'X']))
}

/// Kills one process, which is below us.
pub(crate) fn end(pid: Pid) {
    // It may have ended by itself.
    let _ = rustix::process::kill_process(pid, Signal::KILL);
}

/// How often all threads of a process were scheduled away: each is a wake-up before.
pub(crate) fn context_switches(pid: Pid) -> Result<u64> {
    let mut total = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(task?.path().join("status"))?;
        for name in ["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"] {
            total += number(field(&text, name)?)?;
        }
    }
    Ok(total)
}

/// The process's share of memory, in bytes: what it has alone, and its part of what it shares.
pub(crate) fn proportional_bytes(pid: Pid) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    Ok(number(field(&text, "Pss:")?)? * 1024)
}

/// Likewise, of several processes. Those that have the same memory, which the kernel describes in
/// the same words, have it once.
pub(crate) fn proportional_bytes_of(pids: impl IntoIterator<Item = Pid>) -> Result<u64> {
    let mut seen = BTreeSet::new();
    for pid in pids {
        seen.insert(fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?);
    }
    seen.iter()
        .map(|text| Ok(number(field(text, "Pss:")?)? * 1024))
        .sum()
}

/// The parent of a process.
pub(crate) fn parent(pid: Pid) -> Result<Pid> {
    let parent = number(&status(pid, "PPid:")?)?;
    Pid::from_raw(i32::try_from(parent)?).context("a parent")
}

/// The most memory that this process had at a time since the peak was reset, in bytes.
pub(crate) fn own_peak_bytes() -> Result<u64> {
    peak_bytes(status(rustix::process::getpid(), "VmHWM:")?.as_str())
}

/// Reads a peak as `/proc/PID/status` writes it, in bytes.
pub(crate) fn peak_bytes(text: &str) -> Result<u64> {
    Ok(number(text)? * 1024)
}

/// Makes the present the peak of this process.
pub(crate) fn reset_own_peak() -> Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("reset the peak of memory")
}

fn status(pid: Pid, name: &str) -> Result<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    Ok(field(&text, name)?.to_owned())
}

fn field<'text>(text: &'text str, name: &str) -> Result<&'text str> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
        .with_context(|| format!("/proc has no {name}"))
}

fn number(text: &str) -> Result<u64> {
    let word = text.split_ascii_whitespace().next();
    word.and_then(|word| word.parse().ok())
        .with_context(|| format!("{text:?} is not a number"))
}
