//! Facts of a plain text, marked by one rule for all tools: the lines that a maintainer's own
//! `grep` for trouble, names, counts and places would find.
//!
//! Nothing here knows a filter, or which tool wrote a text. A line that a tool marks as well itself
//! (`... ok`, `✓`, `PASSED`) is no trouble and no count, whatever words a test's name has.

use regex::{Regex, RegexSet};
use std::sync::LazyLock;

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FactKind {
    Trouble,
    Name,
    Count,
    Place,
}

/// Words of trouble. They count as words only: not in paths, options, or names of things.
static TROUBLE: LazyLock<Regex> = LazyLock::new(|| {
    let words = [
        r"errors?|err!|fail|fails|failed|failing|failures?|fatal|panic(?:ked)?|exceptions?|traceback|warn|warnings?",
        r"denied|refused|rejected|abort(?:ed|ing)?|cannot|can't|could not|couldn't|unable|undefined|unresolved",
        r"missing|not found|no such|does not exist|doesn't exist|invalid|illegal|unexpected|mismatch(?:ed|es)?",
        r"conflict(?:s|ing)?|killed|timeout|timed out|corrupt(?:ed)?|damaged|expired|deprecated|skipped|insecure",
        r"vulnerab\w+|overflow(?:ed)?|segmentation fault|core dumped|unreachable|unsupported|out of memory|quota exceeded",
    ];
    Regex::new(&format!("(?i){}", words.join("|"))).expect("a pattern")
});

/// Trouble that is written as a name.
static TROUBLE_NAMES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?:^|[^\w/-])[A-Z]\w*(?:Error|Exception|Warning)\b|\bERR_\w+|^E   |^\s*[✗✕✖✘❌⚠] ?\S",
    )
    .expect("a pattern")
});

/// Names that somebody looks for in any output.
static NAMES: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new([
        r"\b[a-z][a-z0-9+.-]*://[^\s/]",
        r"\b(?:CVE-\d{4}-\d+|GHSA-\w{4}-\w{4}-\w{4}|RUSTSEC-\d{4}-\d+)",
        r"(?:^|[\s/])(?:\.env(?:\.\w+)?|id_(?:rsa|dsa|ecdsa|ed25519)|authorized_keys|\.ssh|\.npmrc|\.pypirc|\.netrc|\.htpasswd|kubeconfig)(?:[\s/:,]|$)",
        r"[\w-]\.(?:pem|key|p12|pfx|jks)(?:[\s:,]|$)",
        r"^\s*remote: \S",
        r"\b(?:SKIPPED|NO-SOURCE)\b",
        r"\b0 of \d",
        r"^[-dlcbps][-rwxsStT]{9}(?:[\s+@.]|$)",
        r"^\s*rm -|^removed '|^deleting ",
        r"^(?:Inst|Remv) \S+|^\s*[-+~] \S+(?:@|==)\d|\S (?:->|=>) v?\d+\.\d|^Successfully installed ",
        r"(?i)\b(?:expire date|not after|notafter|verify (?:result|error|return code)|verification|self-signed|issuer:)",
    ])
    .expect("patterns")
});

/// Totals and sums.
static COUNTS: LazyLock<RegexSet> = LazyLock::new(|| {
    let things = "tests?|passed|failed|failures?|errors?|warnings?|problems?|packages?|files?|insertions?|deletions?|rows?|\
        vulnerabilit\\w+|suites?|skipped|ignored|pending|passing|failing|todo|examples?|assertions?|upgraded|newly installed|\
        commits?|directories|modules?|tasks?|targets?|to (?:add|change|destroy|remove)|added|changed|destroyed|unreachable";
    RegexSet::new([
        format!(r"(?i)(?:^|[\s(=:,])\d[\d,]*\+? (?:{things})\b"),
        r"(?i)^\s*(?:total|totals|tests|test suites|test files|snapshots|coverage|score|ran \d)\b.*\d".to_owned(),
        r"(?i)\b(?:failures|errors|skipped|ok|changed|failed|rescued)[=:]\s?\d".to_owned(),
        r"\bBUILD \w+|^\s*Finished\b.*\d|^\(\d+ rows?\)".to_owned(),
        r"(?:^|\s)\d+(?:\.\d+)?% (?:tests|of|covered)".to_owned(),
    ])
    .expect("patterns")
});

