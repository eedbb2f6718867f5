//! The processes of a run: everything below its keeper, as the system shows it.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Processes that are told at most.
const MOST: usize = 200;

/// Bytes of a command line that are told.
const LONGEST: usize = 400;

/// What a keeper is called.
const KEEPER: &str = "bashd-keeper";

/// A process of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct TreeProcess {
    pub(super) pid: i32,
    /// How deep it is below the first one.
    depth: usize,
    /// One letter, as in `ps`.
    state: char,
    command: String,
}

struct FoundProcess {
    parent: i32,
    state: char,
    name: String,
}

/// The tree of the run whose shell has this pid, in the order of a tree. Empty if all have ended.
pub(super) fn of_shell(shell: i32) -> Vec<TreeProcess> {
    let all = all();
    let children = children(&all);
    // What lost its parent is below the keeper.
    let keeper = all.get(&shell).map(|process| process.parent);
    let keeper = keeper.filter(|pid| all.get(pid).is_some_and(|process| process.name == KEEPER));
    let roots = match keeper.and_then(|keeper| children.get(&keeper)) {
        Some(below) => below.clone(),
        None => vec![shell],
    };
    let mut tree = Vec::new();
    for root in roots {
        walk((&all, &children), root, 0, &mut tree);
    }
    tree
}

/// Those of a tree that still live.
pub(super) fn still_alive(before: &[TreeProcess]) -> Vec<TreeProcess> {
    let all = all();
    let lives = |process: &&TreeProcess| {
        let found = all.get(&process.pid);
        found.is_some_and(|found| found.state != 'Z')
    };
    before.iter().filter(lives).cloned().collect()
}

type ProcessTable = BTreeMap<i32, FoundProcess>;

fn all() -> ProcessTable {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: i32| Some((pid, read(pid)?)))
        .collect()
}

fn read(pid: i32) -> Option<FoundProcess> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in brackets, and may have some itself.
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let mut words = after.split_ascii_whitespace();
    Some(FoundProcess {
        state: words.next()?.chars().next()?,
        parent: words.next()?.parse().ok()?,
        name: name.to_owned(),
    })
}

fn children(all: &ProcessTable) -> BTreeMap<i32, Vec<i32>> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (pid, process) in all {
        children.entry(process.parent).or_default().push(*pid);
    }
    children
}

fn walk(
    (all, children): (&ProcessTable, &BTreeMap<i32, Vec<i32>>),
    root: i32,
    depth: usize,
    tree: &mut Vec<TreeProcess>,
) {
    let mut seen = BTreeSet::new();
    let mut next = vec![(root, depth)];
    while let Some((pid, depth)) = next.pop() {
        let Some(process) = all.get(&pid).filter(|_| seen.insert(pid)) else {
            continue;
        };
        if tree.len() >= MOST {
            return;
        }
        tree.push(TreeProcess {
            pid,
            depth,
            state: process.state,
            command: command_of(pid, &process.name),
        });
        let below = children.get(&pid).into_iter().flatten().rev();
        next.extend(below.map(|child| (*child, depth + 1)));
    }
}

/// Its command line, or its name in brackets.
fn command_of(pid: i32, name: &str) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = line.get(..LONGEST).unwrap_or(&line);
    let words = line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty());
    let words: Vec<String> = words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    if words.is_empty() {
        format!("[{name}]")
    } else {
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_tree_begins_with_us() {
        let own = std::process::id().cast_signed();
        let tree = of_shell(own);
        assert!(
            tree.iter()
                .any(|process| process.pid == own && process.depth == 0)
        );
        assert_eq!(still_alive(&tree).first(), tree.first());
        assert!(of_shell(i32::MAX).is_empty());
    }
}
