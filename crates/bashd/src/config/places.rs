//! The places of the configuration file: `[places.NAME]`.

mod housed;
mod slurm;

use super::ConfigFile;
use crate::error::{Error, ErrorKind, Result};
use crate::place::{PlaceKind, PlaceSettings};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The table of the file that is not a group of keys.
pub(super) const TABLE: &str = "places";

/// The file as far as places go.
#[derive(Deserialize)]
struct Places {
    #[serde(default)]
    places: BTreeMap<String, PlaceTable>,
}

/// One of them, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaceTable {
    kind: String,
    command: Option<Vec<String>>,
    host: Option<String>,
    bin: Option<String>,
    #[serde(default)]
    map: BTreeMap<PathBuf, PathBuf>,
    cwd: Option<PathBuf>,
    #[serde(default)]
    pass: Vec<String>,
    via: Option<String>,
    program: Option<PathBuf>,
    upload_to: Option<PathBuf>,
    connect_seconds: Option<u64>,
    patience_seconds: Option<u64>,
    idle_seconds: Option<f64>,
    // Of containers and pods (`housed`).
    engine: Option<String>,
    name: Option<String>,
    image: Option<String>,
    user: Option<String>,
    memory: Option<String>,
    cpus: Option<f64>,
    pids: Option<u64>,
    network: Option<String>,
    read_only: Option<bool>,
    options: Option<Vec<String>>,
    workspace: Option<PathBuf>,
    context: Option<String>,
    namespace: Option<String>,
    pod: Option<String>,
    container: Option<String>,
    service_account: Option<String>,
    node_selector: Option<BTreeMap<String, String>>,
    spec: Option<toml::Table>,
    start_seconds: Option<u64>,
    // Of allocations (`slurm`).
    partition: Option<String>,
    account: Option<String>,
    gpus: Option<u64>,
    time: Option<String>,
    nodes: Option<u64>,
    allocation: Option<String>,
    queue_seconds: Option<u64>,
    state_dir: Option<String>,
    sbatch_options: Option<Vec<String>>,
}

/// Reads the places of a file.
pub(super) fn read(file: &ConfigFile) -> Result<Vec<PlaceSettings>> {
    let complain = |problem: &str| {
        let text = format!("`places` in {}: {problem}", file.path.display());
        Error::new(ErrorKind::Config, text)
    };
    let Places { places } =
        toml::from_str(&file.text).map_err(|error| complain(error.to_string().trim_end()))?;
    let place = |(name, table): (String, PlaceTable)| {
        settings(&name, table).map_err(|problem| complain(&format!("`{name}`: {problem}")))
    };
    let places: Vec<PlaceSettings> = places.into_iter().map(place).collect::<Result<_>>()?;
    for place in &places {
        check_way(place, &places).map_err(|problem| complain(&problem))?;
    }
    Ok(places)
}

/// Whether the places on the way to one are there, and lead to it.
fn check_way(place: &PlaceSettings, places: &[PlaceSettings]) -> Result<(), String> {
    let name = &place.name;
    let mut at = place;
    for _ in 0..places.len() {
        let Some(via) = &at.via else {
            return Ok(());
        };
        let next = places.iter().find(|place| place.name == *via);
        let next = next.ok_or_else(|| format!("`{name}`: there is no place `{via}`"))?;
        if !matches!(next.kind, PlaceKind::Ssh { .. }) {
            return Err(format!(
                "`{name}`: only a place of kind `ssh` leads to others"
            ));
        }
        at = next;
    }
    Err(format!("`{name}`: the way to it by `via` is a circle"))
}

fn settings(name: &str, table: PlaceTable) -> Result<PlaceSettings, String> {
    // It stands before a colon in the names of jobs, and in file names.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err("a name has letters, digits, `-` and `_`".to_owned());
    }
    if name == crate::engine::HERE {
        return Err("that is the name of this machine".to_owned());
    }
    let kind = kind(&table)?;
    for path in table
        .map
        .iter()
        .flat_map(|(near, far)| [near, far])
        .chain(&table.cwd)
        .chain(&table.upload_to)
    {
        if !path.is_absolute() {
            return Err(format!("{} must begin with a slash", path.display()));
        }
    }
    if let Some(to) = table.upload_to.as_ref().and_then(|to| to.to_str())
        && !is_plain_path(to)
    {
        return Err(format!(
            "`upload_to` is a path without blanks and quotes, not `{to}`"
        ));
    }
    if matches!(&kind, PlaceKind::Pipe { command } if command.is_empty()) && table.via.is_some() {
        return Err("a place of kind `pipe` behind another one needs a `command`".to_owned());
    }
    let mut place = PlaceSettings::new(name, kind);
    place.via = table.via;
    place.program = table.program;
    place.upload_to = table.upload_to;
    place.idle = (table.idle_seconds).and_then(|idle| Duration::try_from_secs_f64(idle).ok());
    place.map = table.map.into_iter().collect();
    place.cwd = table.cwd;
    place.pass = table.pass;
    let seconds = |given: Option<u64>, default| given.map_or(default, Duration::from_secs);
    place.connect = seconds(table.connect_seconds, place.connect);
    place.patience = seconds(table.patience_seconds, place.patience);
    Ok(place)
}

