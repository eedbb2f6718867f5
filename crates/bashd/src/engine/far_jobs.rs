//! Jobs at other places: a call that manages them is passed on to where they are, and what is known
//! of them is remembered here.

use super::far_parts::{self, PartsWanted};
use super::{Engine, EngineCore, default_owner};
use crate::artifact::{Passage, Selection};
use crate::call::Call;
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::jobs::tool::{self, JobToolCall, verbs};
use crate::jobs::{FarJob, FarJobs, FarSite, Whose};
use crate::place::managed::{ManagedCall, ManagedReply};
use crate::place::stored::StoredWish;
use crate::place::{Berth, FarPart, FarPlace, PlaceFacts, PlaceSurvey, StoredThere};
use crate::plan;
use crate::profile::Profile;
use crate::profile::reply;
use crate::profile::tools::{FurtherTool, Verb};
use crate::reply::Reply;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How long a call that manages jobs may take, if it does not say so itself.
const LONGEST: Duration = Duration::from_hours(1);

/// Jobs that an answer tells of.
const MOST_TOLD: usize = 500;

/// Actions of the job tool whose second try could do more than the first.
const ONCE: [&str; 2] = ["send", "signal"];

impl Engine {
    /// A part of an output that is stored at another place, as it is there: at most `limit` bytes,
    /// and a mebibyte.
    pub async fn read_there(
        &self,
        there: &StoredThere,
        selection: &Selection,
        limit: usize,
    ) -> Result<FarPart> {
        let wish = StoredWish::new(there.id, selection, limit);
        self.stored_part(there, wish).await
    }

    /// The same with what is secret there, for its user's own eyes.
    pub async fn read_raw_there(
        &self,
        there: &StoredThere,
        selection: &Selection,
        limit: usize,
    ) -> Result<FarPart> {
        let wish = StoredWish::new(there.id, selection, limit);
        self.stored_part(there, wish.raw()).await
    }

    async fn stored_part(&self, there: &StoredThere, wish: StoredWish) -> Result<FarPart> {
        let named = |place: &&Arc<FarPlace>| place.settings.name == there.place;
        let place = self.0.places.iter().find(named).ok_or_else(|| {
            let text = format!("the place `{}` is not configured any more", there.place);
            Error::new(ErrorKind::Place, text)
        })?;
        let berth = there.node.as_deref().and_then(Berth::read);
        Ok(place.stored(wish, berth.as_ref()).await?.into())
    }

    /// The same as a text, without what this side knows to be secret.
    pub async fn passage_there(
        &self,
        there: &StoredThere,
        selection: &Selection,
        limit: usize,
    ) -> Result<Passage> {
        let FarPart { bytes, is_cut, .. } = self.read_there(there, selection, limit).await?;
        let Passage { text, truncated } = Passage::of(&bytes, limit);
        Ok(Passage {
            text: self.without_secrets(&text),
            truncated: truncated || is_cut,
        })
    }
}

impl EngineCore {
    /// The answer of the place whose jobs a call manages; `None` if they are here.
    pub(super) async fn managed_elsewhere(
        &self,
        profile: &Profile,
        tool: Option<&FurtherTool>,
        call: &Call,
    ) -> Option<Reply> {
        if self.places.is_empty() {
            return None;
        }
        let input: Value = serde_json::from_str(call.raw_text()).unwrap_or_default();
        let named = match tool {
            Some(tool) => {
                let read = tool.read(profile, call.raw_text()).ok();
                read.and_then(|request| request.job).into_iter().collect()
            }
            None => far_parts::named_in(&input),
        };
        let owner = call.owner().map_or_else(default_owner, str::to_owned);
        let place = self.place_of_jobs(&named)?;
        let name = place.settings.name.clone();
        let sites = self.sites_of_jobs(&name, &named, &owner).await;
        let is_once = match tool {
            Some(tool) => tool.verb == Verb::Send,
            None => (input["action"].as_str()).is_some_and(|action| ONCE.contains(&action)),
        };
        let asked = match self.managed_call(profile, (tool, call), &owner, &place) {
            Ok(asked) => asked,
            Err(error) => return Some(failed(&error.to_string())),
        };
        let mut calls = vec![(FarSite::whole(&name), asked.clone())];
        if !sites.is_empty() {
            let parts = far_parts::parts(&input, &sites);
            let is_split = parts.len() > 1;
            let parts = parts.into_iter().map(|(site, input)| {
                let mut part = asked.clone();
                if is_split {
                    part.input = input;
                }
                (site, part)
            });
            calls = parts.collect();
        }
        let wanted = match tool {
            Some(_) => PartsWanted::All,
            None => PartsWanted::of(&input),
        };
        let answering = self.answers_there(&place, calls, wanted, is_once);
        let answered = tokio::select! {
            biased;
            answered = answering => answered,
            () = call.cancel.cancelled() => {
                let answer = tool::JobAnswer::cancelled();
                return Some(reply::of_job_tool(answer, Duration::ZERO));
            }
        };
        let veil = self.veil_of(profile);
        let mut replies = Vec::new();
        for (site, answer) in answered {
            replies.push(match answer {
                Ok(mut answer) => {
                    if let Some(jobs) = answer.jobs.take() {
                        self.note_jobs(&site, &owner, jobs);
                    }
                    answer.into_reply(&name).veiled(&veil)
                }
                Err(error) => {
                    let known = self.last_seen(named.clone(), &site).await;
                    failed(&format!("{error}{known}"))
                }
            });
        }
        Some(far_parts::together(replies))
    }

