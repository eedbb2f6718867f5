//! `rule://name`: the file of a rule.

use super::address::{decoded, listed, names, stays_below};
use super::{Address, Problem, Resolved, Resolver, UrlTargets};

pub(super) struct RuleResolver;

impl Resolver for RuleResolver {
    fn resolve(&self, address: &Address, places: &UrlTargets<'_>) -> Result<Resolved, Problem> {
        let rules = places.directories.rules.as_ref().ok_or(Problem::NotSetUp)?;
        let known = names(rules, ".md");
        let name = decoded(&address.host).unwrap_or_else(|| address.host.clone());
        if !known.contains(&name) {
            let available = listed(&known);
            return Err(Problem::Failed(format!(
                "Unknown rule: {name}\nAvailable: {available}"
            )));
        }
        let path = rules.join(format!("{name}.md"));
        if !stays_below(rules, &path) {
            let text = "Path traversal is not allowed in rule:// URLs";
            return Err(Problem::Failed(text.to_owned()));
        }
        Ok(if path.is_file() {
            Resolved::Path(path)
        } else {
            Resolved::WithoutPath
        })
    }
}
