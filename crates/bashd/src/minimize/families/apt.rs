//! apt, dpkg, dnf, apk, brew: fetching, unpacking, setting up.

use super::super::sheet::{Noise, Sheet};
use super::{Filter, Input};

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

    fn apply<'a>(&self, input: &Input<'a>, sheet: &mut Sheet<'a>) {
        for line in input.lines() {
            let step = STEPS
                .iter()
                .find_map(|(start, kind)| Some((kind, line.strip_prefix(start)?)));
            match step {
                Some((kind, item)) => sheet.fold(
                    Noise {
                        kind,
                        item: item.trim_end_matches(" ..."),
                    },
                    line,
                ),
                None if line.starts_with("Reading package lists")
                    || line.starts_with("Building dependency tree")
                    || line.starts_with("Reading state information") =>
                {
                    sheet.leave("lines of progress", line);
                }
                None => sheet.keep(line),
            }
        }
    }
}