fn kind(table: &PlaceTable) -> Result<PlaceKind, String> {
    let PlaceTable {
        command, host, bin, ..
    } = table;
    if let Some(housed) = housed::kind(table)? {
        return Ok(housed);
    }
    match (&*table.kind, command, host, bin) {
        ("pipe", command, None, None) => Ok(PlaceKind::Pipe {
            command: command.clone().unwrap_or_default(),
        }),
        ("pipe", ..) => Err("a place of kind `pipe` has no `host` and no `bin`".to_owned()),
        ("ssh", None, Some(host), bin) => {
            // It must not be taken for an option.
            if host.is_empty() || host.starts_with('-') {
                return Err(format!("`{host}` is no host"));
            }
            if let Some(bin) = bin.as_ref().filter(|bin| !is_plain_path(bin)) {
                return Err(format!(
                    "`bin` is a path without blanks and quotes, not `{bin}`"
                ));
            }
            Ok(PlaceKind::Ssh {
                host: host.clone(),
                bin: bin.clone(),
            })
        }
        ("ssh", Some(_), ..) => Err("a place of kind `ssh` has no `command`".to_owned()),
        ("ssh", ..) => Err("a place of kind `ssh` needs a `host`".to_owned()),
        (other, ..) => Err(format!(
            "there is no kind `{other}`: there are `pipe`, `ssh`, `container`, `kubernetes` and `slurm`"
        )),
    }
}

/// Whether a path there means the same in every shell.
fn is_plain_path(path: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+~".contains(c);
    !path.is_empty() && path.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn load(text: &str) -> Result<Vec<PlaceSettings>> {
        read(&ConfigFile {
            path: "/c.toml".into(),
            text: text.to_owned(),
        })
    }

    #[test]
    fn a_place_is_read_with_its_directories() {
        let text = "[places.there]\nkind = 'pipe'\ncommand = ['bashd', 'outpost']\n\
            map = { '/src' = '/home/u/src' }\ncwd = '/home/u'\npass = ['LANG']\npatience_seconds = 5\n";
        let places = load(text).unwrap();
        let [place] = &places[..] else {
            panic!("{places:?}");
        };
        assert_eq!((&*place.name, place.kind.name()), ("there", "pipe"));
        let mapped = place.mapped(Path::new("/src/a"));
        assert_eq!(mapped.as_deref(), Some(Path::new("/home/u/src/a")));
        assert_eq!(place.patience, Duration::from_secs(5));
        assert!(load("profile = 'voice'").unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_is_said_with_the_place() {
        for (text, problem) in [
            (
                "[places.x]\nkind = 'ssh'",
                "`x`: a place of kind `ssh` needs a `host`",
            ),
            (
                "[places.x]\nkind = 'ssh'\nhost = '-oProxyCommand=x'",
                "`x`: `-oProxyCommand=x` is no host",
            ),
            (
                "[places.x]\nkind = 'ssh'\nhost = 'h'\nbin = 'a b'",
                "`x`: `bin` is a path without blanks and quotes, not `a b`",
            ),
            (
                "[places.x]\nkind = 'shh'",
                "`x`: there is no kind `shh`: there are `pipe`, `ssh`, `container`, `kubernetes` and `slurm`",
            ),
            (
                "[places.'a b']\nkind = 'pipe'",
                "`a b`: a name has letters, digits, `-` and `_`",
            ),
            (
                "[places.x]\nkind = 'ssh'\nhost = 'h'\nvia = 'y'",
                "`x`: there is no place `y`",
            ),
            (
                "[places.x]\nkind = 'ssh'\nhost = 'h'\nvia = 'x'",
                "`x`: the way to it by `via` is a circle",
            ),
            (
                "[places.x]\nkind = 'ssh'\nhost = 'h'\nvia = 'y'\n[places.y]\nkind = 'pipe'",
                "`x`: only a place of kind `ssh` leads to others",
            ),
            (
                "[places.x]\nkind = 'ssh'\nhost = 'h'\nupload_to = '/a b'",
                "`x`: `upload_to` is a path without blanks and quotes, not `/a b`",
            ),
            (
                "[places.x]\nkind = 'pipe'\ncwd = 'a'",
                "`x`: a must begin with a slash",
            ),
        ] {
            let error = load(text).unwrap_err().to_string();
            assert_eq!(error, format!("`places` in /c.toml: {problem}"));
        }
        let error = load("[places.x]\nkind = 'pipe'\nhots = 'x'").unwrap_err();
        assert!(
            error.to_string().contains("unknown field `hots`"),
            "{error}"
        );
    }
}