/// A file and a line in it.
static PLACES: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new([
        r#"(?:^|[\s("'\[`])[\w./@+~-]*\w\.[A-Za-z]\w{0,5}:\d+"#,
        r#"File "[^"]+", line \d+"#,
        r"\w\.[a-z]{1,4}\(\d+,\d+\)",
    ])
    .expect("patterns")
});

/// How tools say that one thing went well.
static WELL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?:\.\.\. ?ok|\bPASSED(?: +\[ *\d+%\])?|\bOK)$|^\s*(?:[✓✔√]|ok \d|--- PASS|PASS:? )|\. (?:yes|no|ok|none needed|none required)$",
    )
    .expect("a pattern")
});

/// The kind of fact that a line is; `None` if nobody would look for it.
pub(crate) fn fact_in(line: &str) -> Option<FactKind> {
    if line.trim().is_empty() {
        return None;
    }
    if NAMES.is_match(line) {
        return Some(FactKind::Name);
    }
    if WELL.is_match(line.trim_end()) {
        return None;
    }
    if TROUBLE_NAMES.is_match(line) || has_word_of_trouble(line) {
        return Some(FactKind::Trouble);
    }
    if PLACES.is_match(line) {
        return Some(FactKind::Place);
    }
    COUNTS.is_match(line).then_some(FactKind::Count)
}

fn has_word_of_trouble(line: &str) -> bool {
    TROUBLE.find_iter(line).any(|found| {
        let (before, rest) = line.split_at(found.start());
        let after = rest.split_at(found.len()).1;
        let is_none = before.ends_with("0 ")
            && !before
                .trim_end_matches("0 ")
                .ends_with(|c: char| c.is_ascii_digit());
        let is_part = before.ends_with(|c: char| c.is_alphanumeric() || "_-/.$@".contains(c))
            || before.ends_with("::");
        let mut next = after.chars();
        let goes_on = match next.next() {
            Some(c) if c.is_alphanumeric() || "_-/=".contains(c) => true,
            Some('.') => next.next().is_some_and(char::is_alphanumeric),
            Some(':') => next.next() == Some(':'),
            _ => false,
        };
        !is_none && !is_part && !goes_on
    })
}

#[test]
fn the_rule_marks_what_a_grep_would_find() {
    for (line, kind) in [
        ("error[E0308]: mismatched types", Some(FactKind::Trouble)),
        ("src/error/mod.rs", None),
        (
            "cc -Werror -Wmissing-prototypes -c error.c -o error.o",
            None,
        ),
        ("test errors::are_told ... ok", None),
        ("checking for error.h... no", None),
        ("tests/test_a.py::test_error PASSED [ 12%]", None),
        ("0 errors, nothing to do", Some(FactKind::Count)),
        ("10 errors", Some(FactKind::Trouble)),
        ("E   ValueError: bad value", Some(FactKind::Trouble)),
        ("=== RUN   TestDiff/Reporter/PanicError", None),
        (
            "requests.exceptions.ConnectionError: refused",
            Some(FactKind::Trouble),
        ),
        ("  --> src/main.rs:12:5", Some(FactKind::Place)),
        ("npm notice 512B .env.production", Some(FactKind::Name)),
        ("remote: rotate this key", Some(FactKind::Name)),
        (
            "✔ Deployed to https://shop.example.com",
            Some(FactKind::Name),
        ),
        ("✔ Dropped table orders", None),
        ("[1/3] 0 of 48,112 rows", Some(FactKind::Name)),
        (
            "test result: ok. 60 passed; 0 failed",
            Some(FactKind::Count),
        ),
        (
            "Inst git [1:2.39.2] (1:2.39.5 Debian:12)",
            Some(FactKind::Name),
        ),
        ("   Compiling serde v1.0.0", None),
        ("[ 33%] Building C object CMakeFiles/a.dir/a.c.o", None),
        ("-rw------- 1 user user 3 id", Some(FactKind::Name)),
    ] {
        assert_eq!(fact_in(line), kind, "{line}");
    }
}
