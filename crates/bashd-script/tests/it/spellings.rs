//! Spellings of a word that the shell reads the same, for tests that hide commands.
#![expect(
    clippy::format_collect,
    clippy::format_push_string,
    clippy::too_many_lines,
    reason = "a table of spellings, each an arm that reads as the shell's text"
)]

use crate::guard_properties::Random;

/// A word as some spelling that the shell reads the same, and what was used.
pub(crate) fn spelled(
    random: &mut Random,
    word: &str,
    used: &mut Vec<&'static str>,
    before: &mut String,
) -> String {
    let name = format!("v{}", random.next(1000));
    let characters = word.chars().count();
    let cut = random.next(characters.max(1));
    let (first, second): (String, String) = (
        word.chars().take(cut).collect(),
        word.chars().skip(cut).collect(),
    );
    let how = random.next(43);
    if let Some((means, spelling)) = rarely_spelled(random, word, how, before) {
        used.push(means);
        return spelling;
    }
    let (means, spelling) = match how {
        0..=5 | 22.. => return word.to_owned(),
        21 => ("fallback", format!("${{{name}:-{word}}}")),
        6 => ("quotes", format!("'{first}'\"{second}\"")),
        7 => ("quotes", word.chars().map(|c| format!("\\{c}")).collect()),
        8 => {
            let coded: String = word.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
            ("ansi", format!("$'{coded}'"))
        }
        9 => {
            before.push_str(&format!("{name}={word}; "));
            ("variable", format!("${name}"))
        }
        10 => {
            before.push_str(&format!("{name}={first}; {name}+={second}; "));
            ("append", format!("\"${name}\""))
        }
        11 => {
            before.push_str(&format!("{name}=xx{word}; "));
            ("prefix", format!("${{{name}#xx}}"))
        }
        12 => {
            before.push_str(&format!("{name}={word}.y; "));
            ("suffix", format!("${{{name}%.*}}"))
        }
        13 => {
            before.push_str(&format!("{name}=zz{word}yy; "));
            ("substring", format!("${{{name}:2:{characters}}}"))
        }
        14 => {
            before.push_str(&format!("{name}=({first}x {word} {second}y); "));
            ("array", format!("${{{name}[1]}}"))
        }
        15 => {
            before.push_str(&format!("printf -v {name} '%s%s' '{first}' '{second}'; "));
            ("printf -v", format!("${name}"))
        }
        16 => ("echo", format!("$(echo {word})")),
        17 => {
            let reversed: String = word.chars().rev().collect();
            ("rev", format!("$(echo '{reversed}' | rev)"))
        }
        18 => ("base64", format!("$(echo {} | base64 -d)", base64(word))),
        19 => {
            before.push_str(&format!("read -r {name} <<< '{word}'; "));
            ("read", format!("${name}"))
        }
        _ => {
            before.push_str(&format!("{name}a={word}; {name}={name}a; "));
            ("indirect", format!("${{!{name}}}"))
        }
    };
    used.push(means);
    spelling
}

/// Means that are rarer.
fn rarely_spelled(
    random: &mut Random,
    word: &str,
    how: usize,
    before: &mut String,
) -> Option<(&'static str, String)> {
    let name = format!("w{}", random.next(1000));
    let characters = word.chars().count();
    let cut = random.next(characters.max(1));
    let (first, second): (String, String) = (
        word.chars().take(cut).collect(),
        word.chars().skip(cut).collect(),
    );
    let coded: String = word.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
    let turned = |c: char| match c {
        'a'..='m' => char::from(c as u8 + 13),
        'n'..='z' => char::from(c as u8 - 13),
        other => other,
    };
    let rotated: String = word.chars().map(turned).collect();
    let upper = word.to_uppercase();
    let (means, set, spelling) = match how {
        22 => ("backticks", String::new(), format!("`echo {word}`")),
        23 if upper.to_lowercase() == word => (
            "case",
            format!("{name}={upper}; "),
            format!("${{{name},,}}"),
        ),
        24 => (
            "replace",
            format!("{name}={first}QQ{second}; "),
            format!("${{{name}/QQ/}}"),
        ),
        25 => (
            "tr",
            String::new(),
            format!("$(echo {rotated} | tr 'a-z' 'n-za-m')"),
        ),
        26 => ("printf", String::new(), format!("$(printf '{coded}')")),
        27 => (
            "arithmetic",
            format!("{name}=zz{word}; "),
            format!("${{{name}:$((3-1))}}"),
        ),
        28 => ("nested", String::new(), format!("$(echo $(echo {word}))")),
        29 => (
            "printing function",
            format!("{name}() {{ echo {word}; }}; "),
            format!("$({name})"),
        ),
        30 => (
            "last element",
            format!("{name}=(x {word}); "),
            format!("${{{name}[-1]}}"),
        ),
        31 => (
            "declare",
            format!("declare {name}={word}; "),
            format!("${name}"),
        ),
        32 => (
            "loop",
            format!("for {name} in {word}; do :; done; "),
            format!("${name}"),
        ),
        33 => (
            "branch",
            format!("case x in x) {name}={word};; esac; "),
            format!("${name}"),
        ),
        34 => {
            let set = format!("if false; then {name}=true; else {name}={word}; fi; ");
            ("branch", set, format!("${name}"))
        }
        35 => (
            "default",
            format!(": ${{{name}:={word}}}; "),
            format!("${name}"),
        ),
        36 => (
            "subshell",
            format!("{name}={word}; ({name}=true); "),
            format!("${name}"),
        ),
        37 => {
            let set = format!("{name}={word}; {name}g() {{ local {name}=true; }}; {name}g; ");
            ("local", set, format!("${name}"))
        }
        38 => ("eval", format!("eval {name}={word}; "), format!("${name}")),
        39 => (
            "read -a",
            format!("read -ra {name} <<< 'x {word}'; "),
            format!("${{{name}[1]}}"),
        ),
        40 => (
            "mapfile",
            format!("mapfile -t {name} <<< '{word}'; "),
            format!("${{{name}[0]}}"),
        ),
        41 => (
            "element",
            format!("{name}[0]={first}; {name}[1]={second}; "),
            format!("${{{name}[0]}}${{{name}[1]}}"),
        ),
        42 => (
            "cut",
            String::new(),
            format!("$(echo 'x,{word}' | cut -d, -f2)"),
        ),
        _ => return None,
    };
    before.push_str(&set);
    Some((means, spelling))
}

/// A text as base64.
pub(crate) fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut coded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) as usize & 63;
            let is_padding = digit > chunk.len();
            coded.push(if is_padding {
                '='
            } else {
                char::from(DIGITS[index])
            });
        }
    }
    coded
}
