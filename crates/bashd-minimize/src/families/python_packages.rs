//! pip, uv, poetry, pipenv, conda: downloads and builds; what was installed stays.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput, after_any};

pub(super) struct PythonPackages;

/// What is printed while packages are fetched and built.
const PROGRESS: &[(&str, &str)] = &[
    ("Collecting ", "Collecting"),
    ("Downloading ", "Downloading"),
    ("Downloaded ", "Downloaded"),
    ("Using cached ", "Using cached"),
    ("Requirement already satisfied: ", "already satisfied"),
    ("Building wheel for ", "Building wheel"),
    ("Created wheel for ", "Created wheel"),
    ("Preparing metadata ", "Preparing metadata"),
    ("Getting requirements to build ", "Getting requirements"),
    (
        "Installing build dependencies",
        "Installing build dependencies",
    ),
    (
        "Installing backend dependencies",
        "Installing backend dependencies",
    ),
    (
        "Obtaining dependency information for ",
        "Obtaining information",
    ),
    ("Found existing installation: ", "Found existing"),
    ("Uninstalling ", "Uninstalling"),
    ("Attempting uninstall: ", "Attempting uninstall"),
    ("Stored in directory: ", "Stored"),
    ("Resolving dependencies", "Resolving"),
    ("Building ", "Building"),
    ("Built ", "Built"),
    (
        "Building wheels for collected packages: ",
        "Building wheels",
    ),
    (
        "Installing collected packages: ",
        "Installing collected packages",
    ),
    ("Would remove:", "Would remove"),
    (
        "Link requires a different Python",
        "links for another Python",
    ),
    ("Found link ", "Found link"),
];

/// What was changed: always listed.
const CHANGES: &[(&str, &str)] = &[
    (" + ", "+"),
    (" - ", "-"),
    (" ~ ", "~"),
    ("  - Installing ", "Installing"),
    ("  - Updating ", "Updating"),
    ("  - Removing ", "Removing"),
    ("  • Installing ", "Installing"),
];

impl Filter for PythonPackages {
    fn name(&self) -> &'static str {
        "python-packages"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "pip", "uv", "poetry", "pipenv", "conda", "mamba", "pdm", "rye", "hatch",
        ]
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        if input.is(&["tree"]) || input.has(&["--tree"]) {
            return super::outline::write(input, sheet);
        }
        for line in input.lines() {
            let trimmed = line.trim_start();
            if let Some((kind, item)) = after_any(line, CHANGES) {
                sheet.join(kind, item, line);
            } else if let Some((kind, item)) = after_any(trimmed, PROGRESS) {
                let item = item.strip_prefix("collected packages: ").unwrap_or(item);
                sheet.fold(kind, item, line);
            } else if is_resolving(trimmed) {
                sheet.leave("lines of the resolver", line);
            } else if is_bar(trimmed) {
                sheet.leave("progress bars", line);
            } else if line.is_empty() {
                sheet.skip(line);
            } else {
                sheet.keep(line);
            }
        }
    }
}

/// `1: fact: shop depends on flask (>=3)`: poetry thinking aloud.
fn is_resolving(trimmed: &str) -> bool {
    let said = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    said.len() < trimmed.len()
        && [
            ": fact: ",
            ": derived: ",
            ": selecting ",
            ": Version solving",
            ": Tried ",
        ]
        .iter()
        .any(|start| said.starts_with(start))
}

fn is_bar(trimmed: &str) -> bool {
    let is_meter = trimmed.contains("--- ") && trimmed.contains("iB/");
    // The spinners of uv and poetry are patterns of dots.
    let is_spinner = trimmed.starts_with(|c: char| ('⠀'..='⣿').contains(&c));
    is_meter
        || is_spinner
        || trimmed.starts_with('━')
        || trimmed.starts_with("|██")
        || trimmed.starts_with("- \\ |")
}
