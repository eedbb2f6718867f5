//! How much of what is not urgent may be on its way: on a slow wire little, since pipes, ssh and
//! the kernel keep what they are given, and what is urgent can't overtake it there any more.
//!
//! The other side says how many bytes have arrived. From how long that takes beside the least that
//! it ever took follows how much waits on the way: while that is a tenth of a second or more, less
//! is sent. Pure; the time is an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What may always be on its way, and all that may be before anything is known of the wire: a
/// quarter of a second at 1 Mbit/s.
const LEAST: u64 = 32 * 1024;

/// What may be on a fast wire that is long.
const MOST: u64 = 4 * 1024 * 1024;

/// A frame that is no part of anything large, and how much of these may be on its way.
const SHORT: usize = 4 * 1024;
const MOST_SHORT: u64 = 256 * 1024;

/// How long what is sent may wait on its way, beside the way itself.
const WAITS: Duration = Duration::from_millis(100);

/// Bytes after which the other side is told that they have arrived.
const TOLD_AFTER: u64 = 8 * 1024;

/// What is on its way, and what may be.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Bytes that were sent, and that have arrived, since the beginning.
    sent: u64,
    arrived: u64,
    window: u64,
    /// When what ends at these bytes was sent, and how much was on its way then.
    marks: VecDeque<(u64, Instant, u64)>,
    /// The least time that it took to hear of an arrival.
    way: Option<Duration>,
    /// Where the window was changed last: its effect shows with what is sent after that.
    changed_at: u64,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            sent: 0,
            arrived: 0,
            window: LEAST,
            marks: VecDeque::new(),
            way: None,
            changed_at: 0,
        }
    }
}

impl Flow {
    /// Whether a frame of this size may be sent now.
    pub(crate) fn has_room_for(&self, bytes: usize) -> bool {
        let most = if bytes <= SHORT {
            self.window.max(MOST_SHORT)
        } else {
            self.window
        };
        self.sent - self.arrived + bytes as u64 <= most
    }

    /// A frame is being sent.
    pub(crate) fn sends(&mut self, bytes: usize, now: Instant) {
        self.sent += bytes as u64;
        let away = self.sent - self.arrived;
        self.marks.push_back((self.sent, now, away));
    }

    /// The other side says how many bytes have arrived there.
    pub(crate) fn hears(&mut self, arrived: u64, now: Instant) {
        // Whoever says more than was sent, or less than before, says nothing.
        if arrived > self.sent || arrived <= self.arrived {
            return;
        }
        self.arrived = arrived;
        let mut newest = None;
        while let Some((_, at, away)) = self.marks.pop_front_if(|(end, ..)| *end <= arrived) {
            newest = Some((now.saturating_duration_since(at), away));
        }
        let Some((took, away)) = newest else {
            return;
        };
        let known = self.way;
        let way = known.map_or(took, |way| way.min(took));
        self.way = Some(way);
        // The first time is compared with nothing, and what goes out over an empty wire tells
        // nothing of what waits on a full one.
        if known.is_none() || away <= self.window / 2 || arrived <= self.changed_at {
            return;
        }
        // So much comes through in the time that it waits too long, or could wait longer.
        let waited = took.saturating_sub(way);
        let off = waited.abs_diff(WAITS).as_secs_f64() / took.as_secs_f64().max(1e-6);
        let off = (away as f64 * off) as u64;
        let window = if waited < WAITS {
            self.window + off.min(self.window)
        } else {
            self.window - off.min(self.window / 2)
        };
        self.window = window.clamp(LEAST, MOST);
        self.changed_at = self.sent;
    }
}

/// What the other side is told of what has arrived here.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    told: u64,
    /// Whether the carrier holds writes back.
    is_held_back: bool,
    /// Whether a frame had begun after the read before.
    had_begun: bool,
}

impl Arrivals {
    /// Those of a carrier. One that keeps Nagle's algorithm, as `srun` does, which writes in pieces
    /// of 1 KiB, holds what it was given in two pieces in the middle until the first one is
    /// acknowledged: that takes up to 40 ms, unless this side has something to say. So this side
    /// says that a frame has begun, once for each: more of that would hold the answer back.
    pub(crate) fn of(is_held_back: bool) -> Self {
        Self {
            is_held_back,
            ..Self::default()
        }
    }

