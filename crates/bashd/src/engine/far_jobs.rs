//! Jobs at other places: a call that manages them is passed on to where they are, and what is known
//! of them is remembered here.

use super::{Engine, EngineCore, default_owner};
use crate::artifact::{Passage, Selection};
use crate::call::Call;
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::jobs::tool::{self, JobToolCall, verbs};
use crate::jobs::{FarJob, FarJobs, Whose};
use crate::place::managed::{ManagedCall, ManagedReply};
use crate::place::stored::StoredWish;
use crate::place::{Berth, FarPart, FarPlace, PlaceFacts, PlaceSurvey, StoredThere};
use crate::plan;
use crate::profile::Profile;
use crate::profile::reply;
use crate::profile::tools::{FurtherTool, Verb};
use crate::reply::Reply;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
            None => named_in(&input),
        };
        let (place, berth) = self.place_of_jobs(&named)?;
        let owner = call.owner().map_or_else(default_owner, str::to_owned);
        let is_once = match tool {
            Some(tool) => tool.verb == Verb::Send,
            None => (input["action"].as_str()).is_some_and(|action| ONCE.contains(&action)),
        };
        let mut asked = self.managed_call(profile, (tool, call), &owner, &place);
        if let (Ok(asked), Some(berth)) = (&mut asked, &berth)
            && let Some(shown) = &mut asked.shown_at
        {
            *shown = format!("{shown}/{berth}");
        }
        let asked = match asked {
            Ok(asked) => asked,
            Err(error) => return Some(failed(&error.to_string())),
        };
        let longest = asked.longest.unwrap_or(LONGEST);
        let answering = place.manage(asked, berth, longest, is_once);
        let answer = tokio::select! {
            biased;
            answer = answering => answer,
            () = call.cancel.cancelled() => {
                let answer = tool::JobAnswer::cancelled();
                return Some(reply::of_job_tool(answer, Duration::ZERO));
            }
        };
        let name = &place.settings.name;
        Some(match answer {
            Ok(mut answer) => {
                if let Some(jobs) = answer.jobs.take() {
                    self.note_jobs(name, &owner, jobs);
                }
                let reply = answer.into_reply(name);
                reply.veiled(&self.veil_of(profile))
            }
            Err(error) => {
                let known = self.last_seen(named, name).await;
                failed(&format!("{error}{known}"))
            }
        })
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

    /// What stands before the short names of jobs at a place: nothing, if all are there.
    pub(super) fn shown_at(&self, place: &FarPlace) -> Option<String> {
        let name = &place.settings.name;
        (self.config.default_place.as_ref() != Some(name)).then(|| name.clone())
    }

    /// The place that the names of a call's jobs begin with, or that of all calls.
    fn place_of_jobs(&self, named: &[String]) -> Option<(Arc<FarPlace>, Option<Berth>)> {
        let mut berth = None;
        let is_meant = |place: &&Arc<FarPlace>| {
            let name = &place.settings.name;
            let is_there = |job: &String| {
                let Some(rest) = job.strip_prefix(name.as_str()) else {
                    return false;
                };
                // A node of an allocation may be named before the colon.
                let at = rest.strip_prefix('/').and_then(|rest| rest.split_once(':'));
                let found = at.and_then(|(at, _)| Berth::read(at));
                let is_node = found.is_some();
                berth = found.or(berth.take());
                is_node || rest.starts_with(':')
            };
            named.iter().any(is_there) || self.config.default_place.as_ref() == Some(name)
        };
        let place = self.places.iter().find(is_meant).cloned()?;
        Some((place, berth))
    }

    /// What was seen last of the jobs that a call names.
    async fn last_seen(&self, named: Vec<String>, place: &str) -> String {
        let jobs = FarJobs::of(&self.config);
        let found = errand::read(move |_| {
            let found = named.iter().filter_map(|name| jobs.find(name));
            found.collect::<Vec<FarJob>>()
        });
        let seen = found.await.unwrap_or_default().into_iter();
        let seen = seen.filter(|job| job.place == place);
        let told: Vec<String> = seen
            .map(|job| format!("; {}: {}", job.alias, job.told()))
            .collect();
        told.concat()
    }

    /// Remembers the jobs of an owner at a place.
    pub(super) fn note_jobs(&self, place: &str, owner: &str, seen: Vec<FarJob>) {
        let (jobs, place, owner) = (
            FarJobs::of(&self.config),
            place.to_owned(),
            owner.to_owned(),
        );
        errand::here_or_aside(move || jobs.saw(&place, &owner, &seen));
    }

    /// Remembers a job that has just begun at a place.
    pub(super) fn note_begun(&self, place: &str, job: FarJob) {
        let (jobs, place) = (FarJobs::of(&self.config), place.to_owned());
        errand::here_or_aside(move || drop(jobs.note(&place, &job)));
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
        let listed = errand::read(move |_| listing.list(Whose::Owner(&owner)));
        let listed = listed.await.unwrap_or_default();
        let told = listed.iter().rev().take(MOST_TOLD).map(FarJob::of);
        ManagedReply::of(reply, Some(told.collect()))
    }

    /// How many jobs here have not ended.
    pub(crate) fn live_jobs(&self) -> usize {
        let jobs = self.jobs().list(Whose::Everybody);
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

/// The jobs that a call of a job tool names.
fn named_in(input: &Value) -> Vec<String> {
    let mut named = Vec::new();
    for key in ["job", "jobs", "poll", "cancel"] {
        match &input[key] {
            Value::String(name) => named.push(name.clone()),
            Value::Array(several) => {
                let texts = several.iter().filter_map(Value::as_str);
                named.extend(texts.map(str::to_owned));
            }
            _ => {}
        }
    }
    named
}

fn failed(text: &str) -> Reply {
    Reply {
        text: text.to_owned(),
        error: Some(text.to_owned()),
        is_error: true,
        ..Reply::default()
    }
}
