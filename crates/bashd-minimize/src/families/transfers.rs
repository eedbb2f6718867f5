//! curl, wget, rsync, scp: meters, dots, and protocol chatter of successful transfers.

use super::super::sheet::Sheet;
use super::super::words;
use super::{Filter, FilterInput};

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

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        // The heads of a meter's columns, until a row says something.
        let mut heads: Vec<&str> = Vec::new();
        let mut copies = Copies::of(input);
        for line in input.lines() {
            if copies.take(line, sheet) {
                continue;
            }
            if is_head(line) {
                heads.push(line);
                continue;
            }
            if let Some(rest) = after_idle_meter(line) {
                sheet.skip("");
                if !rest.is_empty() {
                    connection(rest, sheet);
                }
                continue;
            }
            if is_meter(line) {
                for head in heads.drain(..) {
                    sheet.leave("lines of meters", head);
                }
                sheet.leave("lines of meters", line);
            } else if is_about_connection(line) {
                connection(line, sheet);
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
                sheet.fold(kind, item.trim_start(), line);
            } else {
                sheet.keep(line);
            }
        }
        if !heads.is_empty() {
            sheet.skip("");
        }
    }
}

/// The list of files that rsync prints while it copies them.
struct Copies {
    /// Whether it lists what it did: if asked what it does or would do, the list is what is wanted.
    is_told: bool,
    in_list: bool,
}

impl Copies {
    fn of(input: &FilterInput<'_>) -> Self {
        let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--");
        let wants_list = |word: &String| {
            is_short(word) && word.contains(['n', 'i', 'P'])
                || words::has("--dry-run --itemize-changes --list-only --progress", word)
        };
        let mut commands = input.commands.iter();
        Self {
            is_told: commands.all(|command| {
                command.program == "rsync" && !command.arguments.iter().any(wants_list)
            }),
            in_list: false,
        }
    }

    /// Takes the name of a file that was copied.
    fn take<'a>(&mut self, line: &'a str, sheet: &mut Sheet<'a>) -> bool {
        if line.ends_with(" incremental file list") {
            self.in_list = true;
            return false;
        }
        if line.is_empty() || line.starts_with("sent ") || line.starts_with("Number of files") {
            self.in_list = false;
        }
        let is_said = [
            "deleting ",
            "created directory ",
            "rsync",
            "skipping ",
            "cannot ",
        ]
        .iter()
        .any(|start| line.starts_with(start));
        let is_file = self.is_told && self.in_list && !is_said && !is_meter(line);
        if is_file {
            sheet.fold("files", line, line);
        }
        is_file
    }
}

fn is_about_connection(line: &str) -> bool {
    ["* ", "} [", "{ ["]
        .iter()
        .any(|start| line.starts_with(start))
}

fn connection(line: &str, sheet: &mut Sheet<'_>) {
    if is_about_connection(line) {
        sheet.leave("lines about connections", line);
    } else {
        sheet.keep(line);
    }
}

/// The heads of the columns of curl's meter.
fn is_head(line: &str) -> bool {
    let trimmed = line.trim_start();
    trimmed.starts_with("% Total ") || trimmed.starts_with("Dload  Upload")
}

/// What follows a row of curl's meter in which nothing has moved yet: it says nothing, however the
/// run ended.
fn after_idle_meter(line: &str) -> Option<&str> {
    const COLUMNS: usize = 12;
    let mut rest = line;
    for column in 1..=COLUMNS {
        rest = rest.trim_start_matches(' ');
        rest = rest
            .strip_prefix('0')
            .or_else(|| rest.strip_prefix("--:--:--"))?;
        let is_ended = rest.starts_with(' ') || column == COLUMNS;
        if !is_ended {
            return None;
        }
    }
    (!rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')).then_some(rest)
}

/// A line of a progress meter.
fn is_meter(line: &str) -> bool {
    let trimmed = line.trim_start();
    let of_wget = trimmed.split_once("K ").is_some_and(|(kilobytes, dots)| {
        !kilobytes.is_empty()
            && kilobytes.bytes().all(|byte| byte.is_ascii_digit())
            && dots.trim_start().starts_with(['.', ','])
    });
    let of_curl = {
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

/// What wget prints about each successful request.
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