    /// What each node answers, or the first of them.
    async fn answers_there(
        &self,
        place: &Arc<FarPlace>,
        calls: Vec<(FarSite, ManagedCall)>,
        wanted: PartsWanted,
        is_once: bool,
    ) -> Vec<(FarSite, Result<ManagedReply>)> {
        let mut asking = JoinSet::new();
        for (number, (site, mut call)) in calls.into_iter().enumerate() {
            if let (Some(shown), Some(berth)) = (&mut call.shown_at, &site.berth) {
                *shown = format!("{shown}/{berth}");
            }
            let place = Arc::clone(place);
            let longest = call.longest.unwrap_or(LONGEST);
            asking.spawn(async move {
                let berth = site.berth.clone();
                let answer = place.manage(call, berth, longest, is_once).await;
                (number, site, answer)
            });
        }
        let mut answered = Vec::new();
        while let Some(answer) = asking.join_next().await {
            let Ok((number, site, answer)) = answer else {
                continue;
            };
            let is_enough = wanted == PartsWanted::First && answer.is_ok();
            answered.push((number, site, answer));
            if is_enough {
                // Who is not waited for any more is told so.
                answered.drain(..answered.len() - 1);
                break;
            }
        }
        answered.sort_by_key(|(number, ..)| *number);
        let answered = answered.into_iter();
        answered.map(|(_, site, answer)| (site, answer)).collect()
    }

    /// The nodes of an allocation at which the jobs of a call are; none of a place that has no
    /// nodes, or if nothing is known.
    async fn sites_of_jobs(
        &self,
        place: &str,
        named: &[String],
        owner: &str,
    ) -> BTreeMap<FarSite, Vec<String>> {
        let mut sites: BTreeMap<FarSite, Vec<String>> = BTreeMap::new();
        if self
            .place_named(place)
            .is_none_or(|place| !place.has_nodes())
        {
            return sites;
        }
        let jobs = FarJobs::of(&self.config);
        let listed = errand::read(move |_| jobs.list()).await.unwrap_or_default();
        let there = |job: &&FarJob| job.place == place && job.node.is_some();
        if named.is_empty() {
            let own = listed.iter().filter(there).filter(|job| job.owner == owner);
            // Those that came to an end with their allocation were told of when they did.
            for job in own.filter(|job| job.is_awaited()) {
                sites.entry(job.site()).or_default();
            }
            return sites;
        }
        for name in named {
            let known = || {
                let mut listed = listed.iter().filter(there);
                listed.rfind(|job| job.alias == *name || job.id == *name)
            };
            let site = FarSite::of(name, place).filter(|site| site.berth.is_some());
            if let Some(site) = site.or_else(|| known().map(FarJob::site)) {
                sites.entry(site).or_default().push(name.clone());
            }
        }
        sites
    }

    fn managed_call(
        &self,
        profile: &Profile,
        (tool, call): (Option<&FurtherTool>, &Call),
        owner: &str,
        place: &FarPlace,
    ) -> Result<ManagedCall> {
        Ok(ManagedCall {
            profile: profile.name.clone(),
            profile_text: self.profiles.own_text(&profile.name)?,
            owner: owner.to_owned(),
            tool: tool.map(|tool| tool.name.clone()),
            input: call.raw_text().to_owned(),
            longest: call.wait_max(),
            settings: {
                let preset = plan::confinement::configured(profile, &self.config);
                self.settings_for(place, preset)
            },
            shown_at: self.shown_at(place),
        })
    }

    /// What stands before the short names of jobs at a place: nothing, if all are there. Nodes of
    /// an allocation have jobs of their own.
    pub(super) fn shown_at(&self, place: &FarPlace) -> Option<String> {
        let name = &place.settings.name;
        let is_told = place.has_nodes() || self.config.default_place.as_ref() != Some(name);
        is_told.then(|| name.clone())
    }

    /// The place that the names of a call's jobs begin with, or that of all calls.
    fn place_of_jobs(&self, named: &[String]) -> Option<Arc<FarPlace>> {
        let is_meant = |place: &&Arc<FarPlace>| {
            let name = &place.settings.name;
            let is_there = |job: &String| FarSite::of(job, name).is_some();
            named.iter().any(is_there) || self.config.default_place.as_ref() == Some(name)
        };
        self.places.iter().find(is_meant).cloned()
    }

