//! Every environment variable that has a meaning for bashd, each a constant, except those of keys.
//!
//! The library reads none of them: a front end does, and hands over what it found. The variable
//! of a configuration key follows from the key by [`for_key`].

/// Directory that replaces the XDG directories: `config.toml`, `profiles` and `state` live in it.
pub const HOME: &str = "BASHD_HOME";
/// The configuration file to read instead of the one in the configuration directory.
pub const CONFIG: &str = "BASHD_CONFIG";
/// Set by bashd for the commands of some profiles: the id of the run they belong to.
pub const RUN: &str = bashd_keeper::variables::RUN_VARIABLE;

/// The tape that a server records, set by `bashd tape record` for what its client starts.
pub const TAPE_RECORD: &str = "BASHD_TAPE_RECORD";
/// The tape that a server plays, set by `bashd tape play`.
pub const TAPE_PLAY: &str = "BASHD_TAPE_PLAY";
/// Set if a played tape is looked through for what fits, in any order.
pub const TAPE_MATCH: &str = "BASHD_TAPE_MATCH";
/// The directory in which servers of one client take numbers.
pub const TAPE_DESK: &str = "BASHD_TAPE_DESK";

/// Variables that say what a server does with a tape: commands do not get them.
pub const TAPES: [&str; 4] = [TAPE_RECORD, TAPE_PLAY, TAPE_MATCH, TAPE_DESK];

/// What this project's own tests set begins with this; it configures nothing.
pub const TESTS: &str = "BASHD_TEST_";

/// Variables that begin with [`PREFIX`] and are not configuration keys.
pub const NOT_KEYS: &[&str] = &[
    HOME,
    CONFIG,
    RUN,
    TAPE_RECORD,
    TAPE_PLAY,
    TAPE_MATCH,
    TAPE_DESK,
];

/// What every variable of ours begins with.
pub const PREFIX: &str = "BASHD_";

/// The variable of a key: capitals after `BASHD_`, where a dot or a hump becomes an underscore.
pub fn for_key(key: &str) -> String {
    PREFIX.chars().chain(letters(key)).collect()
}

/// Whether a variable is that of a key.
pub(super) fn is_for_key(variable: &str, key: &str) -> bool {
    let own = variable.strip_prefix(PREFIX);
    own.is_some_and(|own| letters(key).eq(own.chars()))
}

fn letters(key: &str) -> impl Iterator<Item = char> {
    let before = std::iter::once('.').chain(key.chars());
    key.chars().zip(before).flat_map(|(letter, before)| {
        let ends_word = before.is_ascii_lowercase() || before.is_ascii_digit();
        let is_hump = letter.is_ascii_uppercase() && ends_word;
        let letter = match letter {
            '.' => '_',
            letter => letter.to_ascii_uppercase(),
        };
        is_hump.then_some('_').into_iter().chain([letter])
    })
}

#[cfg(test)]
mod tests {
    use super::super::KEYS;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_has_the_variable_that_the_rule_gives() {
        for key in KEYS {
            assert!(is_for_key(&key.variable(), key.name), "of {}", key.name);
        }
        assert_eq!(
            for_key("bash.auto_background.threshold_ms"),
            "BASHD_BASH_AUTO_BACKGROUND_THRESHOLD_MS"
        );
        assert_eq!(for_key("spool.max_age_days"), "BASHD_SPOOL_MAX_AGE_DAYS");
        assert!(!is_for_key("BASHD_SHELL_", "shell") && !is_for_key("SHELL", "shell"));
    }

    #[test]
    fn no_variable_means_two_things() {
        let variables: BTreeSet<String> = KEYS
            .iter()
            .map(super::super::ConfigKey::variable)
            .chain(NOT_KEYS.iter().map(ToString::to_string))
            .collect();
        assert_eq!(variables.len(), KEYS.len() + NOT_KEYS.len());
    }
}
