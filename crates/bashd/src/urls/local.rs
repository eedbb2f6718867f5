//! `local://path`: the agent's own place, for files that need not exist yet.

use super::address::stays_below;
use super::{Address, Problem, Resolved, Resolver, UrlTargets};

pub(super) struct LocalResolver;

impl Resolver for LocalResolver {
    fn resolve(&self, address: &Address, places: &UrlTargets<'_>) -> Result<Resolved, Problem> {
        let Some(root) = &places.directories.local else {
            return Err(Problem::Said(
                "Cannot resolve local:// URL in bash command: local protocol options are unavailable for this session."
                    .to_owned(),
            ));
        };
        let place = format!("{}{}", address.host, address.path);
        let relative = Address::relative(&place);
        let relative = relative.map_err(|problem| Problem::Said(address.bad_path(problem)))?;
        let path = root.join(relative);
        if !stays_below(root, &path) {
            return Err(Problem::Said("local:// URL escapes local root".to_owned()));
        }
        Ok(Resolved::PathToMake(path))
    }
}
