//! What a call needs beyond its confinement: found out before somebody is asked, and added when it
//! was granted.

use crate::request::NeededAccess;
use bashd_keeper::confinement::{Confinement, Network, PathReach};
use bashd_keeper::hosts::{HostRule, HostRules, split_port};
use bashd_keeper::refusals::{Refused, RefusedKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// One thing that a call needs and does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NeededThing {
    /// To write a path, with everything below.
    Write(PathBuf),
    /// To connect to a host.
    Connect(String),
}

impl fmt::Display for NeededThing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(path) => write!(f, "write {}", path.display()),
            Self::Connect(host) => write!(f, "connect {host}"),
        }
    }
}

impl NeededThing {
    /// The line of a configuration that gives it to every call.
    pub(crate) fn setting(&self) -> String {
        match self {
            Self::Write(path) => format!("confinement.write = [{:?}]", path.display().to_string()),
            Self::Connect(host) => format!("confinement.network = [{host:?}]"),
        }
    }
}

/// What of all that is needed is not there already; or why something can't be granted at all.
pub(crate) fn missing(
    confinement: &Confinement,
    needs: &NeededAccess,
) -> Result<Vec<NeededThing>, String> {
    let mut missing = Vec::new();
    for text in &needs.write {
        let path = real_path(confinement, text)?;
        match confinement.reach(&path).0 {
            PathReach::Written => {}
            PathReach::Hidden => {
                return Err(format!(
                    "{} is hidden: a call can't be granted what holds secrets or bashd's own state",
                    path.display()
                ));
            }
            PathReach::Protected | PathReach::Layered | PathReach::Read | PathReach::Closed => {
                missing.push(NeededThing::Write(path));
            }
        }
    }
    for text in &needs.network {
        let rule = HostRule::parse(text).map_err(|unfit| unfit.to_string())?;
        if !has_host(confinement, text) {
            missing.push(NeededThing::Connect(rule.to_string()));
        }
    }
    Ok(missing)
}

/// Where a path leads now. Something that is not there can't be shown to a command later.
fn real_path(confinement: &Confinement, text: &str) -> Result<PathBuf, String> {
    let home = confinement.home.as_deref();
    let path = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => confinement.workspace.join(text),
    };
    let real = fs::canonicalize(&path).map_err(|error| {
        let shown = path.display();
        format!("{shown}: {error}; only what exists can be granted: ask for its directory")
    })?;
    if real.parent().is_none() {
        return Err("everything can't be granted: name the paths that are needed".to_owned());
    }
    let hidden = confinement.hide.iter().map(fs::canonicalize);
    let is_in = |hidden: &Path| real.starts_with(hidden);
    if hidden.flatten().any(|hidden| is_in(&hidden)) {
        return Err(format!(
            "{} is hidden: a call can't be granted what holds secrets or bashd's own state",
            real.display()
        ));
    }
    Ok(real)
}

fn has_host(confinement: &Confinement, text: &str) -> bool {
    if confinement.network == Network::All {
        return true;
    }
    let rules = HostRules::parse(&confinement.hosts, &[]).unwrap_or_default();
    match split_port(text) {
        Some((host, Some(port))) => rules.allows(&host.to_ascii_lowercase(), port),
        // Every port: only if the same rule is there.
        _ => HostRule::parse(text).is_ok_and(|rule| rules.rules().contains(&rule)),
    }
}

/// What of all that a run was refused can be granted to the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantableAccess {
    /// Paths that it could write.
    pub write: Vec<String>,
    /// Hosts that it could connect to.
    pub network: Vec<String>,
}

