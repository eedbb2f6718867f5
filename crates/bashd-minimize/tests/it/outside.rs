//! The minimizer before a judge from outside: outputs that no filter was written with, facts that
//! a rule marks, and a table of what is saved, lost and false, for each tool and both halves.
//!
//! `tests/outside/README.md` says how they were chosen and made. With `BASHD_BLESS=1` the
//! test writes the table of `docs/minimizer-corpus.md`; without, no tool may lose more than it says
//! there. `BASHD_SHOW_LOST=1` prints what is lost and false (of the developed half alone).

mod facts;
mod plain;
mod recordings;
mod verdict;

use bashd_minimize::{FilterSettings, Subject, minimize};
use bashd_testkit::sources;
use facts::fact_in;
use plain::PlainText;
use recordings::{Half, RecordedOutput, recordings};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::thread;
use verdict::judge;

const PAGE: &str = "docs/minimizer-corpus.md";
const BEGIN: &str = "<!-- table of the corpus from outside: written by tests -->\n";
const END: &str = "<!-- end of the table from outside -->";
const HEAD: &str = "| tool | outputs | facts | raw tokens | saved | facts lost | falsehoods |\n|---|---|---|---|---|---|---|\n";

#[test]
fn the_corpus_from_outside_is_large_and_of_both_halves() {
    let all = recordings();
    let tools = |half| {
        let of_half = all.iter().filter(move |one| one.half == half);
        of_half
            .map(|one| one.tool.as_str())
            .collect::<BTreeSet<_>>()
    };
    let (developed, held_out) = (tools(Half::Developed).len(), tools(Half::HeldOut).len());
    assert!(all.len() >= 200, "{} recorded outputs", all.len());
    assert!(
        developed + held_out >= 40,
        "{developed} and {held_out} tools"
    );
    assert!(
        developed.abs_diff(held_out) <= 8,
        "{developed} and {held_out} tools"
    );
    let failures = all.iter().filter(|one| one.is_chosen_failure());
    let failures = failures.count();
    assert!(
        failures >= 30,
        "{failures} failures that the other corpus lacks"
    );
    let bytes: usize = all.iter().map(|one| one.raw.len()).sum();
    assert!(bytes <= 12_000_000, "{bytes} bytes are too many to keep");
    for one in &all {
        let (tool, name) = (&one.tool, &one.name);
        assert!(one.raw.len() <= 200_100, "{tool}/{name} is too long");
        let characters = one.raw.chars().take(1000).count();
        assert_eq!(characters, 1000, "{tool}/{name} is never minimized");
    }
}

/// A table of zeros says something only if the judge would have seen what is not zero.
#[test]
fn the_judge_sees_each_dropped_and_each_changed_line() {
    let (mut dropped, mut changed) = (0, 0);
    for one in recordings().iter().filter(|one| one.raw.len() < 6_000) {
        let plain = PlainText::of(&one.raw);
        let name = format!("{}/{}", one.tool, one.name);
        let step = plain.lines.len() / 3 + 1;
        for at in (0..plain.lines.len()).step_by(step) {
            let Some(line) = plain.lines.get(at).filter(|line| plain.times(line) == 1) else {
                continue;
            };
            let mut others = plain.lines.clone();
            others.remove(at);
            let without = others.join("\n");
            if fact_in(line).is_some() && !without.contains(line.trim()) {
                let verdict = judge(&one.raw, &without);
                assert_eq!(&verdict.lost, std::slice::from_ref(line), "{name}");
                dropped += 1;
            }
            let other = line.replace(|c: char| c.is_ascii_digit(), "8");
            if plain.times(&other) == 0 && !line.trim().is_empty() {
                others.insert(at, other);
                let verdict = judge(&one.raw, &others.join("\n"));
                assert!(!verdict.falsehoods.is_empty(), "{name}: {line}");
                changed += 1;
            }
        }
    }
    assert!(
        dropped > 50 && changed > 50,
        "{dropped} dropped, {changed} changed"
    );
}

/// What is lost of these facts, and what is false.
pub(crate) fn judged_facts(raw: &str, shown: &str, facts: &[String]) -> (Vec<String>, Vec<String>) {
    let verdict = judge(raw, shown);
    let is_lost = |fact: &&String| !verdict.written_out.contains(*fact);
    let lost = facts.iter().filter(is_lost).cloned().collect();
    (lost, verdict.falsehoods)
}

/// What is saved, lost and false of some outputs.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct OutsideRow {
    recordings: usize,
    facts: usize,
    raw: usize,
    shown: usize,
    lost: usize,
    falsehoods: usize,
    /// What is lost and false, for who looks for it.
    remarks: Vec<String>,
}

impl OutsideRow {
    fn add(&mut self, other: &Self) {
        self.recordings += other.recordings;
        self.facts += other.facts;
        self.raw += other.raw;
        self.shown += other.shown;
        self.lost += other.lost;
        self.falsehoods += other.falsehoods;
        self.remarks.extend(other.remarks.iter().cloned());
    }

    fn line(&self, name: &str) -> String {
        let saved = 100.0 * (self.raw as f64 - self.shown as f64) / self.raw.max(1) as f64;
        format!(
            "| {name} | {} | {} | {} | {saved:.0}% | {} | {} |\n",
            self.recordings, self.facts, self.raw, self.lost, self.falsehoods
        )
    }
}

