//! apt, dpkg, dnf, apk, brew: fetching, unpacking, setting up.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput, in_groups};

pub(super) struct Apt;

const STEPS: &[(&str, &str)] = &[
    ("Get:", "Get"),
    ("Hit:", "Hit"),
    ("Ign:", "Ign"),
    (
        "Selecting previously unselected package ",
        "Selecting previously unselected package",
    ),
    ("Preparing to unpack ", "Preparing to unpack"),
    ("Unpacking ", "Unpacking"),
    ("Setting up ", "Setting up"),
    ("Processing triggers for ", "Processing triggers"),
    ("(Reading database ", "Reading database"),
    ("Removing ", "Removing"),
    (
        "Purging configuration files for ",
        "Purging configuration files",
    ),
    ("==> Downloading ", "Downloading"),
    ("==> Fetching ", "Fetching"),
    ("==> Pouring ", "Pouring"),
    ("update-alternatives: using ", "update-alternatives: using"),
    ("Inst ", "Inst"),
    ("Conf ", "Conf"),
];

impl Filter for Apt {
    fn name(&self) -> &'static str {
        "apt"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "apt",
            "apt-get",
            "aptitude",
            "dpkg",
            "brew",
            "apk",
            "dnf",
            "yum",
            "apt-cache",
        ]
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        let mut packages = Packages::default();
        for line in input.lines() {
            if packages.take(line) {
                continue;
            }
            packages.flush(sheet);
            let step = STEPS
                .iter()
                .find_map(|(start, kind)| Some((kind, line.strip_prefix(start)?)));
            match step {
                Some((kind, item)) => sheet.fold(kind, item.trim_end_matches(" ..."), line),
                None if line.starts_with("Reading package lists")
                    || line.starts_with("Building dependency tree")
                    || line.starts_with("Reading state information") =>
                {
                    sheet.leave("lines of progress", line);
                }
                None => sheet.keep(line),
            }
        }
        packages.flush(sheet);
    }
}

/// Rows of `apt list` that follow each other.
#[derive(Default)]
struct Packages<'a>(Vec<Package<'a>>);

/// `bash/stable 5.2 amd64 [upgradable from: 5.1]`
#[derive(Clone, Copy)]
struct Package<'a> {
    line: &'a str,
    name: &'a str,
    version: &'a str,
    /// Its archives, its architecture and its state: what many rows have in common.
    group: (&'a str, &'a str, &'a str),
    /// The installed version, if it is different.
    from: &'a str,
}

impl<'a> Packages<'a> {
    /// Rows from which a group gets its own line.
    const FEWEST: usize = 3;

    fn take(&mut self, line: &'a str) -> bool {
        let package = Package::of(line);
        self.0.extend(package);
        package.is_some()
    }

    fn flush(&mut self, sheet: &mut Sheet<'a>) {
        for (group, packages) in in_groups(std::mem::take(&mut self.0), |package| package.group) {
            let has_head = packages.len() >= Self::FEWEST;
            if has_head {
                let (archives, architecture, state) = group;
                sheet.remark("packages grouped by archive and state");
                sheet.keep(&format!("{archives} {architecture} [{state}]:"));
            }
            for package in packages {
                if has_head {
                    sheet.keep(&package.short());
                } else {
                    sheet.keep(package.line);
                }
            }
        }
    }
}

impl<'a> Package<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (row, state) = line.strip_suffix(']')?.split_once(" [")?;
        let mut words = row.split(' ');
        let (name, archives) = words.next()?.split_once('/')?;
        let (version, architecture) = (words.next()?, words.next()?);
        if words.next().is_some() {
            return None;
        }
        let (state, from) = state.split_once(": ").unwrap_or((state, ""));
        let group = (archives, architecture, state);
        Some(Self {
            line,
            name,
            version,
            group,
            from,
        })
    }

    fn short(&self) -> String {
        let Self {
            name,
            version,
            from,
            ..
        } = self;
        if from.is_empty() {
            format!(" {name} {version}")
        } else {
            format!(" {name} {version} [{from}]")
        }
    }
}
