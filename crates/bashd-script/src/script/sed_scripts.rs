//! What GNU sed runs in a shell: its command `e`, and `s` with the flag of that name.

use super::word::Word;

/// The scripts that a call of sed with these arguments runs, where they are literals or in what it
/// reads.
pub(super) fn executed(arguments: &[Word], input: Option<&str>) -> Vec<String> {
    let mut given = Vec::new();
    let mut first = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.known() else { continue };
        let attached = text
            .strip_prefix("--expression=")
            .or_else(|| text.strip_prefix("-e").filter(|value| !value.is_empty()));
        match attached {
            Some(script) => given.push(script),
            // `-ne`, `-Ee`: the script is the next word.
            None if is_expression(text) => given.extend(words.next().and_then(Word::known)),
            None if text.starts_with('-') => {}
            None => first = first.or(Some(text)),
        }
    }
    if given.is_empty() {
        given.extend(first);
    }
    let mut found = Vec::new();
    for line in given.into_iter().flat_map(str::lines) {
        read_line(line, &mut found);
    }
    // `s/x/&/e`, `e`: a line that is read, or a part of it.
    let is_line = |script: &String| script.is_empty() || script.contains('&');
    if found.iter().any(is_line) {
        found.extend(input.map(str::to_owned));
    }
    found.retain(|script| !script.is_empty());
    found
}

fn is_expression(text: &str) -> bool {
    let is_cluster = text.starts_with('-') && !text.starts_with("--");
    text == "--expression" || is_cluster && text.ends_with('e')
}

/// Reads the commands of a line.
fn read_line(line: &str, found: &mut Vec<String>) {
    let mut rest = line;
    loop {
        rest = without_address(rest);
        let mut characters = rest.chars();
        let Some(command) = characters.next() else {
            return;
        };
        rest = characters.as_str();
        match command {
            'e' => {
                let script = rest.trim();
                found.push(script.to_owned());
                return;
            }
            's' => {
                let Some((by, flags, after)) = substitution(rest) else {
                    return;
                };
                if flags.contains('e') {
                    found.push(by);
                }
                rest = after;
            }
            'y' => match substitution(rest) {
                Some((_, _, after)) => rest = after,
                None => return,
            },
            // Texts, files and labels take the rest of the line.
            'a' | 'i' | 'c' | 'r' | 'w' | 'R' | 'W' => return,
            'b' | 't' | 'T' | ':' => match rest.split_once(';') {
                Some((_, after)) => rest = after,
                None => return,
            },
            _ => {}
        }
    }
}

/// What follows the address at the start of a text, blanks and semicolons.
fn without_address(text: &str) -> &str {
    let is_between = |c: char| c.is_whitespace() || c.is_ascii_digit() || ";{},$!~+I".contains(c);
    let mut rest = text.trim_start_matches(is_between);
    while let Some(pattern) = rest.strip_prefix('/') {
        let Some((_, after)) = field(pattern, '/') else {
            return "";
        };
        rest = after.trim_start_matches(is_between);
    }
    rest
}

/// The replacement and the flags of `s`, and what follows them.
fn substitution(text: &str) -> Option<(String, &str, &str)> {
    let between = text.chars().next().filter(|c| !c.is_alphanumeric())?;
    let (_, rest) = field(text.get(between.len_utf8()..)?, between)?;
    let (by, rest) = field(rest, between)?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
    let (flags, rest) = rest.split_at(end.unwrap_or(rest.len()));
    Some((by, flags, rest))
}

/// The text up to a separator that no backslash stands before, and what follows it.
fn field(text: &str, between: char) -> Option<(String, &str)> {
    let mut own = String::new();
    let mut is_escaped = false;
    for (index, character) in text.char_indices() {
        match character {
            character if is_escaped => {
                if character != between {
                    own.push('\\');
                }
                own.push(character);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            character if character == between => {
                return Some((own, text.get(index + between.len_utf8()..)?));
            }
            character => own.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Span;

    fn of(words: &[&str]) -> Vec<String> {
        let words: Vec<Word> = words
            .iter()
            .map(|word| Word::of(*word, Span::default()))
            .collect();
        executed(&words, None)
    }

    #[test]
    fn what_sed_runs_is_found_in_its_script() {
        for words in [
            &["1e rm x", "f"][..],
            &["s/.*/rm x/e", "f"],
            &["s#a#rm x#ge"],
            &["-n", "$!d;e rm x", "f"],
            &["-e", "p", "-ne", "/a\\/b/ e rm x"],
            &["s/a/b/;s/c/rm x/e"],
            &["--expression=/a/{s/b/rm x/e}", "f"],
        ] {
            assert_eq!(of(words), ["rm x"], "{words:?}");
        }
        assert_eq!(of(&["s/a/rm -rf \\//e"]), ["rm -rf /"]);
    }

    #[test]
    fn what_only_looks_like_it_is_not() {
        for words in [
            &["s/the/e/", "f"][..],
            &["a\\e rm x"],
            &["s/a/rm x/", "e"],
            &["-n", "1,5p", "e rm"],
            &["y/e/rm/"],
            &["/e rm/d"],
            &["w e rm"],
        ] {
            assert_eq!(of(words), Vec::<String>::new(), "{words:?}");
        }
    }
}
