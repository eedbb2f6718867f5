//! pip: downloads of packages whose version the last line says again.

use super::super::noise::{FormSet, FormWords, NoiseForm, NoiseMarks};
use super::{Filter, FilterInput};
use std::collections::HashSet;
use std::sync::LazyLock;

pub(super) struct PythonPackages;

const FORMS: &[NoiseForm] = &[
    NoiseForm {
        kind: "downloads",
        whose: "pip",
        pattern: r" +(?:Downloading|Using cached) [\w.]+-[\w.!+]+-\S+\.whl(?:\.metadata)? \([\d.]+ [kMG]?B\)",
        words: FormWords::Fixed,
        case: "  Downloading fastapi-0.115.0-py3-none-any.whl (94 kB)",
    },
    NoiseForm {
        kind: "progress bars",
        whose: "pip",
        pattern: r" +[━╸╺]+ [\d.]+/[\d.]+ [kMG]?B [\d.]+ [kMG]?B/s eta [\d:]+",
        words: FormWords::Telling,
        case: "     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 94.8/94.8 kB 3.1 MB/s eta 0:00:00",
    },
];

static FETCHED: LazyLock<FormSet> = LazyLock::new(|| FormSet::of(FORMS));

impl Filter for PythonPackages {
    fn name(&self) -> &'static str {
        "python-packages"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "pip", "uv", "poetry", "pipenv", "conda", "mamba", "pdm", "rye", "hatch",
        ]
    }

    #[cfg(test)]
    fn forms(&self) -> &'static [NoiseForm] {
        FORMS
    }

    fn mark(&self, input: &FilterInput<'_>, noise: &mut NoiseMarks<'_>) {
        let is_pip = input
            .commands
            .iter()
            .all(|command| command.program == "pip");
        if !is_pip || !input.is(&["install"]) {
            return;
        }
        let installed: HashSet<String> = input
            .numbered()
            .filter_map(|(_, line)| line.strip_prefix("Successfully installed "))
            .flat_map(|packages| packages.split(' '))
            .map(normal)
            .collect();
        for (at, line) in input.numbered() {
            let Some(form) = FETCHED.find(line) else {
                continue;
            };
            let is_confirmed = match wheel(line) {
                Some(package) => installed.contains(&normal(package)),
                None => true,
            };
            if is_confirmed {
                noise.leave(at, form);
            }
        }
    }
}

/// `fastapi-0.115.0` of `  Downloading fastapi-0.115.0-py3-none-any.whl (94 kB)`.
fn wheel(line: &str) -> Option<&str> {
    let file = line.split_whitespace().find(|word| word.contains(".whl"))?;
    let mut dashes = file.match_indices('-').map(|(at, _)| at);
    dashes.next()?;
    file.get(..dashes.next()?)
}

/// A form that all spellings of a name share.
fn normal(package: &str) -> String {
    package.to_ascii_lowercase().replace(['_', '.'], "-")
}
