//! `memory://root/path`: a remembered file, or the summary.

use super::address::stays_below;
use super::{Address, Problem, Resolved, Resolver, UrlTargets};

/// The only namespace there is.
const NAMESPACE: &str = "root";

/// What the namespace alone stands for.
const SUMMARY: &str = "memory_summary.md";

pub(super) struct MemoryResolver;

impl Resolver for MemoryResolver {
    fn resolve(&self, address: &Address, places: &UrlTargets<'_>) -> Result<Resolved, Problem> {
        let root = places
            .directories
            .memory
            .as_ref()
            .ok_or(Problem::NotSetUp)?;
        let (host, url) = (&address.host, &address.url);
        if host != NAMESPACE {
            let text = format!("Unknown memory namespace: {host}. Available: {NAMESPACE}");
            return Err(Problem::Failed(text));
        }
        let path = address.path.strip_prefix('/').unwrap_or_default();
        let relative = Address::relative(path);
        let relative = relative.map_err(|problem| Problem::Failed(address.bad_path(problem)))?;
        let path = if relative.as_os_str().is_empty() {
            root.join(SUMMARY)
        } else {
            root.join(relative)
        };
        if !path.exists() && !path.is_symlink() {
            return Err(Problem::Failed(format!("Memory file not found: {url}")));
        }
        if !stays_below(root, &path) {
            let text = "Path traversal is not allowed in memory:// URLs";
            return Err(Problem::Failed(text.to_owned()));
        }
        Ok(if path.is_file() || path.is_dir() {
            Resolved::Path(path)
        } else {
            Resolved::WithoutPath
        })
    }
}
