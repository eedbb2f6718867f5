//! Ends of jobs at other places, told unasked: a place is asked for the next end as long as jobs of
//! an owner are known to go on there, and each end is passed on once.
//!
//! The place says what its model is told, since the output is there, and remembers that it was told
//! once this side has passed it on. Who is not reached for a while is asked again. An answer that
//! was under way while the owner was told otherwise counts for nothing: it is asked for anew.

use super::{Engine, EngineCore};
use crate::errand;
use crate::jobs::{FarJob, FarJobs};
use crate::place::managed::{ManagedCall, ManagedReply};
use crate::place::{FarPlace, OrderSettings};
use crate::plan;
use crate::profile::Profile;
use crate::reply::Reply;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// How long a place that was not reached is left alone.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Owners for whom places are asked at a time.
const MOST_WATCHED: usize = 256;

/// Jobs of an owner at a place that this side remembers having told of until the place knows it.
const MOST_REMEMBERED: usize = 500;

/// A place, and an owner.
type Watched = (String, String);

/// What is known of ends at other places.
#[derive(Debug, Default)]
pub(super) struct FarEnds {
    state: Mutex<FarEndsState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct FarEndsState {
    /// Places that are asked, for whom; and whether that owner may have been told since.
    watched: BTreeMap<Watched, bool>,
    /// Ends that nobody was told of.
    untold: BTreeMap<Watched, Untold>,
    /// Jobs whose owner was told here, which the place may not have heard.
    told: BTreeMap<Watched, Vec<String>>,
}

#[derive(Debug)]
struct Untold {
    ends: EndsThere,
    /// Whether a delivery has them.
    is_taken: bool,
}

#[derive(Debug, Clone)]
struct EndsThere {
    text: String,
    jobs: Vec<FarJob>,
    /// How they were asked for.
    call: ManagedCall,
}

/// Ends of jobs at other places on their way to their owner. If dropped without
/// [`done`](Self::done), they will be told again.
#[must_use = "what is not `done` is told again"]
pub struct FarDelivery {
    engine: Engine,
    ends: Vec<(Watched, EndsThere)>,
}

impl FarDelivery {
    /// What a model is told of them.
    pub fn text(&self) -> String {
        let texts = self.ends.iter().map(|(_, ends)| ends.text.as_str());
        texts.collect::<Vec<&str>>().join("\n\n")
    }

    /// The jobs that have ended.
    pub fn ended(&self) -> impl Iterator<Item = &FarJob> {
        self.ends.iter().flat_map(|(_, ends)| &ends.jobs)
    }

    /// The owner now knows about them.
    pub fn done(mut self) {
        let core = &self.engine.0;
        for (key, ends) in std::mem::take(&mut self.ends) {
            let ids: Vec<String> = ends.jobs.iter().map(|job| job.id.clone()).collect();
            let mut state = core.far_ends.lock();
            state.untold.remove(&key);
            let told = state.told.entry(key.clone()).or_default();
            told.extend(ids.iter().cloned());
            let too_many = told.len().saturating_sub(MOST_REMEMBERED);
            told.drain(..too_many);
            drop(state);
            if let Some(place) = core.place_named(&key.0) {
                tokio::spawn(async move { place.tell_ends_told(ends.call, ids).await });
            }
        }
        core.far_ends.changed.notify_waiters();
    }
}

impl Drop for FarDelivery {
    fn drop(&mut self) {
        let mut state = self.engine.0.far_ends.lock();
        for (key, _) in &self.ends {
            if let Some(untold) = state.untold.get_mut(key) {
                untold.is_taken = false;
            }
        }
    }
}

impl FarEnds {
    fn lock(&self) -> MutexGuard<'_, FarEndsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Jobs of which the place is to be told that their owner knows.
    fn told(&self, key: &Watched) -> Vec<String> {
        self.lock().told.get(key).cloned().unwrap_or_default()
    }

    /// Ends that an owner was not told of, but for these.
    fn untold(&self, owner: &str, known: &HashSet<String>) -> Vec<FarJob> {
        let state = self.lock();
        let own = state.untold.iter().filter(|((_, of), _)| of == owner);
        let ended = own.flat_map(|(_, untold)| &untold.ends.jobs);
        let new = ended.filter(|job| !known.contains(&job.id));
        new.cloned().collect()
    }

