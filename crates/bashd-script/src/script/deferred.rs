//! Expansions that the scan meets before anything is known of variables: kept as they are written,
//! and worked out later where constants allow it.

use super::name_hash::NameSet;
use super::view::SimpleCommand;
use super::word::{ScriptText, Word, WordPart};
use super::word_reader::Quoting;
use std::sync::LazyLock;

/// Most bytes of an expansion that is kept: longer ones do not disguise a word.
pub(super) const MOST_BYTES: usize = 4096;

/// Programs whose output may be worked out (`printed.rs`).
const PRINTING: [&str; 39] = [
    "eval", "echo", "printf", "base64", "base32", "rev", "tr", "xxd", "cat", "sed", "cut", "head",
    "tail", "tac", "openssl", "awk", "tee", "dirname", "basename", "realpath", "readlink", "pwd",
    "cd", "true", ":", "python3", "perl", "whoami", "ls", "find", "grep", "dd", "python", "ruby",
    "php", "node", "bun", "deno", "jq",
];

/// Whether the output of a program of this name may be worked out.
pub(super) fn prints(name: &str) -> bool {
    static NAMES: LazyLock<NameSet> = LazyLock::new(|| PRINTING.into_iter().collect());
    NAMES.contains(name)
}

/// `${…}`, `$((…))`: what follows the dollar, without the braces.
pub(super) fn expansion(raw: &str, quoted: bool) -> WordPart {
    if raw.len() > MOST_BYTES {
        return WordPart::Unknown { quoted };
    }
    WordPart::Variable {
        name: raw.into(),
        quoted,
        fallback: None,
    }
}

/// A substitution with its parentheses, and the commands in it.
pub(super) fn substitution(
    sign: u8,
    script: &str,
    commands: &[SimpleCommand],
    (functions, quoting): ([&[String]; 2], Quoting),
) -> WordPart {
    let quoted = quoting.is_quoted();
    if sign == b'$'
        && let Some(part) = plain_output(commands, quoting)
    {
        return part;
    }
    let may_print = |command: &SimpleCommand| {
        command.name().is_none_or(|name| {
            prints(name)
                || functions
                    .iter()
                    .any(|names| names.iter().any(|function| function == name))
        })
    };
    if script.len() > MOST_BYTES || sign != b'>' && !commands.iter().all(may_print) {
        return WordPart::Unknown { quoted };
    }
    let name = match sign {
        b'<' => format!("<{script}"),
        b'>' => format!(">{script}"),
        _ => script.to_owned(),
    };
    WordPart::Variable {
        name: name.into(),
        quoted,
        fallback: None,
    }
}

/// Whether this name of a variable is an expansion that waits to be worked out.
pub(super) fn is_deferred(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_special = matches!(name, "@" | "*" | "#" | "?" | "-" | "$" | "!");
    !is_special && !name.bytes().all(is_plain)
}

fn variable(name: &'static str, quoting: Quoting) -> WordPart {
    WordPart::Variable {
        name: ScriptText::const_new(name),
        quoted: quoting.is_quoted(),
        fallback: None,
    }
}

fn plain_name(word: &Word) -> Option<WordPart> {
    let name = word.known()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    let is_name = !name.is_empty() && name.chars().all(is_plain) && !name.starts_with('-');
    is_name.then(|| WordPart::Text(name.into()))
}

/// The output of a substitution, if its one command makes it plain: an `echo` of one word, `pwd`,
/// or where the repository begins.
pub(super) fn plain_output(commands: &[SimpleCommand], quoting: Quoting) -> Option<WordPart> {
    let [command] = commands else { return None };
    if !command.redirects.is_empty() {
        return None;
    }
    match (command.name()?, command.arguments()) {
        ("echo", [word]) => {
            let text = word.known()?;
            // Anything else may be what `IFS` splits at.
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "./-".contains(c);
            let is_one_word = text.chars().all(is_plain) && !text.starts_with('-');
            is_one_word.then(|| WordPart::Text(text.into()))
        }
        // Where a program is does not matter: it is called by its name.
        ("which", [word]) => plain_name(word),
        ("command", [option, word]) if option.is("-v") => plain_name(word),
        ("type", [option, word]) if option.is("-p") || option.is("-P") => plain_name(word),
        ("pwd", []) => Some(variable("PWD", quoting)),
        ("git", [verb, option])
            if verb.is("rev-parse")
                && matches!(
                    option.known(),
                    Some("--git-dir" | "--absolute-git-dir" | "--git-common-dir")
                ) =>
        {
            Some(WordPart::Text(".git".into()))
        }
        ("git", [verb, option]) if verb.is("rev-parse") && option.is("--show-toplevel") => {
            Some(variable("GIT_WORK_TREE", quoting))
        }
        _ => None,
    }
}
