//! Internal URLs (`local://notes.md`) become paths: in the command, in variables, in the directory.
//!
//! The scan is pure (`scan`); a resolver per scheme, in the table `RESOLVERS`, says what an address
//! stands for. Resolving looks at files but creates none: directories for `local://` are created
//! when the plan is carried out. A new scheme is a file here and a line in the table.

mod address;
mod agent;
mod artifact;
mod local;
mod memory;
mod rule;
mod skill;

pub use address::Address;
pub use artifact::ArtifactPaths;

use crate::config::UrlDirectories;
use crate::request::{Refusal, RefusalKind, Request};
use crate::rewrite::{Command, LeadingCd};
use bashd_script::addresses::{FoundAddress, Spelling, addresses};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Every scheme that is looked for, in any profile. One without a resolver cannot be used yet.
const RESOLVERS: [(&str, Option<&dyn Resolver>); 7] = [
    ("artifact", Some(&artifact::ArtifactResolver)),
    ("local", Some(&local::LocalResolver)),
    ("skill", Some(&skill::SkillResolver)),
    ("agent", Some(&agent::AgentResolver)),
    ("memory", Some(&memory::MemoryResolver)),
    ("rule", Some(&rule::RuleResolver)),
    ("plan", None),
];

/// Resolves the addresses of one scheme.
pub trait Resolver: Sync {
    /// Finds the path of an address.
    fn resolve(&self, address: &Address, places: &UrlTargets<'_>) -> Result<Resolved, Problem>;
}

/// What an address stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// A file or directory.
    Path(PathBuf),
    /// A file that need not exist yet; its directory is created before the command runs.
    PathToMake(PathBuf),
    /// The text as it is: nothing is set up for the scheme, so it is not an address.
    AsWritten,
    /// Something without a path.
    WithoutPath,
}

/// Why an address cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// This is the whole reply.
    Said(String),
    /// This is the reason, after a line that names the address.
    Failed(String),
    /// Nothing is set up for the scheme.
    NotSetUp,
}

/// Where the things that addresses name are stored.
#[derive(Clone, Copy)]
pub struct UrlTargets<'a> {
    /// What is configured.
    pub directories: &'a UrlDirectories,
    /// Stored outputs, if any.
    pub artifacts: Option<&'a dyn ArtifactPaths>,
}

/// A call in which addresses have become paths.
pub struct Expanded {
    /// The request, with its final variables and directory.
    pub request: Request,
    /// The command, with the text to run.
    pub command: Command,
    /// Directories that must exist before the command runs.
    pub parents: Vec<PathBuf>,
    /// Whether something was replaced: such a path means nothing on another machine.
    pub replaced: bool,
    /// Why an address could not be used; then nothing was replaced.
    pub problem: Option<Refusal>,
}

/// Whether there is a scheme of that name.
pub(crate) fn is_known(scheme: &str) -> bool {
    RESOLVERS.iter().any(|(known, _)| *known == scheme)
}

/// Replaces the addresses of these schemes by paths.
pub fn expand(
    schemes: &[String],
    request: Request,
    command: Command,
    places: &UrlTargets<'_>,
) -> Expanded {
    let mut expansion = UrlExpansion {
        schemes: if request.by.is_typed() { &[] } else { schemes },
        places,
        parents: Vec::new(),
    };
    let (paths, problem) = match expansion.all(&request, &command) {
        Ok(paths) => (Some(paths), None),
        Err(text) => (None, Some(Refusal::new(RefusalKind::InternalUrl, text))),
    };
    let mut expanded = Expanded {
        request,
        command,
        parents: expansion.parents,
        replaced: false,
        problem,
    };
    if let Some(paths) = paths {
        let Paths {
            to_run,
            leading_cd,
            env,
            cwd,
        } = paths;
        expanded.replaced =
            to_run.is_some() || leading_cd.is_some() || env.is_some() || cwd.is_some();
        expanded.command.leading_cd = leading_cd.or(expanded.command.leading_cd);
        expanded.command.to_run = to_run.unwrap_or(expanded.command.to_run);
        expanded.request.env = env.unwrap_or(expanded.request.env);
        expanded.request.cwd = cwd.or(expanded.request.cwd);
    }
    expanded
}

/// Whether a call may have addresses: quickly said, and never wrongly no.
pub(crate) fn may_have_some(schemes: &[String], request: &Request, command: &Command) -> bool {
    let has = |text: &str| {
        let mut schemes = schemes.iter();
        text.contains(':') && schemes.any(|scheme| text.contains(&**scheme))
    };
    let cd = command.leading_cd.iter();
    let mut texts = cd.flat_map(|cd| [&*cd.text, &*cd.directory]);
    let mut values = request.env.iter().filter_map(|(_, value)| value.to_str());
    !schemes.is_empty()
        && !request.by.is_typed()
        && (has(&command.to_run)
            || texts.any(has)
            || values.any(has)
            || request
                .cwd
                .as_deref()
                .and_then(Path::to_str)
                .is_some_and(has))
}