    /// The place has heard that.
    fn knows_there(&self, key: &Watched, told: &[String]) {
        let mut state = self.lock();
        if let Some(ids) = state.told.get_mut(key) {
            ids.retain(|id| !told.contains(id));
            if ids.is_empty() {
                state.told.remove(key);
            }
        }
    }
}

impl Engine {
    /// Ends of an owner's jobs at other places that nobody was told of; `None` if there are none.
    pub async fn ends_there(&self, profile: &str, owner: &str) -> Option<FarDelivery> {
        if self.0.places.is_empty() {
            return None;
        }
        self.watch_ends(profile, owner).await;
        let mut state = self.0.far_ends.lock();
        let own = state.untold.iter_mut();
        let own = own.filter(|((_, of), untold)| of == owner && !untold.is_taken);
        let ends: Vec<(Watched, EndsThere)> = own
            .map(|(key, untold)| {
                untold.is_taken = true;
                (key.clone(), untold.ends.clone())
            })
            .collect();
        drop(state);
        (!ends.is_empty()).then(|| FarDelivery {
            engine: self.clone(),
            ends,
        })
    }

    /// Waits for ends of an owner's jobs at other places that are not among these. They stay
    /// untold.
    pub async fn next_ends_there(
        &self,
        profile: &str,
        owner: &str,
        known: &HashSet<String>,
    ) -> Vec<FarJob> {
        loop {
            let changed = self.0.far_ends.changed.notified();
            self.watch_ends(profile, owner).await;
            let ended = self.0.far_ends.untold(owner, known);
            if !ended.is_empty() {
                return ended;
            }
            // Jobs that another process of this owner has begun are found, too.
            let _ = tokio::time::timeout(LONGEST_PAUSE, changed).await;
        }
    }

    /// Asks all places at which jobs of an owner go on for the next end.
    async fn watch_ends(&self, profile: &str, owner: &str) {
        for name in self.0.places_with_jobs_of(owner).await {
            let key = (name.clone(), owner.to_owned());
            let mut state = self.0.far_ends.lock();
            let is_new = state.watched.len() < MOST_WATCHED && !state.untold.contains_key(&key);
            if is_new && !state.watched.contains_key(&key) {
                state.watched.insert(key.clone(), false);
                drop(state);
                self.watch_place(key, profile);
            }
        }
    }

    /// An owner has asked one place about its jobs, and so may know of an end: what is still untold
    /// is asked for again.
    pub(super) fn look_for_ends_again(&self, profile: &str, owner: &str, place: &str) {
        let key = (place.to_owned(), owner.to_owned());
        let mut state = self.0.far_ends.lock();
        if let Some(may_be_told) = state.watched.get_mut(&key) {
            *may_be_told = true;
        } else if state
            .untold
            .get(&key)
            .is_some_and(|untold| !untold.is_taken)
        {
            state.untold.remove(&key);
            state.watched.insert(key.clone(), false);
            drop(state);
            self.watch_place(key, profile);
        }
    }

    fn watch_place(&self, key: Watched, profile: &str) {
        let (engine, profile) = (self.clone(), profile.to_owned());
        tokio::spawn(async move {
            while engine.watches_on(&key, &profile).await {}
            engine.0.far_ends.changed.notify_waiters();
        });
    }

    /// Asks a place once for the next ends; whether it is to be asked again, since the owner may
    /// have been told meanwhile.
    async fn watches_on(&self, key: &Watched, profile: &str) -> bool {
        let ends = self.next_ends_at(key, profile).await;
        let mut state = self.0.far_ends.lock();
        if let Some(may_be_told) = state.watched.get_mut(key)
            && std::mem::take(may_be_told)
            && ends.is_some()
        {
            return true;
        }
        state.watched.remove(key);
        let untold = ends.map(|ends| Untold {
            ends,
            is_taken: false,
        });
        state
            .untold
            .extend(untold.map(|untold| (key.clone(), untold)));
        false
    }

