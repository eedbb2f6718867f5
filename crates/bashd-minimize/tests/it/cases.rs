//! Recorded outputs of real tools: what is shown of each, its facts, and the tokens saved.
//!
//! A case is a folder `tests/cases/TOOL/CASE/` with `command`, `exit`, `raw`, `expected` and
//! `facts`. With `BASHD_BLESS=1` these tests write `expected` and the table of `docs/minimizer.md`
//! instead of comparing them.

use bashd_minimize::{Digest, FilterSettings, Reach, Subject, Unchanged, minimize, rebuild};
use bashd_testkit::sources;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// One recorded run.
pub(crate) struct Case {
    pub(crate) tool: String,
    pub(crate) name: String,
    pub(crate) command: String,
    pub(crate) exit: i32,
    pub(crate) raw: String,
    directory: PathBuf,
}

impl Case {
    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.directory.join(name)).unwrap_or_default()
    }

    /// Whether it is of the set that no filter was developed with (`tests/recording/tools/day.sh`).
    fn is_of_the_day(&self) -> bool {
        self.name.starts_with("day_")
    }

    fn minimized(&self, reach: Reach) -> Result<Digest, Unchanged> {
        let settings = FilterSettings {
            reach,
            ..FilterSettings::default()
        };
        let subject = Subject {
            command: &self.command,
            exit: Some(self.exit),
            text: &self.raw,
        };
        minimize(subject, &settings)
    }

    /// What every reader must learn, a line each.
    pub(crate) fn facts(&self) -> String {
        self.file("facts")
    }

    /// What is shown: the digest, or the raw text.
    pub(crate) fn shown(&self, reach: Reach) -> String {
        self.minimized(reach)
            .map_or_else(|_| self.raw.clone(), |digest| digest.text)
    }
}

/// Every case, in order.
pub(crate) fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases = Vec::new();
    for tool in folders(&root) {
        for directory in folders(&tool) {
            let text = |name: &str| {
                let bytes = fs::read(directory.join(name))
                    .unwrap_or_else(|error| panic!("{}/{name}: {error}", directory.display()));
                String::from_utf8_lossy(&bytes).into_owned()
            };
            cases.push(Case {
                tool: name_of(&tool),
                name: name_of(&directory),
                command: text("command").trim_end().to_owned(),
                exit: text("exit").trim().parse().expect("a status"),
                raw: text("raw"),
                directory: directory.clone(),
            });
        }
    }
    cases
}

fn folders(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the cases");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().expect("a name");
    name.to_string_lossy().into_owned()
}

fn blesses() -> bool {
    std::env::var_os("BASHD_BLESS").is_some()
}

#[test]
fn there_are_enough_cases_of_real_runs() {
    let cases = cases();
    let failing = cases.iter().filter(|case| case.exit != 0).count();
    let mut sizes: Vec<usize> = cases.iter().map(|case| case.raw.chars().count()).collect();
    sizes.sort_unstable();
    let median = sizes[sizes.len() / 2];
    assert!(cases.len() >= 150, "{} cases", cases.len());
    assert!(
        failing * 3 >= cases.len(),
        "{failing} failing of {}",
        cases.len()
    );
    assert!(median >= 4000, "the median has {median} characters");
}

#[test]
fn every_case_shows_what_is_expected() {
    let mut wrong = Vec::new();
    for case in cases() {
        let shown = case.shown(Reach::All);
        if blesses() {
            fs::write(case.directory.join("expected"), &shown).expect("expected");
        } else if shown != case.file("expected") {
            wrong.push(format!("{}/{}", case.tool, case.name));
        }
    }
    assert!(
        wrong.is_empty(),
        "shown otherwise than expected (look, then BASHD_BLESS=1): {wrong:#?}"
    );
}

#[test]
fn no_fact_is_lost() {
    let mut lost = Vec::new();
    for case in cases() {
        let facts = case.file("facts");
        for reach in [Reach::All, Reach::Lossless] {
            let shown = case.shown(reach);
            let rebuilt = rebuild(&shown).join("\n");
            let missing = facts
                .lines()
                .filter(|fact| !shown.contains(fact) && !rebuilt.contains(fact));
            lost.extend(
                missing.map(|fact| format!("{}/{} ({reach:?}): {fact}", case.tool, case.name)),
            );
        }
    }
    assert!(lost.is_empty(), "{} facts are lost: {lost:#?}", lost.len());
}

