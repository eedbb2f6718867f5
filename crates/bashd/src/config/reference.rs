//! The reference: the table of keys as a configuration file with every default and a comment each.

use super::keys::ConfigKey;
use super::table::KEYS;
use super::value::Value;
use crate::guard::RULES;
use std::fmt::Write as _;

/// The text above the first key.
const HEAD: &str = "\
# bashd's configuration: every key, with its default.
#
# To change some of them, write only those keys into `config.toml`, which is looked for in this order:
#
#   1. the file that `--config FILE` or BASHD_CONFIG names (it must exist),
#   2. $BASHD_HOME/config.toml,
#   3. $XDG_CONFIG_HOME/bashd/config.toml (~/.config/bashd/config.toml).
#
# A value may also be given by an environment variable (BASHD_ and the key in capitals, a dot
# becomes an underscore: BASHD_SPOOL_HEAD_BYTES, BASHD_BASH_AUTO_BACKGROUND_ENABLED; one that is
# empty counts as unset) and by `--set KEY=VALUE`. Flags win over variables, variables over the
# file, the file over this one. `bashd config show` prints every value with its origin.
#
# A size is a number of bytes or a text such as \"64MiB\" (B, KiB, MiB, GiB, TiB, kB, MB, GB, TB).
# A relative path in a file is relative to that file; `~/` is the home directory.
#
# Rules of your own are written as [[rules]] tables in config.toml; docs/guard.md shows how.
# The compiled-in ones, for `guard.enable` and `guard.disable`:
";

/// The width of comments.
const WIDTH: usize = 100;

/// Every key with its meaning and its default, as a file that changes nothing.
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    for rule in RULES {
        let _ = writeln!(page, "#   {}: {}", rule.name, rule.denies);
    }
    let mut group = "";
    for key in KEYS {
        page.push('\n');
        let (own_group, leaf) = key.name.rsplit_once('.').unwrap_or(("", key.name));
        if own_group != group {
            group = own_group;
            let _ = writeln!(page, "[{group}]");
        }
        comment(&mut page, key);
        if let Ok(value) = Value::from_text(key.kind, key.default) {
            let _ = writeln!(page, "{leaf} = {value}");
        }
    }
    page
}

fn comment(page: &mut String, key: &ConfigKey) {
    let mut letters = key.meaning.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let sentence: String = first.chain(letters).chain(['.']).collect();
    let mut line = "#".to_owned();
    for word in sentence.split(' ') {
        if line.len() + 1 + word.len() > WIDTH {
            let _ = writeln!(page, "{line}");
            line.truncate(1);
        }
        let _ = write!(line, " {word}");
    }
    let _ = writeln!(page, "{line}");
}
