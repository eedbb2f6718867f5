//! Programs that turn a text into another, worked out: `base64 -d`, `rev`, `tr`, `xxd -r`,
//! `sed s/a/b/`.

use super::word::Word;

/// The programs that are known here.
pub(super) const NAMES: [&str; 12] = [
    "base64", "base32", "rev", "tr", "xxd", "sed", "cut", "head", "tail", "tac", "openssl", "grep",
];

/// What a program makes of its input.
pub(super) fn decoded(name: &str, words: &[Word], input: &str) -> Option<String> {
    let options: Vec<&str> = words.iter().map(Word::known).collect::<Option<_>>()?;
    match name {
        "base64" => {
            let decodes = ["-d", "-D", "--decode", "-di", "-id", "--d"];
            options
                .iter()
                .any(|option| decodes.contains(option))
                .then_some(())?;
            from_base64(input)
        }
        "openssl" => {
            let decodes = options.contains(&"-d");
            let is_base64 = options
                .iter()
                .any(|option| matches!(*option, "base64" | "-base64" | "-a"));
            (decodes && is_base64).then_some(())?;
            from_base64(input)
        }
        "base32" => {
            options
                .iter()
                .any(|option| matches!(*option, "-d" | "--decode"))
                .then_some(())?;
            text(bits(input, 5, base32_digit)?)
        }
        "xxd" => {
            let reverses = options
                .iter()
                .any(|option| option.starts_with('-') && option.contains('r'));
            let is_plain = options
                .iter()
                .any(|option| option.starts_with('-') && option.contains('p'));
            (reverses && is_plain).then_some(())?;
            from_hex(input)
        }
        "rev" => Some(by_lines(input, |line| line.chars().rev().collect())),
        "tac" => {
            let mut lines: Vec<&str> = input.lines().collect();
            lines.reverse();
            Some(lines.join("\n") + "\n")
        }
        "tr" => translated(&options, input),
        "sed" => edited(&options, input),
        "cut" => cut(&options, input),
        "grep" => selected(&options, input),
        "head" | "tail" => ends(name, &options, input),
        _ => None,
    }
}

/// A text that was written as base64.
pub(super) fn from_base64(input: &str) -> Option<String> {
    text(bits(input, 6, base64_digit)?)
}

/// A text that was written as hexadecimal digits.
pub(super) fn from_hex(input: &str) -> Option<String> {
    text(bits(input, 4, |digit| char::from(digit).to_digit(16))?)
}

fn text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok()
}

