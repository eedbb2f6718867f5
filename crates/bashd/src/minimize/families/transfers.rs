//! curl, wget, rsync, scp: meters, dots, and the talk of protocols that went well.

use super::super::sheet::{Noise, Sheet};
use super::{Filter, Input};

pub(super) struct Transfers;

impl Filter for Transfers {
    fn name(&self) -> &'static str {
        "transfers"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "curl", "wget", "rsync", "scp", "aria2c", "tar", "unzip", "zip",
        ]
    }

    fn apply<'a>(&self, input: &Input<'a>, sheet: &mut Sheet<'a>) {
        for line in input.lines() {
            if is_meter(line) {
                sheet.leave("lines of meters", line);
            } else if line.starts_with("* ") || line.starts_with("} [") || line.starts_with("{ [") {
                sheet.leave("lines about connections", line);
            } else if is_talk(line) {
                sheet.leave("lines about requests that went well", line);
            } else if line.is_empty() {
                sheet.skip("");
            } else if let Some((verb, item)) =
                line.trim_start().split_once(": ").filter(|(verb, _)| {
                    matches!(*verb, "adding" | "inflating" | "extracting" | "creating")
                })
            {
                let kind = if verb == "adding" {
                    "adding"
                } else {
                    "extracted"
                };
                sheet.fold(
                    Noise {
                        kind,
                        item: item.trim_start(),
                    },
                    line,
                );
            } else {
                sheet.keep(line);
            }
        }
    }
}

/// A line of a progress meter.
fn is_meter(line: &str) -> bool {
    let trimmed = line.trim_start();
    let of_wget = trimmed.split_once("K ").is_some_and(|(kilobytes, dots)| {
        !kilobytes.is_empty()
            && kilobytes.bytes().all(|byte| byte.is_ascii_digit())
            && dots.trim_start().starts_with(['.', ','])
    });
    let of_curl = trimmed.starts_with("% Total ") || trimmed.starts_with("Dload  Upload") || {
        let words: Vec<&str> = trimmed.split_whitespace().collect();
        words.len() == 12
            && words
                .iter()
                .all(|word| word.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
    };
    let of_rsync = trimmed.contains("% ")
        && trimmed.contains("B/s")
        && trimmed.starts_with(|c: char| c.is_ascii_digit());
    of_wget || of_curl || of_rsync
}

/// What wget says of each request, if it went well.
fn is_talk(line: &str) -> bool {
    let starts = [
        "Connecting to ",
        "Resolving ",
        "Reusing existing connection",
        "HTTP request sent, awaiting response... 200",
        "Length: ",
        "Saving to: ",
    ];
    starts.iter().any(|start| line.starts_with(start))
        && !line.ends_with("failed: Connection refused.")
}
