//! A configuration key: what is known of it, and how it is found by its name or a misspelling.
//!
//! The keys themselves are the rows of [`KEYS`].

use super::env_vars;
use super::table::KEYS;

/// A configuration key.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigKey {
    /// Its dotted name.
    pub name: &'static str,
    /// What its value must be.
    pub kind: ValueKind,
    /// Its default, written as in a variable; empty means not set.
    pub default: &'static str,
    /// What it does, in a line without capital and period; `docs/NAME.md` names a page that says
    /// more.
    pub meaning: &'static str,
}

impl ConfigKey {
    /// The environment variable that overrides it.
    pub fn variable(&self) -> String {
        env_vars::for_key(self.name)
    }
}

/// What the value of a key must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// True or false.
    Switch,
    /// A whole number in this range, both ends included.
    Number {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// A number of bytes in this range, both ends included; may be written as `"64MiB"`.
    Size {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// Any text.
    Text,
    /// A path; empty means not set.
    Path,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of texts.
    List,
    /// A list of tables, each a rule of the interceptor.
    Rules,
    /// True or false, or the word `profile`: as the profile says.
    ProfileOrSwitch,
    /// A number of bytes up to this, or the word `profile`: as the profile says.
    ProfileOrSize {
        /// The greatest.
        max: u64,
    },
}

impl ValueKind {
    /// Whether the word `profile` is a value.
    pub(super) fn leaves_it_to_profiles(self) -> bool {
        matches!(self, Self::ProfileOrSwitch | Self::ProfileOrSize { .. })
    }
}

/// Keys that a document spells in humps; both spellings are the key.
const OTHER_SPELLINGS: [&str; 11] = [
    "async.pollWaitDuration",
    "bash.virtualTerminal",
    "bash.autoBackground.enabled",
    "bash.autoBackground.thresholdMs",
    "bashInterceptor.enabled",
    "bashInterceptor.patterns",
    "shellMinimizer.enabled",
    "shellMinimizer.settingsPath",
    "shellMinimizer.only",
    "shellMinimizer.except",
    "shellMinimizer.maxCaptureBytes",
];

/// Finds a key by its exact name, or by the spelling of its document.
pub fn find(name: &str) -> Option<&'static ConfigKey> {
    let by_name = |name: &str| KEYS.iter().find(|key| key.name == name);
    by_name(name).or_else(|| {
        let is_known = OTHER_SPELLINGS.contains(&name);
        is_known.then(|| by_name(&without_humps(name))).flatten()
    })
}

/// `bash.autoBackground` as `bash.auto_background`.
fn without_humps(name: &str) -> String {
    let mut plain = String::with_capacity(name.len() + 2);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            plain.push('_');
        }
        plain.push(character.to_ascii_lowercase());
    }
    plain
}

/// Finds a key by its variable.
pub(super) fn of_variable(variable: &str) -> Option<&'static ConfigKey> {
    KEYS.iter()
        .find(|key| env_vars::is_for_key(variable, key.name))
}

/// Whether keys live below this name (`bash` for `bash.virtual_terminal`).
pub(super) fn is_group(name: &str) -> bool {
    let names = KEYS.iter().map(|key| key.name);
    names.chain(OTHER_SPELLINGS).any(|key| {
        key.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

/// The known name that an unknown one was probably meant to be.
///
/// A key of another group with the same last part counts as near; otherwise the spelling must be
/// close.
pub fn nearest(unknown: &str) -> Option<&'static str> {
    /// Below this likeness a suggestion would puzzle more than it helps.
    const ALIKE: f64 = 0.7;
    let folded = fold(unknown);
    let same_leaf = || {
        let mut keys = KEYS
            .iter()
            .filter(|key| fold(leaf(key.name)) == fold(leaf(unknown)));
        keys.next()
            .filter(|_| keys.next().is_none())
            .map(|key| key.name)
    };
    KEYS.iter()
        .map(|key| {
            (
                strsim::normalized_damerau_levenshtein(&folded, &fold(key.name)),
                key.name,
            )
        })
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
        .or_else(same_leaf)
}

/// Case and underscores are what people get wrong first, so they don't count.
fn fold(name: &str) -> String {
    name.chars()
        .filter(|character| *character != '_')
        .flat_map(char::to_lowercase)
        .collect()
}

fn leaf(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, leaf)| leaf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_their_key() {
        for (slip, meant) in [
            ("ledger.enable", Some("ledger.enabled")),
            ("spool.headBytes", Some("spool.head_bytes")),
            ("ring_bytes", Some("spool.ring_bytes")),
            (
                "bash.autobackground.enabled",
                Some("bash.auto_background.enabled"),
            ),
            ("shel", Some("shell")),
            ("enabled", None),
            ("colour", None),
        ] {
            assert_eq!(nearest(slip), meant, "for {slip}");
        }
    }

    #[test]
    fn keys_have_small_letters_and_the_documents_spellings_find_them() {
        for key in KEYS {
            assert_eq!(key.name, key.name.to_lowercase());
        }
        for spelling in OTHER_SPELLINGS {
            let key = find(spelling).unwrap();
            assert_eq!(fold(key.name), fold(spelling));
        }
        assert!(find("spool.headBytes").is_none(), "only theirs");
    }

    #[test]
    fn groups_are_whole_parts_of_names() {
        assert!(is_group("bash") && is_group("bash.autoBackground") && is_group("spool"));
        assert!(!is_group("bas") && !is_group("shell") && !is_group("ledger.enabled"));
    }
}
