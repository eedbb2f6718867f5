//! From the words after `bashd run` to one script.
//!
//! One word is a script. Several are a program and its arguments, each of which the shell gets as
//! it is.

use crate::failure::{Failure, FailureKind};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

/// What means something to a shell where a command begins.
const RESERVED: [&str; 24] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "foreach", "function", "if", "in", "repeat", "select", "then", "time", "until", "while", "{",
    "}",
];

/// The script that these words are.
pub(crate) fn script(words: &[OsString]) -> Result<String, Failure> {
    match words {
        [] => Err(
            Failure::new(FailureKind::Usage, "there is no command to run")
                .hint("bashd run 'echo hello'"),
        ),
        [script] => script.to_str().map(str::to_owned).ok_or_else(|| {
            Failure::new(FailureKind::Usage, "the command is not UTF-8")
                .hint("give a program and its arguments as words of their own: they may be")
        }),
        [program, arguments @ ..] => {
            let mut script = String::new();
            word(&mut script, program, is_plain_program);
            for argument in arguments {
                script.push(' ');
                word(&mut script, argument, is_plain);
            }
            Ok(script)
        }
    }
}

/// Options behind the command are its own. Where that was hardly meant, this says so.
pub(super) fn misplaced_option(words: &[OsString]) -> Option<String> {
    let (first, rest) = words.split_first()?;
    let first = first.to_str().filter(|first| first.contains(' '))?;
    let option = rest.iter().find(|word| word.as_bytes().starts_with(b"-"))?;
    let (option, mut script) = (option.to_string_lossy(), String::new());
    word(&mut script, OsStr::new(first), |_| false);
    Some(format!(
        "several words are a program and its arguments, so {script} is a program's name here; \
         options of bashd come before the command: bashd run {option} … {script}"
    ))
}

/// Adds one word, quoted if it needs that.
fn word(script: &mut String, word: &OsStr, is_plain: fn(&str) -> bool) {
    let Some(text) = word.to_str() else {
        return bytes(script, word.as_bytes());
    };
    if is_plain(text) {
        script.push_str(text);
        return;
    }
    script.push('\'');
    script.push_str(&text.replace('\'', r"'\''"));
    script.push('\'');
}

/// A word that is no text: bash and zsh know such bytes by their numbers.
fn bytes(script: &mut String, bytes: &[u8]) {
    script.push_str("$'");
    for byte in bytes {
        // A string takes any text.
        let _ = match byte {
            b'\'' | b'\\' => write!(script, "\\{}", char::from(*byte)),
            b' '..=b'~' => write!(script, "{}", char::from(*byte)),
            _ => write!(script, "\\x{byte:02x}"),
        };
    }
    script.push('\'');
}

fn is_plain(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    !word.is_empty() && !word.starts_with('=') && word.bytes().all(is_plain)
}

fn is_plain_program(word: &str) -> bool {
    is_plain(word) && !word.contains('=') && !RESERVED.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn one_word_is_a_script_and_several_are_quoted_where_they_need_it() {
        for (given, expected) in [
            (&["a | b"][..], "a | b"),
            (&["ls", "-la"], "ls -la"),
            (&["git", "--version"], "git --version"),
            (&["echo", "it's", "me"], r"echo 'it'\''s' me"),
            (&["echo", ""], "echo ''"),
            (&["echo", "$HOME", "a b", "*"], "echo '$HOME' 'a b' '*'"),
            (&["echo", "a\nb", ">x", "~"], "echo 'a\nb' '>x' '~'"),
            (&["A=1", "b=2"], "'A=1' b=2"),
            (&["if", "if"], "'if' if"),
            (&["a b", "c"], "'a b' c"),
            (&["echo", "=ls", "a=b"], "echo '=ls' a=b"),
        ] {
            assert_eq!(script(&words(given)).unwrap(), expected);
        }
        assert!(script(&[]).is_err());
    }

    #[test]
    fn words_that_are_no_text_are_exact_and_scripts_are_text() {
        let odd = OsString::from_vec(b"a'\\\xff\n".to_vec());
        let given = [OsString::from("cat"), odd.clone()];
        assert_eq!(script(&given).unwrap(), r"cat $'a\'\\\xff\x0a'");
        assert!(script(&[odd]).is_err());
    }

    #[test]
    fn an_option_behind_a_script_is_said_to_be_misplaced() {
        let said = misplaced_option(&words(&["echo hi", "--timeout", "3"])).unwrap();
        assert!(said.contains("bashd run --timeout … 'echo hi'"), "{said}");
        for fine in [&["ls", "-la"][..], &["a b"], &["a b", "c"]] {
            assert_eq!(misplaced_option(&words(fine)), None, "{fine:?}");
        }
    }
}
