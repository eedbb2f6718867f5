//! Places of kind `slurm`, as they are written.

use super::{PlaceTable, is_plain_path};
use crate::config::size;
use crate::place::{PlaceKind, SlurmSettings, SlurmSharing};
use std::time::Duration;

/// Keys that mean something to no other kind.
pub(super) fn own_keys(table: &PlaceTable) -> [(&'static str, bool); 9] {
    [
        ("partition", table.partition.is_some()),
        ("account", table.account.is_some()),
        ("gpus", table.gpus.is_some()),
        ("time", table.time.is_some()),
        ("nodes", table.nodes.is_some()),
        ("allocation", table.allocation.is_some()),
        ("queue_seconds", table.queue_seconds.is_some()),
        ("state_dir", table.state_dir.is_some()),
        ("sbatch_options", table.sbatch_options.is_some()),
    ]
}

pub(super) fn kind(table: &PlaceTable) -> Result<PlaceKind, String> {
    let sharing = match table.allocation.as_deref() {
        None | Some("session") => SlurmSharing::Session,
        Some("shared") => SlurmSharing::Shared,
        Some("job") => SlurmSharing::Job,
        Some(other) => {
            return Err(format!(
                "`allocation` is `session`, `shared` or `job`, not `{other}`"
            ));
        }
    };
    let memory = match table
        .memory
        .as_deref()
        .map(|given| (given, size::parse(given)))
    {
        None => None,
        Some((_, Some(bytes @ 1..))) => Some(bytes),
        Some((given, _)) => {
            return Err(format!(
                "`memory` is a size such as \"16GiB\", not `{given}`"
            ));
        }
    };
    let cpus = match table.cpus {
        None => None,
        Some(cpus) if cpus >= 1.0 && cpus.fract() == 0.0 && cpus < 1e6 => Some(cpus as u64),
        Some(cpus) => return Err(format!("`cpus` is a whole number above 0, not {cpus}")),
    };
    if table.nodes == Some(0) {
        return Err("`nodes` is a number above 0".to_owned());
    }
    for (key, value) in [("partition", &table.partition), ("account", &table.account)] {
        if let Some(value) = value.as_ref().filter(|value| !is_name(value)) {
            return Err(format!("`{key}`: `{value}` is no name"));
        }
    }
    for path in [&table.bin, &table.state_dir].into_iter().flatten() {
        if !is_plain_path(path) || !path.starts_with('/') {
            return Err(format!(
                "`bin` and `state_dir` are whole paths without blanks and quotes, not `{path}`"
            ));
        }
    }
    Ok(PlaceKind::Slurm(SlurmSettings {
        partition: table.partition.clone(),
        account: table.account.clone(),
        cpus,
        memory,
        gpus: table.gpus,
        time: table.time.as_deref().map(time).transpose()?,
        nodes: table.nodes,
        sharing,
        queue: table.queue_seconds.map(Duration::from_secs),
        bin: table.bin.clone(),
        state_dir: table.state_dir.as_ref().map(Into::into),
        options: table.sbatch_options.clone().unwrap_or_default(),
    }))
}

/// What is no option of a program.
fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.,".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain)
}

/// A time as Slurm writes it; `90s`, `30m`, `2h` and `3d` are that, too.
fn time(given: &str) -> Result<String, String> {
    let wrong =
        || format!("`time` is one such as \"30m\", \"2h\" or \"1-12:00:00\", not `{given}`");
    let is_slurms = given
        .chars()
        .all(|c| c.is_ascii_digit() || c == ':' || c == '-');
    if is_slurms && given.contains(':') {
        return Ok(given.to_owned());
    }
    let at = given
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(given.len());
    let (number, unit) = given.split_at(at);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit.trim() {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let seconds = number.checked_mul(seconds).filter(|seconds| *seconds > 0);
    let seconds = seconds.ok_or_else(wrong)?;
    Ok(format!(
        "{}-{:02}:{:02}:{:02}",
        seconds / 86_400,
        seconds / 3600 % 24,
        seconds / 60 % 60,
        seconds % 60
    ))
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::config::ConfigFile;
    use crate::place::{PlaceKind, SlurmSharing};

    fn load(text: &str) -> Result<PlaceKind, String> {
        let file = ConfigFile {
            path: "/c.toml".into(),
            text: format!("[places.x]\nkind = 'slurm'\n{text}"),
        };
        let places = read(&file).map_err(|error| error.to_string())?;
        Ok(places.into_iter().next().unwrap().kind)
    }

    #[test]
    fn an_allocation_is_read() {
        let text = "partition = 'gpu'\ncpus = 4\nmemory = '16GiB'\ngpus = 1\ntime = '26h'\nnodes = 3\n\
            allocation = 'shared'\nqueue_seconds = 60";
        let Ok(PlaceKind::Slurm(settings)) = load(text) else {
            panic!("{:?}", load(text));
        };
        assert_eq!(settings.time.as_deref(), Some("1-02:00:00"));
        assert_eq!((settings.cpus, settings.memory), (Some(4), Some(16 << 30)));
        assert_eq!(settings.sharing, SlurmSharing::Shared);
    }

    #[test]
    fn what_is_wrong_with_it_is_said() {
        for (text, problem) in [
            ("allocation = 'mine'", "`session`, `shared` or `job`"),
            ("cpus = 1.5", "a whole number above 0"),
            ("nodes = 0", "a number above 0"),
            ("partition = '--wrap=x'", "is no name"),
            ("time = 'soon'", "such as \"30m\""),
            ("bin = '/a b'", "without blanks"),
            ("image = 'x'", "a place of kind `slurm` has no `image`"),
        ] {
            let error = load(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
