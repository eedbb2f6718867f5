//! Spare keepers with a view that was built ahead, for confined calls to come.
//!
//! A view takes longer to build than most commands to run. So behind each confined call waits a
//! keeper with a view for the next one like it, and likewise for the confinement before, since
//! callers change between two. The keeper compares again before it uses its view. A view holds
//! every file system that was mounted when it was built, so none waits for long. After calls that
//! came at once, as many views wait for a while, for the next may come so, too.

use bashd_keeper::confinement::SharedConfinement;
use bashd_keeper::keeper::protocol::{self, PrepareMessage};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How many confinements are remembered.
const REMEMBERED: usize = 2;

/// How long a view waits for a call.
const WAITS: Duration = Duration::from_mins(2);

/// How long as many views wait as the last calls at once needed.
const WAITS_MANY: Duration = Duration::from_secs(10);

/// Most views that wait for one confinement.
const MOST: usize = 100;

/// The spares, by the confinement that was used last.
#[derive(Default)]
pub(super) struct ConfinedSpares {
    kinds: Vec<ConfinedSpare>,
}

struct ConfinedSpare {
    confinement: SharedConfinement,
    /// The sockets to their keepers.
    keepers: Vec<OwnedFd>,
    /// Calls since views were last asked for.
    used: usize,
    /// How many are to wait.
    wanted: usize,
    /// When all but one are given up.
    many_until: Instant,
    /// When that one is.
    until: Instant,
}

impl ConfinedSpares {
    /// Takes the spare for this confinement; the call may have come at once with the one before.
    pub(super) fn take(
        &mut self,
        confinement: &SharedConfinement,
        at_once: bool,
    ) -> Option<OwnedFd> {
        let mut kinds = self.kinds.iter_mut();
        let kind = kinds.find(|kind| kind.confinement == *confinement)?;
        kind.used = if at_once { kind.used + 1 } else { 1 };
        // The one that has waited longest is ready most probably.
        (!kind.keepers.is_empty()).then(|| kind.keepers.remove(0))
    }

    /// The spare that the next call gets if it is like the last one.
    pub(super) fn next(&self) -> Option<&OwnedFd> {
        self.kinds.first().and_then(|kind| kind.keepers.first())
    }

    /// Remembers this confinement. Returns whether a spare for it is to be made.
    pub(super) fn follow(&mut self, confinement: &SharedConfinement, now: Instant) -> bool {
        let found = (self.kinds.iter()).position(|kind| kind.confinement == *confinement);
        let mut kind = match found {
            Some(at) => self.kinds.remove(at),
            None => ConfinedSpare {
                confinement: confinement.clone(),
                keepers: Vec::new(),
                used: 0,
                wanted: 1,
                many_until: now,
                until: now,
            },
        };
        kind.until = now + WAITS;
        let is_missing = kind.keepers.len() < kind.wanted.max(kind.used);
        self.kinds.insert(0, kind);
        self.kinds.truncate(REMEMBERED);
        is_missing
    }

    /// Has keepers build the views that are missing: one, or as many as calls came since the last
    /// time.
    pub(super) fn fill(&mut self, now: Instant, fork: impl Fn() -> io::Result<OwnedFd>) {
        for kind in &mut self.kinds {
            if kind.used > 1 && kind.used >= kind.wanted {
                kind.wanted = kind.used.min(MOST);
                kind.many_until = now + WAITS_MANY;
            }
            kind.used = 0;
            let message = PrepareMessage {
                confinement: kind.confinement.clone(),
            };
            while kind.keepers.len() < kind.wanted {
                let asked = fork()
                    .and_then(|keeper| protocol::send(&keeper, &message, &[]).map(|()| keeper));
                // If it fails, the next call finds out why.
                let Ok(keeper) = asked else { break };
                kind.keepers.push(keeper);
            }
        }
    }

    /// When the first of them is given up.
    pub(super) fn end(&self) -> Option<Instant> {
        let ends = self.kinds.iter().map(|kind| {
            if kind.wanted > 1 {
                kind.many_until.min(kind.until)
            } else {
                kind.until
            }
        });
        ends.min()
    }

