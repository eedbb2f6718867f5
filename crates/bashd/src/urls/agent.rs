//! `agent://id`: what an agent wrote. A path or query within it refers to the whole file here.

use super::address::{decoded, listed, names, stays_below};
use super::{Address, Problem, Resolved, Resolver, UrlTargets};

pub(super) struct AgentResolver;

impl Resolver for AgentResolver {
    fn resolve(&self, address: &Address, places: &UrlTargets<'_>) -> Result<Resolved, Problem> {
        let agents = places
            .directories
            .agents
            .as_ref()
            .ok_or(Problem::NotSetUp)?;
        let has_path = address.path.len() > 1;
        let queries = |query: &String| query.split('&').any(|part| part.starts_with("q="));
        if has_path && address.query.as_ref().is_some_and(queries) {
            let text = "agent:// URL can have a path or ?q=, not both";
            return Err(Problem::Failed(text.to_owned()));
        }
        let known = names(agents, ".md");
        let id = decoded(&address.host).unwrap_or_else(|| address.host.clone());
        if !known.contains(&id) {
            let available = listed(&known);
            return Err(Problem::Failed(format!(
                "Not found: {id}\nAvailable: {available}"
            )));
        }
        let path = agents.join(format!("{id}.md"));
        if !stays_below(agents, &path) {
            let text = "Path traversal is not allowed in agent:// URLs";
            return Err(Problem::Failed(text.to_owned()));
        }
        Ok(if path.is_file() {
            Resolved::Path(path)
        } else {
            Resolved::WithoutPath
        })
    }
}
