//! curl, wget, rsync, tar: dots of a download that ended, sizes of pieces of data. What was copied,
//! packed or agreed upon is a fact.

use super::super::noise::{FormSet, FormWords, NoiseForm, NoiseMarks};
use super::{Filter, FilterInput};
use std::sync::LazyLock;

pub(super) struct Transfers;

const FORMS: &[NoiseForm] = &[
    NoiseForm {
        kind: "lines of dots",
        whose: "wget",
        pattern: r" *\d+K (?:[. ,]*\.[. ,]*) +\d{1,2}% +[\d.]+[KMGT]? +(?:\d+[hms])+",
        words: FormWords::Telling,
        case: " 2500K .......... .......... .......... .......... ..........  6%  134M 0s",
    },
    NoiseForm {
        kind: "sizes of pieces of data",
        whose: "curl -v",
        pattern: r"[{}] \[\d+ bytes data\]",
        words: FormWords::Telling,
        case: "{ [1448 bytes data]",
    },
];

static METERS: LazyLock<FormSet> = LazyLock::new(|| FormSet::of(FORMS));

impl Filter for Transfers {
    fn name(&self) -> &'static str {
        "transfers"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "curl", "wget", "rsync", "scp", "aria2c", "tar", "unzip", "zip",
        ]
    }

    #[cfg(test)]
    fn forms(&self) -> &'static [NoiseForm] {
        FORMS
    }

    fn mark(&self, input: &FilterInput<'_>, noise: &mut NoiseMarks<'_>) {
        // What curl gets may be written among its own lines.
        let is_wget = input
            .commands
            .iter()
            .all(|command| command.program == "wget");
        let is_curl = input
            .commands
            .iter()
            .all(|command| command.program == "curl");
        let writes_apart = input.has(&["-o", "-O", "--output", "--remote-name", "-I", "--head"]);
        let prints = input.has(&["-O-", "-qO-", "-O", "--output-document"]);
        if is_wget && !prints || is_curl && writes_apart {
            noise.leave_forms(0..input.lines.len(), &METERS);
        }
    }
}
