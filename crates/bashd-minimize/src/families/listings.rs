//! find, fd, ls, du: an owner that all files share is written once; the lossless tier does the
//! rest.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput};
use std::fmt::Write as _;

pub(super) struct Listings;

impl Filter for Listings {
    fn name(&self) -> &'static str {
        "listings"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "find", "fd", "ls", "exa", "eza", "lsd", "dir", "du", "wc", "stat", "locate",
        ]
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        let owner = common_owner(input);
        if let Some((user, group)) = owner {
            sheet.keep(&format!("[owner and group of all: {user} {group}]"));
            sheet.remark("link counts left out");
        }
        for line in input.lines() {
            match ListingEntry::of(line) {
                Some(entry) if owner.is_some() => sheet.keep(&entry.short()),
                _ if line.is_empty() => sheet.skip(""),
                _ => sheet.keep(line),
            }
        }
    }
}

/// The owner and group of every long entry, if they are the same.
fn common_owner<'a>(input: &FilterInput<'a>) -> Option<(&'a str, &'a str)> {
    let mut entries = input.lines().filter_map(ListingEntry::of);
    let first = entries.next()?;
    let owner = (first.user, first.group);
    let (mut count, mut same) = (1, true);
    for entry in entries {
        count += 1;
        same &= (entry.user, entry.group) == owner;
    }
    (same && count > 3).then_some(owner)
}

/// A line of `ls -l`.
struct ListingEntry<'a> {
    mode: &'a str,
    user: &'a str,
    group: &'a str,
    /// The size and what follows it.
    rest: &'a str,
}

impl<'a> ListingEntry<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (mode, rest) = line.split_once(' ')?;
        let is_mode = mode.len() >= 10
            && mode.starts_with(['-', 'd', 'l', 'c', 'b', 'p', 's'])
            && mode
                .bytes()
                .skip(1)
                .take(9)
                .all(|byte| b"rwxsStT-".contains(&byte));
        if !is_mode {
            return None;
        }
        let (links, rest) = rest.trim_start().split_once(' ')?;
        let (user, rest) = rest.trim_start().split_once(' ')?;
        let (group, rest) = rest.trim_start().split_once(' ')?;
        let is_count = links.bytes().all(|byte| byte.is_ascii_digit());
        is_count.then(|| Self {
            mode,
            user,
            group,
            rest: rest.trim_start(),
        })
    }

    /// The entry without links and owner, its columns separated by one blank.
    fn short(&self) -> String {
        let mut words = self.rest.split(' ').filter(|word| !word.is_empty());
        let mut line = self.mode.to_owned();
        for word in words.by_ref().take(4) {
            let _ = write!(line, " {word}");
        }
        // The name, in which blanks count.
        if let Some(name) = words.next()
            && let Some(at) = self.rest.find(&format!(" {name}"))
        {
            line.push_str(self.rest.get(at..).unwrap_or_default());
        }
        line
    }
}