impl GrantableAccess {
    /// What can be granted; `None` if that is nothing.
    pub(crate) fn of(confinement: &Confinement, refused: &[Refused]) -> Option<Self> {
        let mut grantable = Self::default();
        for Refused { kind, what, .. } in refused {
            let (list, wanted) = match kind {
                RefusedKind::Write => (&mut grantable.write, existing(what)),
                RefusedKind::Connect => (&mut grantable.network, Some(what.clone())),
                RefusedKind::Read | RefusedKind::Exec | RefusedKind::Syscall => continue,
            };
            let Some(wanted) = wanted.filter(|wanted| !list.contains(wanted)) else {
                continue;
            };
            let mut needs = NeededAccess::default();
            match kind {
                RefusedKind::Write => needs.write.push(wanted.clone()),
                _ => needs.network.push(wanted.clone()),
            }
            if missing(confinement, &needs).is_ok_and(|missing| !missing.is_empty()) {
                list.push(wanted);
            }
        }
        (grantable != Self::default()).then_some(grantable)
    }
}

/// The path, or the nearest directory on the way to it that is there.
fn existing(path: &str) -> Option<String> {
    let mut there = Path::new(path).ancestors().filter(|path| path.exists());
    Some(there.next()?.to_str()?.to_owned())
}

/// Adds what was granted to a confinement.
pub(crate) fn widen(confinement: &mut Confinement, granted: &[NeededThing]) {
    for thing in granted {
        match thing {
            NeededThing::Write(path) => {
                // What was granted by its name is not protected from it.
                let keeps = |kept: &PathBuf| {
                    let real = fs::canonicalize(kept);
                    !path.starts_with(real.as_ref().unwrap_or(kept))
                };
                confinement.protect.retain(keeps);
                confinement.write.push(path.clone());
            }
            NeededThing::Connect(host) => {
                if confinement.network == Network::None {
                    confinement.network = Network::Named;
                    confinement.hosts.clear();
                }
                confinement.hosts.push(host.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bashd_keeper::confinement::Level;

    fn confinement(root: &Path) -> Confinement {
        Confinement {
            preset: "workspace".to_owned(),
            workspace: root.join("w"),
            write: vec![root.join("w")],
            read: vec!["/".into()],
            hide: vec![root.join("keys")],
            protect: vec![root.join("w/kept")],
            sockets: Vec::new(),
            network: Network::None,
            hosts: Vec::new(),
            resolve: Vec::new(),
            home: None,
            layers: Vec::new(),
            bring: Vec::new(),
            require: Level::Full,
            most: Level::Full,
            watches_files: false,
        }
    }

    #[test]
    fn what_is_needed_is_found_and_secrets_can_not_be_granted() {
        let made = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(made.path()).unwrap();
        for name in ["w", "keys", "other", "w/kept"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("keys"), root.join("w/link")).unwrap();
        let held = confinement(&root);
        let needs = |write: &[&str], network: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
            let reason = "why".to_owned();
            let (write, network) = (owned(write), owned(network));
            missing(
                &held,
                &NeededAccess {
                    write,
                    network,
                    reason,
                },
            )
        };
        let other = root.join("other");
        let other = other.to_str().unwrap();
        let found = needs(&["x/../.", "../other", "kept"], &["A.test:443", "b.test"]).unwrap_err();
        assert!(found.contains("only what exists"), "{found}");
        let found = needs(&[".", "../other", "kept"], &["A.test:443"]).unwrap();
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        let kept = format!("write {}", root.join("w/kept").display());
        assert_eq!(
            texts,
            [format!("write {other}"), kept, "connect a.test:443".into()]
        );
        for path in ["../keys", "link", "../keys/../keys"] {
            assert!(
                needs(&[path], &[]).unwrap_err().contains("hidden"),
                "{path}"
            );
        }
        assert!(needs(&["/"], &[]).is_err());
        assert!(needs(&[], &["http://x"]).is_err());
        let mut wide = held.clone();
        widen(&mut wide, &found);
        assert_eq!(wide.network, Network::Named);
        assert_eq!(wide.hosts, ["a.test:443"]);
        assert_eq!(wide.write.len(), 3);
        assert!(wide.protect.is_empty());
        assert_eq!(
            missing(
                &wide,
                &NeededAccess {
                    write: vec![other.to_owned()],
                    network: vec!["a.test:443".to_owned()],
                    reason: String::new(),
                }
            ),
            Ok(Vec::new())
        );
    }
}
