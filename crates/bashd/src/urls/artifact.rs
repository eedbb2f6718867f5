//! `artifact://N`: the file of a stored output.

use super::address::listed;
use super::{Address, Problem, Resolved, Resolver, UrlTargets};
use crate::artifact::ArtifactStore;
use std::io;
use std::path::PathBuf;

/// Finds stored outputs by number.
pub trait ArtifactPaths {
    /// The numbers that are in use, lowest first.
    fn ids(&self) -> io::Result<Vec<u64>>;

    /// The path of a plain file with everything that is kept of one. It is not read here, however
    /// large it is.
    fn path(&self, id: u64) -> io::Result<PathBuf>;
}

impl ArtifactPaths for ArtifactStore {
    fn ids(&self) -> io::Result<Vec<u64>> {
        Self::ids(self)
    }

    fn path(&self, id: u64) -> io::Result<PathBuf> {
        Self::path(self, id)
    }
}

pub(super) struct ArtifactResolver;

impl Resolver for ArtifactResolver {
    fn resolve(&self, address: &Address, places: &UrlTargets<'_>) -> Result<Resolved, Problem> {
        let failed = |text: String| Problem::Failed(text);
        let id = address.host.as_str();
        if id.is_empty() {
            return Err(failed(
                "artifact:// URL requires a numeric ID: artifact://0".to_owned(),
            ));
        }
        let is_number = id.bytes().all(|byte| byte.is_ascii_digit());
        let number = id.parse().ok().filter(|_| is_number);
        let Some(number) = number else {
            return Err(failed(format!("artifact:// ID must be numeric, got: {id}")));
        };
        let Some(artifacts) = places.artifacts else {
            return Err(failed("No session - artifacts unavailable".to_owned()));
        };
        let ids = artifacts.ids();
        let ids = ids.map_err(|_| failed("No artifacts directory found".to_owned()))?;
        match artifacts.path(number) {
            Ok(path) if ids.contains(&number) => Ok(Resolved::Path(path)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error.to_string())),
            Ok(_) | Err(_) => {
                let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
                let available = listed(&ids);
                Err(failed(format!(
                    "Artifact {number} not found. Available: {available}"
                )))
            }
        }
    }
}