    /// Gives up those that waited for long.
    pub(super) fn let_go_of_old(&mut self, now: Instant) {
        self.kinds.retain(|kind| kind.until > now);
        for kind in self.kinds.iter_mut().filter(|kind| kind.many_until <= now) {
            kind.wanted = 1;
            kind.keepers.truncate(1);
        }
    }

    /// Gives up all of them.
    pub(super) fn forget(&mut self) {
        self.kinds.clear();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use bashd_keeper::confinement::{Confinement, Level, Network};
    use bashd_keeper::keeper::socket_pair;
    use std::cell::RefCell;

    pub(in super::super) fn confinement(name: &str) -> SharedConfinement {
        SharedConfinement::from(Confinement {
            preset: name.to_owned(),
            workspace: "/w".into(),
            write: Vec::new(),
            read: Vec::new(),
            hide: Vec::new(),
            protect: Vec::new(),
            sockets: Vec::new(),
            network: Network::None,
            hosts: Vec::new(),
            resolve: Vec::new(),
            home: None,
            layers: Vec::new(),
            bring: Vec::new(),
            require: Level::Full,
            most: Level::Full,
            watches_files: false,
        })
    }

    #[test]
    fn a_spare_is_for_its_confinement_alone_and_for_one_call() {
        let (mut spares, now) = (ConfinedSpares::default(), Instant::now());
        let (one, other) = (confinement("one"), confinement("other"));
        let others = RefCell::new(Vec::new());
        let fork = || {
            let (near, far) = socket_pair()?;
            others.borrow_mut().push(far);
            Ok(near)
        };
        assert!(spares.follow(&one, now));
        spares.fill(now, fork);
        assert!(spares.take(&other, false).is_none());
        assert!(spares.follow(&other, now));
        spares.fill(now, fork);
        assert!(!spares.follow(&one, now));
        assert!(spares.take(&one, false).is_some() && spares.take(&other, false).is_some());
        assert!(spares.take(&one, false).is_none());
        // A third one takes the place of the one that was used least lately.
        spares.fill(now, fork);
        spares.follow(&confinement("third"), now);
        assert!(spares.take(&other, false).is_none());
        assert!(spares.take(&one, false).is_some());
    }

    #[test]
    fn after_calls_at_once_as_many_wait_for_a_while() {
        let (mut spares, now) = (ConfinedSpares::default(), Instant::now());
        let one = confinement("one");
        let others = RefCell::new(Vec::new());
        let fork = || {
            let (near, far) = socket_pair()?;
            others.borrow_mut().push(far);
            Ok(near)
        };
        let waiting = |spares: &ConfinedSpares| spares.kinds.first().map(|kind| kind.keepers.len());
        spares.follow(&one, now);
        spares.fill(now, fork);
        assert_eq!(waiting(&spares), Some(1));
        let found: Vec<bool> = (0..5).map(|_| spares.take(&one, true).is_some()).collect();
        assert_eq!(found, [true, false, false, false, false]);
        assert!(spares.follow(&one, now));
        spares.fill(now, fork);
        assert_eq!(waiting(&spares), Some(5));
        // One call alone does not change that; a while without many does.
        assert!(spares.take(&one, false).is_some() && spares.follow(&one, now));
        spares.fill(now, fork);
        assert_eq!(waiting(&spares), Some(5));
        assert_eq!(spares.end(), Some(now + WAITS_MANY));
        spares.let_go_of_old(now + WAITS_MANY);
        assert_eq!(waiting(&spares), Some(1));
        assert_eq!(spares.end(), Some(now + WAITS));
    }

    #[test]
    fn what_waited_for_long_is_given_up() {
        let (mut spares, now) = (ConfinedSpares::default(), Instant::now());
        spares.follow(&confinement("one"), now);
        assert_eq!(spares.end(), Some(now + WAITS));
        spares.let_go_of_old(now + WAITS / 2);
        assert!(spares.end().is_some());
        spares.let_go_of_old(now + WAITS);
        assert_eq!(spares.end(), None);
    }
}
