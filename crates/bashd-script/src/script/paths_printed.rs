//! What `dirname`, `basename`, `realpath` and `readlink -f` print, of paths without symbolic links.

use super::inner_scripts::printed_text;
use super::word::Word;

/// The letters and long options without a value that each of them knows.
const OPTIONS: [(&str, &str, &[&str]); 4] = [
    ("dirname", "z", &["zero"]),
    ("basename", "az", &["multiple", "zero"]),
    (
        "realpath",
        "eEmLPqsz",
        &[
            "canonicalize-existing",
            "canonicalize-missing",
            "logical",
            "physical",
            "quiet",
            "strip",
            "no-symlinks",
            "zero",
        ],
    ),
    (
        "readlink",
        "femnqsvz",
        &[
            "canonicalize",
            "canonicalize-existing",
            "canonicalize-missing",
            "no-newline",
            "quiet",
            "silent",
            "verbose",
            "zero",
        ],
    ),
];

/// Long options that need a value, or print something else.
const OTHERS: [&str; 5] = ["suffix", "relative-to", "relative-base", "help", "version"];

/// What the program prints. Of an option that it does not know it prints nothing.
pub(super) fn printed(name: &str, words: &[Word]) -> Option<String> {
    let (_, letters, long) = OPTIONS.iter().find(|(own, ..)| *own == name)?;
    let mut paths = Vec::new();
    let mut are_all = false;
    let mut words = words.iter();
    for word in words.by_ref() {
        let beginning = word.known_beginning();
        if word.is("--") {
            break;
        }
        if !beginning.starts_with('-') || word.is("-") {
            paths.push(word);
            continue;
        }
        let option = word.known()?;
        if let Some(option) = option.strip_prefix("--") {
            let option = option.split('=').next()?;
            if OTHERS.iter().any(|other| other.starts_with(option)) {
                return None;
            }
            if !long.iter().any(|own| own.starts_with(option)) {
                return Some(String::new());
            }
            are_all |= "multiple".starts_with(option);
        } else {
            let option = option.get(1..)?;
            if name == "basename" && option.contains('s') {
                return None;
            }
            if !option.chars().all(|letter| letters.contains(letter)) {
                return Some(String::new());
            }
            are_all |= name == "basename" && option.contains('a');
        }
    }
    paths.extend(words);
    let paths: Vec<String> = paths.into_iter().map(printed_text).collect();
    let line = |path: &String| of_path(name, path) + "\n";
    match (name, paths.as_slice()) {
        (_, []) => Some(String::new()),
        ("basename", [path, suffix]) if !are_all => {
            let last = of_path(name, path);
            let stem = last.strip_suffix(suffix.as_str());
            let stem = stem.filter(|stem| !stem.is_empty()).unwrap_or(&last);
            Some(format!("{stem}\n"))
        }
        (_, paths) => Some(paths.iter().map(line).collect()),
    }
}

fn of_path(name: &str, path: &str) -> String {
    let trimmed = path.trim_end_matches('/');
    let (before, last) = match trimmed.rsplit_once('/') {
        Some((before, last)) => (before.trim_end_matches('/'), last),
        None => (".", trimmed),
    };
    let text = match name {
        "dirname" | "basename" if trimmed.is_empty() && !path.is_empty() => "/",
        "dirname" if before.is_empty() => "/",
        "dirname" => before,
        "basename" => last,
        _ => path,
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Span;

    #[test]
    fn they_print_what_the_programs_print() {
        for (command, expected) in [
            ("dirname /x", "/\n"),
            ("dirname /etc//x/", "/etc\n"),
            ("dirname x", ".\n"),
            ("dirname /", "/\n"),
            ("dirname a/b c/d", "a\nc\n"),
            ("dirname -rf/x", ""),
            ("dirname --all/x", ""),
            ("dirname -- -rf/x", "-rf\n"),
            ("dirname -z /x", "/\n"),
            ("basename /a/rm", "rm\n"),
            ("basename a/rm.sh .sh", "rm\n"),
            ("basename -a a/rm b/c", "rm\nc\n"),
            ("basename /", "/\n"),
            ("realpath -m /etc", "/etc\n"),
            ("readlink -f /etc", "/etc\n"),
            ("readlink -rf /etc", ""),
        ] {
            let mut words = command.split(' ');
            let name = words.next().unwrap_or_default();
            let words: Vec<Word> = words.map(|word| Word::of(word, Span::default())).collect();
            assert_eq!(
                printed(name, &words).as_deref(),
                Some(expected),
                "{command}"
            );
        }
        let suffix = [
            Word::of("-s", Span::default()),
            Word::of(".sh", Span::default()),
        ];
        assert_eq!(printed("basename", &suffix), None);
    }
}
