//! Rules about programs with many subcommands, as tables: one row for one thing that offends.

use super::user_rule::Decision;
use crate::script::Word;

/// One thing that offends.
#[derive(Debug)]
pub(super) struct ToolRow {
    /// The programs, any of which is meant. Each has at least two letters.
    pub(super) programs: &'static [&'static str],
    /// Words that are not options, in this order, perhaps with others between them: `volume prune`.
    /// A star at an end of a word is anything there; `a|b` is one of both.
    pub(super) words: &'static str,
    /// Options, one of which must be there. Empty: none need be.
    pub(super) with: &'static [&'static str],
    /// Words with which it does not offend.
    pub(super) without: &'static [&'static str],
    /// What happens to it.
    pub(super) decision: Decision,
}

/// A row that asks.
pub(super) const fn asks(programs: &'static [&'static str], words: &'static str) -> ToolRow {
    ToolRow {
        programs,
        words,
        with: &[],
        without: &[],
        decision: Decision::Ask,
    }
}

impl ToolRow {
    /// This row, if one of these options is there.
    pub(super) const fn with(self, with: &'static [&'static str]) -> Self {
        Self { with, ..self }
    }

    /// This row, unless one of these words is there.
    pub(super) const fn without(self, without: &'static [&'static str]) -> Self {
        Self { without, ..self }
    }

    /// This row, which denies.
    pub(super) const fn denies(self) -> Self {
        Self {
            decision: Decision::Deny,
            ..self
        }
    }

    fn offends(&self, words: &[Word]) -> bool {
        self.has_words(words)
            && (self.with.is_empty() || words.iter().any(|word| is_one_of(word, self.with)))
            && !words.iter().any(|word| is_one_of(word, self.without))
    }

    /// Whether no option can be one of its words.
    fn needs_operands(&self) -> bool {
        let words = self.words.as_bytes();
        !words.is_empty() && !words.contains(&b'-') && !words.contains(&b'*')
    }

    fn has_words(&self, words: &[Word]) -> bool {
        let mut given = words.iter().filter_map(Word::known);
        let mut wanted = self.words.split(' ').filter(|word| !word.is_empty());
        wanted.all(|wanted| given.any(|given| wanted.split('|').any(|one| is_word(given, one))))
    }
}

/// With these nothing happens.
const ONLY_SHOWS: &[&str] = &[
    "--help",
    "--dry-run",
    "--dryrun",
    "--dry-run=client",
    "--dry-run=server",
    "--what-if",
    "--whatif",
    "--simulate",
    "-help",
    "help",
];

/// What the rows about a program have against a call of it.
pub(super) fn judge<'a>(rows: impl Iterator<Item = &'a ToolRow>, words: &[Word]) -> Decision {
    // A call with options alone, as of an interpreter that reads its code, has no row's words.
    let is_operand = |word: &Word| word.known().is_some_and(|text| !text.starts_with('-'));
    let has_operands = words.iter().any(is_operand);
    let may_offend = |row: &&ToolRow| has_operands || !row.needs_operands();
    let mut offending = rows.filter(may_offend).filter(|row| row.offends(words));
    let Some(first) = offending.next() else {
        return Decision::Allow;
    };
    if words.iter().any(|word| is_one_of(word, ONLY_SHOWS)) {
        return Decision::Allow;
    }
    let others = offending.map(|row| row.decision).max();
    first.decision.max(others.unwrap_or(Decision::Allow))
}

fn is_one_of(word: &Word, known: &[&str]) -> bool {
    let text = word.known_beginning();
    known.iter().any(|known| {
        if let Some(beginning) = known.strip_suffix('*') {
            text.starts_with(beginning)
        } else {
            let is_cluster = known.len() == 2 && known.starts_with('-') && *known != "--";
            text == *known
                || is_cluster
                    && super::options::has_short(word, known.get(1..).unwrap_or_default(), "")
                || known.starts_with("--")
                    && text
                        .strip_prefix(known)
                        .is_some_and(|rest| rest.starts_with('=') && !rest.ends_with("=false"))
        }
    })
}

fn is_word(given: &str, wanted: &str) -> bool {
    match (wanted.strip_suffix('*'), wanted.strip_prefix('*')) {
        (Some(beginning), _) => given.starts_with(beginning),
        (None, Some(end)) => given.ends_with(end),
        (None, None) => given.eq_ignore_ascii_case(wanted),
    }
}
