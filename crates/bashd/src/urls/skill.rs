//! `skill://name/path`: a file of a skill, or its `SKILL.md`.

use super::address::{decoded, listed, names, stays_below};
use super::{Address, Problem, Resolved, Resolver, UrlTargets};
use std::path::Path;

/// What a skill is known by.
const FILE: &str = "SKILL.md";

pub(super) struct SkillResolver;

impl Resolver for SkillResolver {
    fn resolve(&self, address: &Address, places: &UrlTargets<'_>) -> Result<Resolved, Problem> {
        let Some(skills) = &places.directories.skills else {
            return Ok(Resolved::AsWritten);
        };
        let said = |text: String| Problem::Said(text);
        let url = &address.url;
        if address.host.is_empty() {
            return Err(said(format!("Invalid skill:// URL: {url}")));
        }
        let name = decoded(&address.host);
        let name = name.ok_or_else(|| said(format!("Invalid skill:// URL: {url}")))?;
        if name.trim().is_empty() {
            return Err(said(format!("skill:// URL requires a skill name: {url}")));
        }
        let known = known(skills);
        let (skill, suffix) = find(&known, &name).ok_or_else(|| {
            let available = listed(&known);
            said(format!("Unknown skill: {name}. Available: {available}"))
        })?;
        let path = address.path.strip_prefix('/').unwrap_or_default();
        let relative = Address::relative(path);
        let relative = relative.map_err(|problem| said(address.bad_path(problem)))?;
        let root = skills.join(skill);
        let path = match (suffix, relative.as_os_str().is_empty()) {
            (None, true) => root.join(FILE),
            (None, false) => root.join(relative),
            (Some(suffix), true) => root.join(suffix),
            (Some(suffix), false) => root.join(suffix).join(relative),
        };
        if !stays_below(&root, &path) {
            let text = "Path traversal is not allowed in skill:// URLs";
            return Err(said(text.to_owned()));
        }
        Ok(Resolved::Path(path))
    }
}

/// The names of all skills.
fn known(skills: &Path) -> Vec<String> {
    let mut known = names(skills, "");
    known.retain(|name| skills.join(name).join(FILE).is_file());
    known
}

/// The skill of that name, or of what is left of the name when colons and what follows them are
/// removed from its end; with what was removed (`1-5` of `name:1-5`).
fn find<'a>(known: &[String], name: &'a str) -> Option<(&'a str, Option<&'a str>)> {
    let is_known = |name: &str| known.iter().any(|skill| skill == name);
    if is_known(name) {
        return Some((name, None));
    }
    let colons = name.char_indices().rev().filter(|(_, c)| *c == ':');
    colons
        .filter_map(|(at, _)| Some((name.get(..at)?, name.get(at + 1..)?)))
        .find(|(name, suffix)| is_known(name) && Address::relative(suffix).is_ok())
        .map(|(name, suffix)| (name, Some(suffix)))
}
