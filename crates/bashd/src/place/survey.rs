//! What a place is like, node by node: an allocation has several, and may be waited for.

use super::allocations::{Berth, CallClaim};
use super::managed::PlaceFacts;
use super::{FarPlace, SlurmSharing};
use crate::error::{Error, Result};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// What is known of a place.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PlaceSurvey {
    /// What who lends it says of each allocation, and of what waits in the queue.
    pub words: Vec<String>,
    /// What each outpost says of itself.
    pub nodes: Vec<NodeSurvey>,
}

/// What an outpost says of itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NodeSurvey {
    /// The number of its job and its node, if it is of an allocation: `4711.n2`.
    pub berth: Option<String>,
    /// Its answer and how long that took, or why there is none.
    pub found: std::result::Result<(PlaceFacts, Duration), String>,
}

impl FarPlace {
    /// Looks at all there is, and asks for nothing that is not there.
    pub(crate) async fn survey(self: &Arc<Self>) -> Result<PlaceSurvey> {
        if self.of_slurm().is_none() {
            let found = self.facts().await.map_err(|error| error.to_string());
            let nodes = vec![NodeSurvey { berth: None, found }];
            return Ok(PlaceSurvey {
                words: Vec::new(),
                nodes,
            });
        }
        let told = self.look_at_queue(true).await;
        let told = told.map_err(|word| {
            let text = format!("Slurm could not be asked, so nothing is known of it: {word}");
            Error::new(crate::ErrorKind::Place, text)
        })?;
        let mut survey = PlaceSurvey::default();
        let own = self.own_jobs().await;
        let mut berths = Vec::new();
        for job in told.values().filter(|job| own.contains(&job.id)) {
            if job.has_ended() {
                continue;
            }
            survey.words.push(job.shown());
            if job.told() == super::housed::HouseState::Running {
                berths.extend(job.nodes.iter().map(|node| Berth {
                    job: job.id,
                    node: node.clone(),
                }));
            }
        }
        let mut looking = JoinSet::new();
        for berth in berths {
            let place = Arc::clone(self);
            looking.spawn(async move {
                let found = match place.dial_node(&berth).await {
                    Ok(link) => place.facts_over(&link).await,
                    Err(error) => Err(error),
                };
                NodeSurvey {
                    berth: Some(berth.to_string()),
                    found: found.map_err(|error| error.to_string()),
                }
            });
        }
        survey.nodes = looking.join_all().await;
        survey
            .nodes
            .sort_by(|one, other| one.berth.cmp(&other.berth));
        Ok(survey)
    }

    /// Processors of all nodes, for an owner. What is not there is asked for.
    pub(crate) async fn room(self: &Arc<Self>, owner: &str) -> Result<u64> {
        let Some(settings) = self.of_slurm() else {
            return Ok(self.facts().await?.0.processors);
        };
        if settings.sharing == SlurmSharing::Job {
            // Each item has an allocation of its own: as many as Slurm lets run.
            return Ok(settings.cpus.unwrap_or(1) * settings.node_count());
        }
        let claim = CallClaim {
            owner: owner.to_owned(),
            id: owner.to_owned(),
            ..CallClaim::default()
        };
        let (link, call) = self.link_for_call(&claim).await?;
        let processors = self.facts_over(&link).await?.0.processors;
        drop(call);
        // Slurm gives all of them the same.
        Ok(processors * settings.node_count())
    }
}