#[test]
fn nothing_grows_and_nothing_changes_when_done_again() {
    for case in cases() {
        for reach in [Reach::All, Reach::Lossless] {
            let shown = case.shown(reach);
            assert!(
                shown.len() <= case.raw.len(),
                "{}/{} grew",
                case.tool,
                case.name
            );
            let again = Case {
                raw: shown.clone(),
                directory: case.directory.clone(),
                tool: case.tool.clone(),
                name: case.name.clone(),
                command: case.command.clone(),
                exit: case.exit,
            };
            assert_eq!(
                again.shown(reach),
                shown,
                "{}/{} again",
                case.tool,
                case.name
            );
        }
    }
}

/// Tokens of a family, before and after.
#[derive(Default)]
struct Row {
    cases: usize,
    raw: usize,
    lossless: usize,
    all: usize,
    /// Savings of each case in percent.
    savings: Vec<f64>,
}

impl Row {
    fn add(&mut self, raw: usize, lossless: usize, all: usize) {
        self.cases += 1;
        self.raw += raw;
        self.lossless += lossless;
        self.all += all;
        self.savings.push(saved(raw, all));
    }

    fn line(&self, name: &str) -> String {
        let mut savings = self.savings.clone();
        savings.sort_by(f64::total_cmp);
        let median = savings[savings.len() / 2];
        let worst = savings[0];
        format!(
            "| {name} | {} | {} | {} | {} | {:.0}% | {:.0}% | {median:.0}% | {worst:.0}% |\n",
            self.cases,
            self.raw,
            self.lossless,
            self.all,
            saved(self.raw, self.lossless),
            saved(self.raw, self.all),
        )
    }
}

/// How much less, in percent.
fn saved(before: usize, after: usize) -> f64 {
    100.0 * (before as f64 - after as f64) / before.max(1) as f64
}

#[test]
fn tokens_are_saved_as_the_page_says() {
    let tokenizer = tiktoken_rs::o200k_base().expect("the vocabulary");
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let (mut developed, mut day, mut total) = (Row::default(), Row::default(), Row::default());
    for case in cases() {
        let raw = tokenizer.count_ordinary(case.raw.as_str());
        let lossless = tokenizer.count_ordinary(case.shown(Reach::Lossless).as_str());
        let digest = case.minimized(Reach::All);
        let family = digest
            .as_ref()
            .map_or("(as it is)", |digest| digest.filter.as_str());
        let all = digest
            .as_ref()
            .map_or(raw, |digest| tokenizer.count_ordinary(digest.text.as_str()));
        assert!(
            all <= raw + 12,
            "{}/{} has more tokens: {raw} to {all}",
            case.tool,
            case.name
        );
        if std::env::var_os("BASHD_SHOW_TOKENS").is_some() {
            println!(
                "{:5.1}% {:5.1}% {raw:6} {:4} {}/{}",
                saved(raw, lossless),
                saved(raw, all),
                case.exit,
                case.tool,
                case.name
            );
        }
        rows.entry(family.to_owned())
            .or_default()
            .add(raw, lossless, all);
        total.add(raw, lossless, all);
        let set = if case.is_of_the_day() {
            &mut day
        } else {
            &mut developed
        };
        set.add(raw, lossless, all);
    }
    let mut table = "| family | cases | raw | lossless | shown | lossless saves | saved | median | worst |\n|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for (family, row) in &rows {
        table.push_str(&row.line(family));
    }
    table.push_str(&developed.line("**developed**"));
    table.push_str(&day.line("**day**"));
    table.push_str(&total.line("**all**"));
    check_page(&table);
    println!("{table}");
    // What was promised of all cases together is 50% and 25%. What holds today may only get better.
    for (name, row, least_lossless, least) in [
        ("developed", &developed, 39.5, 52.5),
        ("day", &day, 15.0, 25.0),
        ("all", &total, 34.0, 46.4),
    ] {
        let (lossless, all) = (saved(row.raw, row.lossless), saved(row.raw, row.all));
        assert!(all >= least, "{name}: only {all:.1}% fewer tokens");
        assert!(
            lossless >= least_lossless,
            "{name}: the lossless tier saves only {lossless:.1}%"
        );
    }
}

/// The page has this table, or gets it.
fn check_page(table: &str) {
    const BEGIN: &str = "<!-- table of tokens: written by tests -->\n";
    const END: &str = "<!-- end of the table -->";
    let page = sources::text("docs/minimizer.md").expect("docs/minimizer.md");
    let (before, rest) = page.split_once(BEGIN).expect("the table's beginning");
    let (found, after) = rest.split_once(END).expect("the table's end");
    if blesses() {
        let page = format!("{before}{BEGIN}{table}{END}{after}");
        fs::write(sources::root().join("docs/minimizer.md"), page).expect("docs/minimizer.md");
    } else {
        assert_eq!(
            found, table,
            "docs/minimizer.md is out of date: BASHD_BLESS=1"
        );
    }
}
