//! Measuring two things in turn, and what is left of many measurements.
//!
//! A noisy machine is noisy for both sides if they take turns. A *round* is a number of pairs, in
//! each of which both sides are measured once and the order changes from pair to pair. A round
//! gives the quotients of its two medians and of its two tenth percentiles; of several rounds the
//! median counts, so that one disturbed round changes nothing.

use anyhow::{Context, Result};
use std::time::Duration;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What the bars speak of.
    Full,
    /// As little as shows that a workload works; its figures mean nothing.
    Smoke,
}

/// How often, and how much at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) rounds: usize,
    pub(crate) extent: Extent,
}

impl Effort {
    /// One of two amounts.
    pub(crate) fn choose<T>(self, full: T, smoke: T) -> T {
        match self.extent {
            Extent::Full => full,
            Extent::Smoke => smoke,
        }
    }
}

/// Median and tenth percentile of one side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) p50: f64,
    pub(crate) p10: f64,
}

/// Two sides beside each other, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared {
    pub(crate) ours: Spread,
    pub(crate) limit: Spread,
    /// Ours over limit, at the median and at the tenth percentile.
    pub(crate) ratio: Spread,
}

/// Measures both sides in turn: `pairs` pairs a round, with `settle` before every measurement.
pub(crate) fn in_turn(
    effort: Effort,
    pairs: usize,
    mut settle: impl FnMut() -> Result<()>,
    mut ours: impl FnMut() -> Result<Duration>,
    mut limit: impl FnMut() -> Result<Duration>,
) -> Result<Compared> {
    if effort.extent == Extent::Full {
        // What is read for the first time, and so comes from disk, counts for neither side.
        settle()?;
        ours()?;
        settle()?;
        limit()?;
    }
    let mut rounds = Vec::with_capacity(effort.rounds);
    for _ in 0..effort.rounds {
        let (mut of_ours, mut of_limit) = (Vec::new(), Vec::new());
        for pair in 0..pairs {
            for turn in [pair, pair + 1] {
                settle()?;
                if turn % 2 == 0 {
                    of_ours.push(ours()?.as_secs_f64());
                } else {
                    of_limit.push(limit()?.as_secs_f64());
                }
            }
        }
        rounds.push((spread(of_ours)?, spread(of_limit)?));
    }
    summary(&rounds)
}

/// Over all rounds the median of what each round gave.
fn summary(rounds: &[(Spread, Spread)]) -> Result<Compared> {
    let over = |value: fn(&(Spread, Spread)) -> f64| median(rounds.iter().map(value).collect());
    Ok(Compared {
        ours: Spread {
            p50: over(|(ours, _)| ours.p50)?,
            p10: over(|(ours, _)| ours.p10)?,
        },
        limit: Spread {
            p50: over(|(_, limit)| limit.p50)?,
            p10: over(|(_, limit)| limit.p10)?,
        },
        ratio: Spread {
            p50: over(|(ours, limit)| ours.p50 / limit.p50)?,
            p10: over(|(ours, limit)| ours.p10 / limit.p10)?,
        },
    })
}

fn spread(samples: Vec<f64>) -> Result<Spread> {
    let mut sorted = samples;
    sorted.sort_by(f64::total_cmp);
    let tenth = sorted.get(sorted.len() / 10).copied();
    Ok(Spread {
        p10: tenth.context("nothing was measured")?,
        p50: median(sorted)?,
    })
}

/// The middle of the samples; between the two middle ones where their number is even.
pub(crate) fn median(samples: Vec<f64>) -> Result<f64> {
    let mut sorted = samples;
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().context("nothing was measured");
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        Ok(f64::midpoint(at(middle.wrapping_sub(1))?, at(middle)?))
    } else {
        at(middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn both_sides_take_turns_and_the_order_changes() {
        let order = RefCell::new(String::new());
        let side = |letter: char, millis: u64| {
            order.borrow_mut().push(letter);
            Ok(Duration::from_millis(millis))
        };
        let effort = Effort {
            rounds: 2,
            extent: Extent::Full,
        };
        let compared = in_turn(effort, 2, || Ok(()), || side('o', 30), || side('l', 20)).unwrap();
        assert_eq!(
            order.into_inner(),
            "ol" /* warm-up */
                .to_owned()
                + "ollo"
                + "ollo"
        );
        assert!((compared.ratio.p50 - 1.5).abs() < 1e-9, "{compared:?}");
    }

    #[test]
    fn one_disturbed_round_changes_nothing() {
        let calm = (Spread { p50: 2.0, p10: 1.0 }, Spread { p50: 1.0, p10: 1.0 });
        let disturbed = (Spread { p50: 9.0, p10: 9.0 }, Spread { p50: 1.0, p10: 1.0 });
        let compared = summary(&[calm, disturbed, calm]).unwrap();
        assert!((compared.ratio.p50 - 2.0).abs() < 1e-9, "{compared:?}");
        assert!((compared.ratio.p10 - 1.0).abs() < 1e-9, "{compared:?}");
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert!((median(vec![4.0, 1.0, 2.0, 3.0]).unwrap() - 2.5).abs() < 1e-9);
        assert!((median(vec![3.0, 1.0, 2.0]).unwrap() - 2.0).abs() < 1e-9);
        assert!(median(Vec::new()).is_err());
    }
}
