//! Spellings of a word that the shell reads the same, for tests that hide commands.
#![expect(
    clippy::format_collect,
    clippy::format_push_string,
    clippy::too_many_lines,
    reason = "a table of spellings, each an arm that reads as the shell's text"
)]

use crate::disguises::escaped;
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
    if random.next(2) == 0 {
        return word.to_owned();
    }
    if random.next(2) == 0 {
        let (means, spelling) = spelled_by_table(random, word, before);
        used.push(means);
        return spelling;
    }
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

/// Spellings as a table: what was used, what is set before, the word. `{w}` is the word, `{f}` and
/// `{s}` its two parts, `{n}` a name, `{c}` its length, `{x}` its escapes.
const MORE: &[(&str, &str, &str)] = &[
    ("set --", "set -- {w}; ", "$1"),
    ("set --", "set -- x {w}; ", "${2}"),
    ("IFS", "IFS=: read -r _ {n} <<< 'x:{w}'; ", "${n}"),
    (
        "IFS",
        "{n}=({f} {s}); IFS=; {n}j=\"${{n}[*]}\"; unset IFS; ",
        "${n}j",
    ),
    ("substring", "{n}=zz{w}; ", "${{n}: -{c}}"),
    ("substring", "{n}=zz{w}; {n}o=2; ", "${{n}:{n}o}"),
    ("substring", "{n}=zz{w}; {n}z=zz; ", "${{n}:${#{n}z}}"),
    ("suffix", "{n}={w}QzQ; ", "${{n}%%Q*}"),
    ("replace", "{n}=Q{f}Q{s}Q; ", "${{n}//Q/}"),
    ("alternative", "{n}=1; ", "${{n}:+{w}}"),
    ("fallback", "", "${{n}:={w}}"),
    ("fallback", "", "${{n}-{w}}"),
    (
        "associative array",
        "declare -A {n}; {n}[k]={w}; ",
        "${{n}[k]}",
    ),
    (
        "associative array",
        "declare -A {n}=([a]=x [k]={w}); ",
        "${{n}[k]}",
    ),
    ("array append", "{n}=(x); {n}+=({w}); ", "${{n}[1]}"),
    ("array to value", "{n}=(x y); {n}=; {n}+={w}; ", "${n}"),
    ("array as value", "{n}=({w} x); ", "${n}"),
    ("array slice", "{n}=(x {w} y); ", "${{n}[@]:1:1}"),
    ("nameref", "{n}t={w}; declare -n {n}={n}t; ", "${n}"),
    ("nameref", "declare -n {n}={n}t; {n}={w}; ", "${n}t"),
    ("declare", "readonly {n}={w}; ", "${n}"),
    ("declare", "export {n}={w}; ", "${n}"),
    ("declare", "typeset {n}={w}; ", "${n}"),
    (
        "declare",
        "declare -i {n}i=1; {n}=(x {w}); ",
        "${{n}[{n}i]}",
    ),
    (
        "append in a loop",
        "{n}=; for {n}c in {f} {s}; do {n}+=${n}c; done; ",
        "${n}",
    ),
    (
        "append in a loop",
        "{n}=; for {n}c in {letters}; do {n}=\"${n}${n}c\"; done; ",
        "${n}",
    ),
    (
        "counted loop",
        "{n}=({f} {s}); {n}r=; for (({n}i=0; {n}i<${#{n}[@]}; {n}i++)); do {n}r+=${{n}[{n}i]}; done; ",
        "${n}r",
    ),
    (
        "while loop",
        "{n}=; {n}i=0; while [ ${n}i -lt 1 ]; do {n}={w}; {n}i=$(({n}i+1)); done; ",
        "${n}",
    ),
    ("printed", "", "$(cat <<< {w})"),
    ("printed", "", "$(cat <<E\n{w}\nE\n)"),
    ("printed", "", "$(printf %s {f} {s})"),
    ("printed", "", "$(printf '%s\\n' {w} x | head -n1)"),
    ("printed", "", "$(printf '%s\\n' x {w} | tail -n 1)"),
    ("printed", "", "$(awk 'BEGIN{print \"{w}\"}')"),
    ("printed", "", "$(perl -e 'print \"{w}\"')"),
    ("sed", "", "$(echo {f}Q{s} | sed s/Q//)"),
    ("awk", "", "$(echo x {w} | awk '{print $2}')"),
    ("tr", "", "$(echo {f}Q{s} | tr -d Q)"),
    ("dirname", "", "$(dirname {w}/x)"),
    ("file", "echo {w} > {n}.txt; ", "$(cat {n}.txt)"),
    ("file", "echo {w} > {n}.txt; ", "$(<{n}.txt)"),
    ("echo -e", "", "$(echo -e '{x}')"),
    ("printf %b", "", "$(printf %b '{x}')"),
    ("xxd", "", "$(echo {hex} | xxd -r -p)"),
    ("brace", "", "{{w},}"),
    ("set by function", "{n}f() { {n}={w}; }; {n}f; ", "${n}"),
    ("set by function", "{n}f() { {n}=$1; }; {n}f {w}; ", "${n}"),
    (
        "set by function",
        "{n}f() { declare -g {n}={w}; }; {n}f; ",
        "${n}",
    ),
    (
        "set by function",
        "{n}f() { printf -v \"$1\" %s \"$2\"; }; {n}f {n} {w}; ",
        "${n}",
    ),
    ("eval", "{n}k={n}; eval \"${n}k={w}\"; ", "${n}"),
    ("read", "read -r {n} < <(echo {w}); ", "${n}"),
    ("read", "read -r {n} <<E\n{w}\nE\n", "${n}"),
    ("read", "read -r _ {n} <<< 'x {w}'; ", "${n}"),
    ("mapfile", "mapfile -t {n} < <(echo {w}); ", "${n}"),
    ("printf -v", "printf -v '{n}[1]' %s {w}; ", "${{n}[1]}"),
    ("printf -v", "printf -v {n} %s {f} {s}; ", "${n}"),
    (
        "getopts",
        "set -- -a {w}; OPTIND=1; getopts a: {n}; ",
        "$OPTARG",
    ),
    (
        "BASH_REMATCH",
        "[[ x{w} =~ x(.*) ]]; ",
        "${BASH_REMATCH[1]}",
    ),
    ("branch", "[ -n \"${n}\" ] || {n}={w}; ", "${n}"),
    ("branch", "true && {n}={w}; ", "${n}"),
    ("branch", "if {n}={w}; then :; fi; ", "${n}"),
    ("branch", "{n}={w}; [ -n \"$1\" ] && {n}=$1; ", "${n}"),
    (
        "branch",
        "{n}=true; if [ -z \"${{n}}x\" ]; then :; else {n}={w}; fi; ",
        "${n}",
    ),
    ("transformation", "{n}='{x}'; ", "${{n}@E}"),
    ("transformation", "{n}={w}; ", "${{n}@P}"),
    ("indirect", "{n}=(x {w}); {n}k='{n}[1]'; ", "${!{n}k}"),
    ("quoted", "{n}=\"{w}\"; ", "\"${n}\""),
];