    /// What was seen last of the jobs that a call names.
    async fn last_seen(&self, named: Vec<String>, site: &FarSite) -> String {
        let jobs = FarJobs::of(&self.config);
        let found = errand::read(move |_| {
            let found = named.iter().filter_map(|name| jobs.find(name));
            found.collect::<Vec<FarJob>>()
        });
        let seen = found.await.unwrap_or_default().into_iter();
        let seen = seen.filter(|job| job.site() == *site);
        let told: Vec<String> = seen
            .map(|job| format!("; {}: {}", job.alias, job.told()))
            .collect();
        told.concat()
    }

    /// Remembers the jobs of an owner at a place.
    pub(super) fn note_jobs(&self, site: &FarSite, owner: &str, seen: Vec<FarJob>) {
        let jobs = FarJobs::of(&self.config);
        let (site, owner) = (site.clone(), owner.to_owned());
        errand::here_or_aside(move || jobs.saw(&site, &owner, &seen));
    }

    /// Remembers a job that has just begun at a place.
    pub(super) fn note_begun(&self, place: &str, job: FarJob) {
        let jobs = FarJobs::of(&self.config);
        let site = FarSite::of(&job.alias, place).unwrap_or_else(|| FarSite::whole(place));
        errand::here_or_aside(move || drop(jobs.note(&site, &job)));
    }

    /// Lines for the jobs of an owner at other places, as they were seen last.
    pub(super) async fn far_lines(&self, owner: &str) -> Vec<String> {
        if self.places.is_empty() {
            return Vec::new();
        }
        let (jobs, owner) = (FarJobs::of(&self.config), owner.to_owned());
        let listed = errand::read(move |_| jobs.list()).await.unwrap_or_default();
        let own = listed.into_iter().filter(|job| job.owner == owner);
        own.map(|job| format!("{}: {}: {}", job.alias, job.told(), job.command))
            .collect()
    }
}

impl Engine {
    /// Answers a call of a near side that manages jobs which are here.
    pub(crate) async fn manage(&self, call: &ManagedCall) -> ManagedReply {
        let begun = Instant::now();
        let profile = self
            .0
            .profile_by(&call.profile, call.profile_text.as_deref());
        let Ok(profile) = profile else {
            return ManagedReply::of(failed("its profile is not known there"), None);
        };
        let jobs = self.jobs().by(&call.owner).shown_at(call.shown_at.clone());
        let asked = JobToolCall {
            results: self.results(&profile, &jobs),
            config: &self.0.config,
            owner: &call.owner,
            longest: call.longest,
        };
        let further = call.tool.as_deref();
        let further = further.map(|name| profile.tools.iter().find(|tool| tool.is_called(name)));
        let reply = match further {
            None => reply::of_job_tool(tool::answer(asked, &call.input).await, begun.elapsed()),
            Some(Some(tool)) => verbs::answer(asked, tool, &call.input, begun).await,
            Some(None) => failed("its tool is not known there"),
        };
        let (listing, owner) = (jobs.clone(), call.owner.clone());
        let told = errand::read(move |_| {
            let listed = listing.list(Whose::Owner(&owner));
            let told = listed.iter().rev().take(MOST_TOLD);
            told.map(|job| FarJob::of(job, &listing)).collect()
        });
        ManagedReply::of(reply, Some(told.await.unwrap_or_default()))
    }

    /// How many jobs here have not ended. There may be thousands to look at.
    pub(crate) async fn live_jobs(&self) -> usize {
        let jobs = self.jobs();
        let listed = errand::read(move |_| jobs.list(Whose::Everybody)).await;
        let jobs = listed.unwrap_or_default();
        jobs.iter().filter(|job| job.state.is_alive()).count()
    }

    /// The names of all other places, and how each is reached.
    pub fn places(&self) -> Vec<(String, &'static str)> {
        let places = self.0.places.iter();
        let told =
            |place: &Arc<FarPlace>| (place.settings.name.clone(), place.settings.kind.name());
        places.map(told).collect()
    }

    /// How many processors a place has, of all its nodes, for who runs something there. What lends
    /// them is asked for them.
    pub(crate) async fn room_at(&self, place: &str, owner: Option<&str>) -> Result<u64> {
        let owner = owner.map_or_else(default_owner, str::to_owned);
        self.known_place(place)?.room(&owner).await
    }

    /// What is known of a place: of each node, where it has some. Nothing is asked for that is not
    /// there.
    pub async fn survey(&self, place: &str) -> Result<PlaceSurvey> {
        self.known_place(place)?.survey().await
    }

    fn known_place(&self, place: &str) -> Result<&Arc<FarPlace>> {
        let mut known = self.0.places.iter();
        let known = known.find(|known| known.settings.name == place);
        let unknown = || Error::new(ErrorKind::Place, format!("there is no place `{place}`"));
        known.ok_or_else(unknown)
    }

    /// Reaches a place; what it says of itself, and how long its answer took.
    pub async fn look_at(&self, place: &str) -> Result<(PlaceFacts, Duration)> {
        self.known_place(place)?.facts().await
    }
}

fn failed(text: &str) -> Reply {
    Reply {
        text: text.to_owned(),
        error: Some(text.to_owned()),
        is_error: true,
        ..Reply::default()
    }
}
