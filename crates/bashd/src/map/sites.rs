//! Where the next item of a map runs: at the site that has most room, of those that can be reached.

use crate::engine::{Engine, HERE};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Pause after a site could not be reached; each further one is twice that.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The longest such pause: what comes back is to be used soon.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Sites of a map: this machine, and places.
#[derive(Debug)]
pub(super) struct Sites {
    all: Vec<Site>,
    /// How many items run at a time.
    most: usize,
}

/// One of them.
#[derive(Debug)]
struct Site {
    /// The place; `None` for this machine.
    name: Option<String>,
    /// How many processors it has.
    room: usize,
    running: usize,
    /// Until when it is left alone, since it can't be reached, and since when that is so.
    away: Option<Away>,
    patience: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Away {
    until: Instant,
    since: Instant,
    pause: Duration,
}

impl Sites {
    /// Looks at the places of these names; what can't be reached is told.
    pub(super) async fn look(
        engine: &Engine,
        names: &[String],
        (jobs, owner): (Option<usize>, Option<String>),
    ) -> (Self, Vec<String>) {
        let usual = engine.config().default_place.clone();
        let usual = [usual.unwrap_or_else(|| HERE.to_owned())];
        let names = if names.is_empty() { &usual } else { names };
        let mut looking = JoinSet::new();
        for (number, name) in names.iter().enumerate() {
            let (engine, name) = (engine.clone(), name.clone());
            let owner = owner.clone();
            looking.spawn(async move {
                let found = match &*name {
                    HERE => Ok(processors()),
                    name => match engine.room_at(name, owner.as_deref()).await {
                        Ok(room) => Ok(room as usize),
                        Err(error) => Err(error.to_string()),
                    },
                };
                (number, name, found)
            });
        }
        let mut looked = looking.join_all().await;
        looked.sort_by_key(|(number, ..)| *number);
        let (mut all, mut problems) = (Vec::new(), Vec::new());
        for (_, name, found) in looked {
            let settings = engine.config().places.iter();
            let mut settings = settings.filter(|place| place.name == name);
            let mut site = Site {
                patience: settings
                    .next()
                    .map_or(Duration::ZERO, |place| place.patience),
                name: Some(name).filter(|name| name != HERE),
                room: *found.as_ref().unwrap_or(&1),
                running: 0,
                away: None,
            };
            if let Err(problem) = found {
                site.set_aside();
                problems.push(problem);
            }
            all.push(site);
        }
        let room = all.iter().map(|site| site.room.max(1)).sum();
        let most = jobs.unwrap_or(room).max(1);
        (Self { all, most }, problems)
    }

    /// Takes a slot at the site with most room; `None` if all that may run does, or no site can be
    /// reached.
    pub(super) fn take(&mut self) -> Option<(usize, Option<String>)> {
        let running: usize = self.all.iter().map(|site| site.running).sum();
        if running >= self.most {
            return None;
        }
        let now = Instant::now();
        let reached = self.all.iter_mut().enumerate();
        let reached = reached.filter(|(_, site)| match site.away {
            // One that comes back is tried with one item.
            Some(away) => away.until <= now && site.running == 0,
            None => true,
        });
        let (number, site) = reached.min_by(|(_, one), (_, other)| {
            let load = |site: &Site| (site.running + 1) as f64 / site.room.max(1) as f64;
            load(one).total_cmp(&load(other))
        })?;
        site.running += 1;
        Some((number, site.name.clone()))
    }

    /// Gives a slot back after its item has ended; whether the site was away.
    pub(super) fn ended(&mut self, number: usize) -> bool {
        let Some(site) = self.all.get_mut(number) else {
            return false;
        };
        site.running = site.running.saturating_sub(1);
        site.away.take().is_some()
    }

    /// Gives it back because the site could not be reached; whether that is news.
    pub(super) fn unreached(&mut self, number: usize) -> bool {
        let Some(site) = self.all.get_mut(number) else {
            return false;
        };
        site.running = site.running.saturating_sub(1);
        let is_news = site.away.is_none();
        site.set_aside();
        is_news
    }

    /// When the next site is tried again, if there is none now.
    pub(super) fn next_try(&self) -> Option<Instant> {
        self.all
            .iter()
            .filter_map(|site| Some(site.away?.until))
            .min()
    }

    /// Whether all of them can't be reached, for longer than they are waited for.
    pub(super) fn are_lost(&self) -> bool {
        self.all.iter().all(|site| {
            let away = site.away.map(|away| away.since.elapsed() >= site.patience);
            site.running == 0 && away.unwrap_or(false)
        })
    }
}

impl Site {
    fn set_aside(&mut self) {
        let now = Instant::now();
        let before = self.away;
        let pause = before.map_or(FIRST_PAUSE, |away| (away.pause * 2).min(LONGEST_PAUSE));
        self.away = Some(Away {
            until: now + pause,
            since: before.map_or(now, |away| away.since),
            pause,
        });
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