/// Digits of so many bits each, as bytes; blanks and padding are passed over.
fn bits(input: &str, width: u32, digit: fn(u8) -> Option<u32>) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(input.len());
    let (mut buffer, mut count) = (0_u32, 0);
    for byte in input.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        if byte == b'=' {
            continue;
        }
        buffer = buffer << width | digit(byte)?;
        count += width;
        if count >= 8 {
            count -= 8;
            bytes.push((buffer >> count) as u8);
            buffer &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

fn base64_digit(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
}

fn base32_digit(byte: u8) -> Option<u32> {
    Some(u32::from(match byte.to_ascii_uppercase() {
        byte @ b'A'..=b'Z' => byte - b'A',
        byte @ b'2'..=b'7' => byte - b'2' + 26,
        _ => return None,
    }))
}

fn by_lines(input: &str, change: impl Fn(&str) -> String) -> String {
    let lines = input
        .split_inclusive('\n')
        .map(|line| match line.strip_suffix('\n') {
            Some(line) => change(line) + "\n",
            None => change(line),
        });
    lines.collect()
}

/// `tr SET SET`, `tr -d SET`
fn translated(options: &[&str], input: &str) -> Option<String> {
    let sets: Vec<Vec<char>> = options
        .iter()
        .filter(|option| !option.starts_with('-') || option.len() == 1)
        .map(|option| set(option))
        .collect::<Option<_>>()?;
    let flags: String = options
        .iter()
        .filter(|option| option.starts_with('-'))
        .copied()
        .collect();
    if flags.contains(['c', 'C', 't']) {
        return None;
    }
    match (sets.as_slice(), flags.contains('d')) {
        ([removed], true) => Some(input.chars().filter(|c| !removed.contains(c)).collect()),
        ([_], false) if flags.contains('s') => Some(input.to_owned()),
        ([from, to], false) => {
            let last = to.last().copied()?;
            let change = |c: char| match from.iter().rposition(|own| *own == c) {
                Some(at) => to.get(at).copied().unwrap_or(last),
                None => c,
            };
            Some(input.chars().map(change).collect())
        }
        _ => None,
    }
}

/// The characters of a set, ranges and classes written out.
fn set(text: &str) -> Option<Vec<char>> {
    let text = super::escapes::unescaped(text);
    let text = text.replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z");
    let text = text
        .replace("[:digit:]", "0-9")
        .replace("[:space:]", " \t\n");
    let characters: Vec<char> = text.chars().collect();
    let mut set = Vec::new();
    let mut rest = characters.as_slice();
    loop {
        match rest {
            [] => return (set.len() <= 1024).then_some(set),
            [first, '-', last, after @ ..] if first <= last => {
                set.extend((*first..=*last).take(1024));
                rest = after;
            }
            [one, after @ ..] => {
                set.push(*one);
                rest = after;
            }
        }
    }
}

/// `sed s/a/b/g`, with a plain text as pattern.
fn edited(options: &[&str], input: &str) -> Option<String> {
    let scripts = options
        .iter()
        .filter(|option| !matches!(**option, "-e" | "-E" | "-r"));
    let mut edited = input.to_owned();
    for script in scripts.flat_map(|script| script.split(';')) {
        let mut rest = script.trim().chars();
        (rest.next()? == 's').then_some(())?;
        let between = rest.next()?;
        let mut fields = rest.as_str().split(between);
        let (pattern, by, flags) = (fields.next()?, fields.next()?, fields.next()?);
        let is_plain =
            |text: &str| !text.contains(['.', '*', '[', '^', '$', '\\', '(', '+', '?', '&', '|']);
        if fields.next().is_some() || pattern.is_empty() || !is_plain(pattern) || !is_plain(by) {
            return None;
        }
        edited = match flags {
            "g" => edited.replace(pattern, by),
            "" => by_lines(&edited, |line| line.replacen(pattern, by, 1)),
            _ => return None,
        };
    }
    Some(edited)
}

/// `grep TEXT`, `grep -v TEXT`, `grep .`: the lines of its input.
fn selected(options: &[&str], input: &str) -> Option<String> {
    let (inverts, pattern) = match options {
        [pattern] | ["-e" | "-E" | "-F", pattern] => (false, *pattern),
        ["-v" | "-vE" | "-vF", pattern] => (true, *pattern),
        _ => return None,
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _/~,:=@-".contains(c);
    if pattern != "." && (pattern.starts_with('-') || !pattern.chars().all(is_plain)) {
        return None;
    }
    let has = |line: &str| match pattern {
        "." => !line.is_empty(),
        pattern => line.contains(pattern),
    };
    let lines = input.lines().filter(|line| has(line) != inverts);
    Some(lines.map(|line| line.to_owned() + "\n").collect())
}

/// `cut -c LIST`, `cut -d X -f LIST`
fn cut(options: &[&str], input: &str) -> Option<String> {
    let value = |letter: char| {
        let mut options = options.iter();
        let own = options.find(|option| {
            option
                .strip_prefix('-')
                .is_some_and(|it| it.starts_with(letter))
        })?;
        match own.get(2..)? {
            "" => options.next().copied(),
            attached => Some(attached),
        }
    };
    if let Some(list) = value('c').or(value('b')) {
        let chosen = |at: usize| is_listed(list, at);
        return Some(by_lines(input, |line| {
            let characters = line.chars().enumerate();
            characters
                .filter(|(at, _)| chosen(at + 1))
                .map(|(_, c)| c)
                .collect()
        }));
    }
    let (between, list) = (value('d').unwrap_or("\t"), value('f')?);
    Some(by_lines(input, |line| {
        if !line.contains(between) {
            return line.to_owned();
        }
        let fields = line.split(between).enumerate();
        let fields: Vec<&str> = fields
            .filter(|(at, _)| is_listed(list, at + 1))
            .map(|(_, field)| field)
            .collect();
        fields.join(between)
    }))
}

fn is_listed(ranges: &str, at: usize) -> bool {
    ranges.split(',').any(|range| match range.split_once('-') {
        Some((first, last)) => {
            first.parse().map_or(1, |first: usize| first) <= at
                && at <= last.parse().unwrap_or(usize::MAX)
        }
        None => range.parse() == Ok(at),
    })
}

/// `head -n 1`, `tail -c 2`
fn ends(name: &str, options: &[&str], input: &str) -> Option<String> {
    let (letter, count) = match options {
        [] => ('n', "10"),
        [one] if one.starts_with("-c") || one.starts_with("-n") => {
            (one.chars().nth(1)?, one.get(2..)?)
        }
        [one] => ('n', one.strip_prefix('-')?),
        ["-n", count] => ('n', *count),
        ["-c", count] => ('c', *count),
        _ => return None,
    };
    let count: usize = count.parse().ok()?;
    let is_head = name == "head";
    if letter == 'c' {
        let characters: Vec<char> = input.chars().collect();
        let skipped = if is_head {
            0
        } else {
            characters.len().saturating_sub(count)
        };
        return Some(characters.iter().skip(skipped).take(count).collect());
    }
    let lines: Vec<&str> = input.split_inclusive('\n').collect();
    let skipped = if is_head {
        0
    } else {
        lines.len().saturating_sub(count)
    };
    Some(lines.iter().skip(skipped).take(count).copied().collect())
}

/// Interpreters whose code may print one literal.
pub(super) const CODES: [&str; 9] = [
    "python3", "python", "perl", "awk", "ruby", "php", "node", "bun", "deno",
];

/// `awk '{print $2}'`, `awk -F, '{print $NF}'`: one field of each line.
pub(super) fn fields(words: &[Word], input: &str) -> Option<String> {
    let words: Vec<&str> = words.iter().map(Word::known).collect::<Option<_>>()?;
    let (between, code) = match words.as_slice() {
        [code] => (None, *code),
        ["-F", between, code] => (Some(*between), *code),
        [option, code] => (Some(option.strip_prefix("-F")?), *code),
        _ => return None,
    };
    let inside = code.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let field = inside.trim_end_matches(';').strip_prefix("print")?.trim();
    let field = field.trim_matches(['(', ')']).strip_prefix('$')?;
    Some(by_lines(input, |line| {
        let fields: Vec<&str> = match between {
            Some(between) => line.split(between).collect(),
            None => line.split_whitespace().collect(),
        };
        let chosen = match field {
            "0" => Some(line),
            "NF" => fields.last().copied(),
            number => number
                .parse()
                .ok()
                .and_then(|at: usize| fields.get(at.wrapping_sub(1)).copied()),
        };
        chosen.unwrap_or_default().to_owned()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Span;

    fn made(name: &str, options: &[&str], input: &str) -> Option<String> {
        let words: Vec<Word> = options
            .iter()
            .map(|word| Word::of(*word, Span::default()))
            .collect();
        decoded(name, &words, input)
    }

    #[test]
    fn they_print_what_the_programs_print() {
        for (name, options, input, expected) in [
            ("base64", &["-d"][..], "cm0gLXJm\n", "rm -rf"),
            ("base64", &["--decode"], "cm0=", "rm"),
            ("base32", &["-d"], "OJWQ====", "rm"),
            ("xxd", &["-r", "-p"], "726d", "rm"),
            ("rev", &[], "mr\nab", "rm\nba"),
            ("tr", &["a-z", "b-za"], "ql", "rm"),
            ("tr", &["A-Za-z", "N-ZA-Mn-za-m"], "ez", "rm"),
            ("tr", &["-d", "x"], "rxmx", "rm"),
            ("sed", &["s/x//g"], "xrxm", "rm"),
            ("cut", &["-c", "1-2"], "rmx", "rm"),
            ("cut", &["-d,", "-f2"], "a,rm,c", "rm"),
            ("head", &["-c", "2"], "rmx", "rm"),
            ("tail", &["-n1"], "a\nrm\n", "rm\n"),
            ("tac", &[], "a\nb\n", "b\na\n"),
            ("grep", &["rm"], "ls\nrm x\n", "rm x\n"),
            ("grep", &["-v", "ls"], "ls\nrm x\n", "rm x\n"),
        ] {
            assert_eq!(
                made(name, options, input).as_deref(),
                Some(expected),
                "{name} {options:?}"
            );
        }
        assert_eq!(made("base64", &[], "x"), None);
        assert_eq!(made("sed", &["s/./x/"], "x"), None);
        assert_eq!(made("grep", &["^r"], "rm"), None, "a pattern");
    }
}