    /// The next ends at one place, however often its carrier dies meanwhile; `None` if there can be
    /// none.
    async fn next_ends_at(&self, key: &Watched, profile: &str) -> Option<EndsThere> {
        let (core, (place, owner)) = (&self.0, key);
        let place = core.place_named(place)?;
        let profile = core.profile(profile).ok()?;
        let call = core.call_for_ends(&place, &profile, owner).ok()?;
        let mut pause = FIRST_PAUSE;
        let mut reply = loop {
            let told = core.far_ends.told(key);
            match place.next_ends(call.clone(), told.clone()).await {
                Ok(reply) => {
                    core.far_ends.knows_there(key, &told);
                    break reply;
                }
                // Nobody keeps a way open to where nothing of his goes on.
                Err(_)
                    if !core
                        .places_with_jobs_of(owner)
                        .await
                        .contains(&place.settings.name) =>
                {
                    return None;
                }
                Err(_) => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        };
        let name = &place.settings.name;
        if let Some(jobs) = reply.jobs.take() {
            core.note_jobs(name, owner, jobs);
        }
        let reply = reply.into_reply(name).veiled(&core.veil_of(&profile));
        let jobs = serde_json::from_value(reply.result["ended"].clone());
        let jobs: Vec<FarJob> = jobs.unwrap_or_default();
        (!jobs.is_empty()).then_some(EndsThere {
            text: reply.text,
            jobs,
            call,
        })
    }

    /// At a place: waits for ended jobs of an owner that nobody was told of, who knows of these.
    pub(crate) async fn ended_here(&self, call: &ManagedCall, told: Vec<String>) -> ManagedReply {
        let profile = self
            .0
            .profile_by(&call.profile, call.profile_text.as_deref());
        let jobs = self.jobs().by(&call.owner).shown_at(call.shown_at.clone());
        let (Ok(profile), Ok(mut ends)) = (profile, jobs.completions(&call.owner)) else {
            return ManagedReply::of(Reply::default(), None);
        };
        if !told.is_empty() {
            self.ends_are_told(call, &told);
        }
        let ended = ends.next_untold(&told.into_iter().collect()).await;
        let text = crate::jobs::tool::notice::text(self.results(&profile, &jobs), &ended).await;
        let told: Vec<FarJob> = ended.iter().map(FarJob::of).collect();
        let reply = Reply {
            text,
            result: json!({ "ended": told }),
            ..Reply::default()
        };
        let (listing, owner) = (jobs.clone(), call.owner.clone());
        let all = errand::read(move |_| listing.list(crate::jobs::Whose::Owner(&owner)));
        let all = all.await.unwrap_or_default();
        ManagedReply::of(reply, Some(all.iter().map(FarJob::of).collect()))
    }

    /// At a place: an owner knows now that these have ended.
    pub(crate) fn ends_are_told(&self, ManagedCall { owner, .. }: &ManagedCall, ids: &[String]) {
        let jobs = self.jobs().by(owner);
        for job in jobs.list(crate::jobs::Whose::Owner(owner)) {
            if ids.contains(&job.id) {
                jobs.acknowledge(&job);
            }
        }
    }
}

impl EngineCore {
    /// The places at which jobs of an owner go on, as far as that was seen.
    async fn places_with_jobs_of(&self, owner: &str) -> BTreeSet<String> {
        let jobs = FarJobs::of(&self.config);
        let listed = errand::read(move |_| jobs.list()).await.unwrap_or_default();
        let alive = listed.into_iter();
        let alive = alive.filter(|job| job.owner == owner && job.is_alive);
        alive.map(|job| job.place).collect()
    }

    fn place_named(&self, name: &str) -> Option<Arc<FarPlace>> {
        let mut places = self.places.iter();
        places.find(|place| place.settings.name == name).cloned()
    }

    fn call_for_ends(
        &self,
        place: &FarPlace,
        profile: &Profile,
        owner: &str,
    ) -> crate::Result<ManagedCall> {
        let preset = plan::confinement::configured(profile, &self.config);
        let settings: OrderSettings = self.settings_for(place, preset);
        Ok(ManagedCall {
            profile: profile.name.clone(),
            profile_text: self.profiles.own_text(&profile.name)?,
            owner: owner.to_owned(),
            tool: None,
            input: Value::Null.to_string(),
            longest: None,
            settings,
            shown_at: self.shown_at(place),
        })
    }
}
