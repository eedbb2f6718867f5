//! What a confined command was refused, and whom it spoke to: told as data.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Most entries of each list that one run tells; the rest is counted.
pub const MOST_TOLD: usize = 10;

/// What kind of thing was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedKind {
    /// Changing, making or removing a file.
    Write,
    /// Reading one.
    Read,
    /// Connecting to a host.
    Connect,
    /// Executing a program.
    Exec,
    /// A call of the kernel.
    Syscall,
}

impl RefusedKind {
    /// Its name in replies.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Connect => "connect",
            Self::Exec => "exec",
            Self::Syscall => "syscall",
        }
    }
}

/// Something that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// What kind of thing.
    pub kind: RefusedKind,
    /// The path, the host and its port, or the name of the call.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// Connections to one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connected {
    /// The host and its port.
    pub host: String,
    /// How many there were.
    pub count: u64,
    /// Bytes that went to it.
    pub sent: u64,
    /// Bytes that came from it.
    pub received: u64,
}

/// What is known of a run, or of a shell since it began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dealings {
    /// What was refused, in the order of its first time.
    pub refused: Vec<Refused>,
    /// Refusals of other things that are not listed.
    #[serde(default)]
    pub more_refused: u64,
    /// Whom it spoke to.
    pub connected: Vec<Connected>,
    /// Connections to other hosts that are not listed.
    #[serde(default)]
    pub more_connected: u64,
    /// Whether what served the network is gone.
    #[serde(default)]
    pub network_lost: bool,
    /// Whether what watched its files is gone.
    #[serde(default)]
    pub watch_lost: bool,
    /// Calls of processes that could not be looked into.
    #[serde(default)]
    pub unseen: u64,
    /// What is protected where it is there, and was made, so that the next command finds it
    /// protected.
    #[serde(default)]
    pub made: Vec<String>,
}

impl Dealings {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        let is_whole = !self.network_lost && !self.watch_lost && self.unseen == 0;
        let is_counted = self.more_refused + self.more_connected > 0;
        let has_any = [self.refused.len(), self.connected.len(), self.made.len()] != [0; 3];
        !has_any && is_whole && !is_counted
    }

    /// One refusal more. `most` bounds the list.
    pub fn refuse(&mut self, kind: RefusedKind, what: &str, most: usize) {
        let mut known = self.refused.iter_mut();
        if let Some(known) = known.find(|known| known.kind == kind && known.what == what) {
            known.count += 1;
        } else if self.refused.len() < most {
            let what = what.to_owned();
            self.refused.push(Refused {
                kind,
                what,
                count: 1,
            });
        } else {
            self.more_refused += 1;
        }
    }

    /// What two observers know together.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.refused.extend(other.refused);
        self.connected.extend(other.connected);
        self.more_refused += other.more_refused;
        self.more_connected += other.more_connected;
        self.network_lost |= other.network_lost;
        self.watch_lost |= other.watch_lost;
        self.unseen += other.unseen;
        self.made.extend(other.made);
        self
    }

    /// What came after an earlier moment.
    #[must_use]
    pub fn since(mut self, earlier: &Self) -> Self {
        let before: HashMap<_, _> = (earlier.refused.iter())
            .map(|one| ((one.kind, &*one.what), one.count))
            .collect();
        for one in &mut self.refused {
            let known = before.get(&(one.kind, &*one.what)).copied();
            one.count = one.count.saturating_sub(known.unwrap_or(0));
        }
        self.refused.retain(|one| one.count > 0);
        let before: HashMap<_, _> = (earlier.connected.iter())
            .map(|one| (&*one.host, one))
            .collect();
        for one in &mut self.connected {
            if let Some(known) = before.get(&*one.host) {
                one.count = one.count.saturating_sub(known.count);
                one.sent = one.sent.saturating_sub(known.sent);
                one.received = one.received.saturating_sub(known.received);
            }
        }
        self.connected
            .retain(|one| one.count + one.sent + one.received > 0);
        self.more_refused = self.more_refused.saturating_sub(earlier.more_refused);
        self.more_connected = self.more_connected.saturating_sub(earlier.more_connected);
        self.unseen = self.unseen.saturating_sub(earlier.unseen);
        self.made.retain(|path| !earlier.made.contains(path));
        self
    }

    /// What is told of it.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        let rest = self.refused.iter().skip(MOST_TOLD).map(|one| one.count);
        self.more_refused += rest.sum::<u64>();
        self.refused.truncate(MOST_TOLD);
        let rest = self.connected.iter().skip(MOST_TOLD).map(|one| one.count);
        self.more_connected += rest.sum::<u64>();
        self.connected.truncate(MOST_TOLD);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_what_came_after_its_beginning() {
        let mut all = Dealings::default();
        all.refuse(RefusedKind::Connect, "a:1", 3);
        all.refuse(RefusedKind::Connect, "b:1", 3);
        let earlier = all.clone();
        all.refuse(RefusedKind::Connect, "a:1", 3);
        all.refuse(RefusedKind::Write, "/x", 3);
        all.refuse(RefusedKind::Write, "/y", 3);
        let later = all.since(&earlier);
        let told: Vec<_> = later
            .refused
            .iter()
            .map(|one| (&*one.what, one.count))
            .collect();
        assert_eq!(told, [("a:1", 1), ("/x", 1)]);
        assert_eq!(later.more_refused, 1);
        let made = |paths: &[&str]| Dealings {
            made: paths.iter().map(|path| (*path).to_owned()).collect(),
            ..Dealings::default()
        };
        assert_eq!(made(&["/x", "/y"]).since(&made(&["/x"])), made(&["/y"]));
    }

    #[test]
    fn what_is_only_counted_is_something() {
        let mut all = Dealings::default();
        assert!(all.is_empty());
        all.refuse(RefusedKind::Write, "/x", 1);
        let earlier = all.clone();
        assert!(all.clone().since(&earlier).is_empty());
        all.refuse(RefusedKind::Write, "/y", 1);
        let later = all.since(&earlier);
        assert_eq!((later.refused.len(), later.more_refused), (0, 1));
        assert!(!later.is_empty());
    }

    #[test]
    fn ten_are_told_and_the_rest_is_counted() {
        let mut all = Dealings::default();
        for number in 0..25 {
            all.refuse(RefusedKind::Write, &format!("/{number}"), 100);
        }
        let told = all.shortened();
        assert_eq!((told.refused.len(), told.more_refused), (10, 15));
    }
}
