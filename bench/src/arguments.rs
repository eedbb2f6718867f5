//! The command line of the benchmarks, which is too small for a parser's library.

use crate::measure::{Effort, Extent};
use crate::table::Form;
use crate::workload::WORKLOADS;
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;

/// Rounds of every workload unless said otherwise; the table shows the median round.
const ROUNDS: usize = 5;

/// By this the benchmarks ask themselves to be an engine that does nothing.
pub(crate) const IDLE_ENGINE: &str = "--idle-engine";

/// What this program is asked to do.
pub(crate) enum Asked {
    /// To say how it is used.
    Help,
    /// To measure.
    Measure(Arguments),
    /// To be the process that `idle` looks at; its state goes below this directory, and so many
    /// shells are started ahead.
    IdleEngine(PathBuf, usize),
}

/// What to measure, how long, and how to show it.
pub(crate) struct Arguments {
    pub(crate) effort: Effort,
    pub(crate) form: Form,
    /// Names of workloads; none means all of them.
    only: Vec<String>,
}

impl Arguments {
    /// Whether this workload is asked for.
    pub(crate) fn names(&self, workload: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == workload)
    }

    /// The command that repeats this.
    pub(crate) fn command(&self) -> String {
        let mut words = "cargo run --profile dist -p bashd-bench --".to_owned();
        for name in &self.only {
            words = words + " --only " + name;
        }
        if self.effort.extent == Extent::Smoke {
            words += " --smoke";
        } else if self.effort.rounds != ROUNDS {
            words = words + " --repeat " + &self.effort.rounds.to_string();
        }
        words + " --markdown"
    }
}

/// Reads the words after the program's name.
pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Asked> {
    let mut words = words;
    let mut only = Vec::new();
    let (mut rounds, mut extent, mut form) = (None, Extent::Full, Form::Terminal);
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word} needs a value"))
        };
        match word.as_str() {
            "--smoke" => extent = Extent::Smoke,
            "--markdown" => form = Form::Markdown,
            "--only" => only.push(known(value()?)?),
            "--repeat" => rounds = Some(value()?.parse().context("--repeat needs a number")?),
            IDLE_ENGINE => return Ok(Asked::IdleEngine(value()?.into(), value()?.parse()?)),
            "--help" | "-h" => return Ok(Asked::Help),
            _ => bail!("unknown argument {word:?}\n{}", help()),
        }
    }
    let rounds = rounds.unwrap_or(match extent {
        Extent::Full => ROUNDS,
        Extent::Smoke => 1,
    });
    ensure!(rounds > 0, "--repeat needs at least 1");
    let effort = Effort { rounds, extent };
    Ok(Asked::Measure(Arguments { effort, form, only }))
}

fn known(name: String) -> Result<String> {
    let is_known = WORKLOADS.iter().any(|workload| workload.name == name);
    ensure!(is_known, "there is no workload {name:?}\n{}", help());
    Ok(name)
}

/// How this program is used.
pub(crate) fn help() -> String {
    let workloads = WORKLOADS
        .iter()
        .map(|workload| format!("  {:<16} {}\n", workload.name, workload.about));
    let workloads: String = workloads.collect();
    format!(
        "usage: bashd-bench [--smoke] [--only NAME]... [--repeat N] [--markdown]\n\n\
         --smoke      every workload once and tiny; shows that it works, judges nothing\n\
         --only NAME  this workload only; may be given again\n\
         --repeat N   rounds of every workload, of which the median is shown (default {ROUNDS})\n\
         --markdown   the table as in docs/benchmarks.md, with facts about this machine\n\n\
         workloads:\n{workloads}"
    )
}