fn judged(one: &RecordedOutput, tokenizer: &tiktoken_rs::CoreBPE) -> OutsideRow {
    let subject = Subject {
        command: &one.command,
        exit: Some(one.exit),
        text: &one.raw,
    };
    let digest = minimize(subject, &FilterSettings::default());
    let shown = digest.map_or_else(|_| one.raw.clone(), |digest| digest.text);
    let raw = tokenizer.count_ordinary(one.raw.as_str());
    let mut row = OutsideRow {
        recordings: 1,
        raw,
        shown: raw,
        ..OutsideRow::default()
    };
    if shown == one.raw {
        row.facts = judge(&one.raw, "").facts;
        return row;
    }
    let verdict = judge(&one.raw, &shown);
    row.facts = verdict.facts;
    row.shown = tokenizer.count_ordinary(shown.as_str());
    row.lost = verdict.lost.len();
    row.falsehoods = verdict.falsehoods.len();
    if one.half == Half::Developed {
        let name = format!("{}/{}", one.tool, one.name);
        let lost = verdict
            .lost
            .iter()
            .map(|line| format!("{name} lost: {line}"));
        row.remarks.extend(lost);
        let falsehoods = verdict.falsehoods.iter();
        row.remarks
            .extend(falsehoods.map(|line| format!("{name} false: {line}")));
    }
    row
}

/// The table, and the row of each name in it.
fn table_of(rows: &[(&RecordedOutput, OutsideRow)]) -> (String, BTreeMap<String, OutsideRow>) {
    let mut by_name: BTreeMap<String, OutsideRow> = BTreeMap::new();
    let mut tools: BTreeMap<Half, BTreeSet<&str>> = BTreeMap::new();
    for (one, row) in rows {
        let half = match one.half {
            Half::Developed => "**developed**",
            Half::HeldOut => "**held-out**",
        };
        tools.entry(one.half).or_default().insert(&one.tool);
        let mut names = vec![one.tool.as_str(), half, "**all**"];
        if one.is_chosen_failure() {
            names.push("**failures**");
        }
        for name in names {
            by_name.entry(name.to_owned()).or_default().add(row);
        }
    }
    let mut table = HEAD.to_owned();
    let line = |name: &str| {
        by_name
            .get(name)
            .map_or_else(String::new, |row| row.line(name))
    };
    for (half, total) in [
        (Half::Developed, "**developed**"),
        (Half::HeldOut, "**held-out**"),
    ] {
        for tool in tools.get(&half).into_iter().flatten() {
            table.push_str(&line(tool));
        }
        table.push_str(&line(total));
    }
    table.push_str(&line("**failures**"));
    table.push_str(&line("**all**"));
    (table, by_name)
}

#[test]
fn no_tool_loses_more_than_the_page_says() {
    let all = recordings();
    let tokenizer = tiktoken_rs::o200k_base().expect("the vocabulary");
    // Both halves of the list at once: this is the longest test of the crate.
    let (left, right) = all.split_at(all.len() / 2);
    let of = |part: &[RecordedOutput]| -> Vec<OutsideRow> {
        part.iter().map(|one| judged(one, &tokenizer)).collect()
    };
    let rows: Vec<(&RecordedOutput, OutsideRow)> = thread::scope(|scope| {
        let other = scope.spawn(|| of(right));
        let mut rows = of(left);
        rows.extend(other.join().expect("the other half"));
        all.iter().zip(rows).collect()
    });
    let (table, by_name) = table_of(&rows);
    if std::env::var_os("BASHD_SHOW_LOST").is_some() {
        let remarks = by_name
            .get("**developed**")
            .map(|row| row.remarks.join("\n"));
        println!("{}", remarks.unwrap_or_default());
    }
    let page = sources::text(PAGE).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("the table's beginning");
    let (found, after) = rest.split_once(END).expect("the table's end");
    if std::env::var_os("BASHD_BLESS").is_some() {
        let page = format!("{before}{BEGIN}{table}{END}{after}");
        fs::write(sources::root().join(PAGE), page).expect("the page");
        return;
    }
    let promised = promises(found);
    let mut worse = String::new();
    for (name, row) in &by_name {
        let Some((recordings, lost, falsehoods)) = promised.get(name) else {
            let _ = writeln!(worse, "{name} is not in the table: BASHD_BLESS=1");
            continue;
        };
        if row.recordings != *recordings || row.lost > *lost || row.falsehoods > *falsehoods {
            let _ = write!(
                worse,
                "{recordings} outputs, {lost} lost, {falsehoods} false: {}",
                row.line(name)
            );
        }
    }
    assert!(
        worse.is_empty(),
        "more is lost or false than {PAGE} says:\n{worse}"
    );
    println!("{table}");
}

/// Outputs, facts lost and falsehoods by name, as a table says.
fn promises(table: &str) -> BTreeMap<String, (usize, usize, usize)> {
    let rows = table.lines().skip(2).filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let number = |at: usize| cells.get(at).and_then(|cell| cell.parse().ok());
        Some((
            (*cells.get(1)?).to_owned(),
            (number(2)?, number(6)?, number(7)?),
        ))
    });
    rows.collect()
}