/// A word by a row of the table.
fn spelled_by_table(
    random: &mut Random,
    word: &str,
    before: &mut String,
) -> (&'static str, String) {
    let row = random.next(MORE.len());
    spelled_by_row(random, row, word, before)
}

/// How many rows the table of spellings has.
pub(crate) const ROWS: usize = MORE.len();

/// A word by one row of the table.
pub(crate) fn spelled_by_row(
    random: &mut Random,
    row: usize,
    word: &str,
    before: &mut String,
) -> (&'static str, String) {
    let (means, set, spelling) = MORE[row];
    let cut = random.next(word.len().max(1));
    let name = format!("u{}", random.next(1000));
    let letters: Vec<String> = word.chars().map(String::from).collect();
    let fill = |template: &str| {
        let filled = template.replace("{hex}", &escaped(word).replace("\\x", ""));
        let filled = filled.replace("{letters}", &letters.join(" "));
        let filled = filled.replace("{c}", &word.len().to_string());
        let filled = filled.replace("{x}", &escaped(word));
        let filled = filled.replace("{f}", word.get(..cut).unwrap_or(""));
        let filled = filled.replace("{s}", word.get(cut..).unwrap_or(""));
        filled.replace("{w}", word).replace("{n}", &name)
    };
    before.push_str(&fill(set));
    (means, fill(spelling))
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