    /// What it is told now, if there is enough to tell.
    pub(crate) fn due(&mut self, arrived: u64, has_begun: bool) -> Option<u64> {
        let begins = has_begun && !self.had_begun;
        self.had_begun = has_begun;
        let is_due = arrived - self.told >= TOLD_AFTER || self.is_held_back && begins;
        is_due.then(|| {
            self.told = arrived;
            arrived
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: usize = 16 * 1024;

    /// Sends as much as may be over a wire of so many bytes a second, whose way there and back
    /// takes so long; the longest that something urgent would have waited on it after the first
    /// second, and bytes that came through in ten.
    fn sent_over(rate: u64, way: Duration) -> (Duration, u64) {
        let begun = Instant::now();
        let (mut flow, mut arrivals) = (Flow::default(), Arrivals::default());
        let (mut now, mut free_at) = (begun, begun);
        let (mut on_its_way, mut heard) = (VecDeque::new(), VecDeque::new());
        let (mut arrived, mut longest) = (0, Duration::ZERO);
        // What is small goes first, as the greeting does.
        let mut next = 200;
        while now < begun + Duration::from_secs(10) {
            while flow.has_room_for(next) {
                flow.sends(next, now);
                let takes = Duration::from_secs_f64(next as f64 / rate as f64);
                free_at = free_at.max(now) + takes;
                on_its_way.push_back((free_at + way / 2, next as u64));
                next = FRAME;
            }
            if now > begun + Duration::from_secs(1) {
                longest = longest.max(free_at.saturating_duration_since(now));
            }
            now += Duration::from_millis(1);
            while let Some((_, bytes)) = on_its_way.pop_front_if(|(at, _)| *at <= now) {
                arrived += bytes;
                heard.extend(
                    arrivals
                        .due(arrived, false)
                        .map(|told| (now + way / 2, told)),
                );
            }
            while let Some((_, told)) = heard.pop_front_if(|(at, _)| *at <= now) {
                flow.hears(told, now);
            }
        }
        (longest, arrived)
    }

    #[test]
    fn that_a_frame_has_begun_is_told_once_and_only_where_it_helps() {
        let (mut at_once, mut later) = (Arrivals::of(true), Arrivals::default());
        for (has_begun, is_told) in [
            (false, false),
            (true, true),
            (true, false),
            (false, false),
            (true, true),
        ] {
            assert_eq!(at_once.due(0, has_begun).is_some(), is_told);
            assert_eq!(later.due(0, has_begun), None);
        }
        assert_eq!(later.due(TOLD_AFTER, true), Some(TOLD_AFTER));
    }

    #[test]
    fn on_a_slow_wire_what_is_urgent_waits_little_and_the_wire_is_used() {
        for (rate, way) in [(125_000, 1), (125_000, 100), (12_500, 1), (1_250_000, 40)] {
            let (longest, arrived) = sent_over(rate, Duration::from_millis(way));
            let least = Duration::from_secs_f64(LEAST as f64 / rate as f64);
            let most = least.max(Duration::from_millis(300)) + Duration::from_millis(1);
            assert!(longest <= most, "{rate}, {way} ms: {longest:?}");
            let used = arrived as f64 / (rate * 10) as f64;
            assert!(used > 0.8, "{rate}, {way} ms: {used} of it is used");
        }
    }

    #[test]
    fn a_long_wire_that_is_fast_is_filled() {
        let (_, arrived) = sent_over(100_000_000, Duration::from_millis(200));
        assert!(arrived > 100_000_000, "{arrived} in ten seconds");
    }

    #[test]
    fn many_short_messages_wait_for_nobody() {
        let (mut flow, now) = (Flow::default(), Instant::now());
        for number in 0..100 {
            assert!(flow.has_room_for(2500), "{number}");
            flow.sends(2500, now);
        }
        assert!(!flow.has_room_for(FRAME) && !flow.has_room_for(100_000));
        let more = (0..100).filter(|_| {
            let has_room = flow.has_room_for(2500);
            flow.sends(if has_room { 2500 } else { 0 }, now);
            has_room
        });
        assert!(more.count() < 10, "they are bounded, too");
    }

    #[test]
    fn whoever_says_what_can_t_be_says_nothing() {
        let (mut flow, now) = (Flow::default(), Instant::now());
        flow.sends(FRAME, now);
        flow.hears(u64::MAX, now);
        assert_eq!(flow.arrived, 0);
        flow.hears(FRAME as u64, now);
        flow.hears(1, now);
        assert_eq!(flow.arrived, FRAME as u64);
    }
}