/// What replaces a value of the call; `None` if it contains no address.
struct Paths {
    to_run: Option<String>,
    leading_cd: Option<LeadingCd>,
    env: Option<Vec<(OsString, OsString)>>,
    cwd: Option<PathBuf>,
}

struct UrlExpansion<'a> {
    schemes: &'a [String],
    places: &'a UrlTargets<'a>,
    parents: Vec<PathBuf>,
}

impl UrlExpansion<'_> {
    fn all(&mut self, request: &Request, command: &Command) -> Result<Paths, String> {
        let to_run = self.text(&command.to_run, Spelling::Shell)?;
        let leading_cd = command.leading_cd.as_ref();
        let leading_cd = leading_cd.map(|cd| self.leading_cd(cd)).transpose()?;
        let mut env = None;
        for (index, (_, value)) in request.env.iter().enumerate() {
            let Some(value) = value.to_str() else {
                continue;
            };
            if let Some(value) = self.text(value, Spelling::Plain)? {
                let env = env.get_or_insert_with(|| request.env.clone());
                if let Some((_, slot)) = env.get_mut(index) {
                    *slot = value.into();
                }
            }
        }
        let cwd = request.cwd.as_deref().and_then(Path::to_str);
        let cwd = cwd.map(|cwd| self.directory(cwd)).transpose()?.flatten();
        Ok(Paths {
            to_run,
            leading_cd: leading_cd.flatten(),
            env,
            cwd,
        })
    }

    fn leading_cd(&mut self, cd: &LeadingCd) -> Result<Option<LeadingCd>, String> {
        let Some(text) = self.text(&cd.text, Spelling::Shell)? else {
            return Ok(None);
        };
        let directory = self.directory(&cd.directory)?;
        let directory = directory.and_then(|path| path.into_os_string().into_string().ok());
        Ok(directory.map(|directory| LeadingCd { directory, text }))
    }

    fn text(&mut self, text: &str, spelling: Spelling) -> Result<Option<String>, String> {
        let mut replaced = None;
        for found in addresses(text, self.schemes, spelling).into_iter().rev() {
            let Some(path) = self.path(&found, Parents::Make)? else {
                continue;
            };
            let path = match spelling {
                Spelling::Shell => single_quoted(&path),
                Spelling::Plain => path,
            };
            replaced
                .get_or_insert_with(|| text.to_owned())
                .replace_range(found.span, &path);
        }
        Ok(replaced)
    }

    fn directory(&mut self, cwd: &str) -> Result<Option<PathBuf>, String> {
        if self.schemes.is_empty() {
            return Ok(None);
        }
        let found = addresses(cwd, self.schemes, Spelling::Plain);
        let Some(found) = found
            .into_iter()
            .next()
            .filter(|found| found.span.start == 0)
        else {
            let is_address = cwd.split_once("://").is_some_and(|(scheme, _)| {
                !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
            });
            return if is_address {
                Err(format!("Unsupported internal URL in bash command: {cwd}"))
            } else {
                Ok(None)
            };
        };
        let path = self.path(&found, Parents::Leave)?;
        Ok(path.map(|path| {
            let mut whole = cwd.to_owned();
            whole.replace_range(found.span, &path);
            whole.into()
        }))
    }

    fn path(&mut self, found: &FoundAddress, parents: Parents) -> Result<Option<String>, String> {
        let (scheme, url) = (&found.scheme, &found.url);
        let cannot = || {
            format!(
                "Cannot resolve {scheme}:// URL in bash command: {url}\nInternal URL router is unavailable for this protocol in the current session."
            )
        };
        let failed =
            |reason| format!("Failed to resolve {scheme}:// URL in bash command: {url}\n{reason}");
        let without_path = || {
            format!(
                "{scheme}:// URL resolved without a filesystem path and cannot be used in bash: {url}"
            )
        };
        let resolver = RESOLVERS.iter().find(|(known, _)| known == scheme);
        let Some((_, resolver)) = resolver else {
            return Err(format!("Unsupported internal URL in bash command: {url}"));
        };
        let resolver = resolver.ok_or_else(cannot)?;
        let address = Address::new(scheme, url);
        let outcome = resolver.resolve(&address, self.places);
        if found.expands && outcome != Ok(Resolved::AsWritten) {
            return Err(failed(
                "Only the shell knows what it expands to. Write the whole URL, or give it in env."
                    .to_owned(),
            ));
        }
        let path = match outcome.map_err(|problem| match problem {
            Problem::Said(text) => text,
            Problem::Failed(reason) => failed(reason),
            Problem::NotSetUp => cannot(),
        })? {
            Resolved::Path(path) => path,
            Resolved::PathToMake(path) => {
                let parent = path.parent().map(Path::to_owned);
                self.parents
                    .extend(parent.filter(|_| parents == Parents::Make));
                path
            }
            Resolved::AsWritten => return Ok(None),
            Resolved::WithoutPath => return Err(without_path()),
        };
        path.into_os_string()
            .into_string()
            .map(Some)
            .map_err(|_| without_path())
    }
}

/// Whether the directory of a file that need not exist is created.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parents {
    Make,
    Leave,
}

/// A path as one word of a script.
fn single_quoted(path: &str) -> String {
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
