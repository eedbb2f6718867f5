//! What code of other languages runs in a shell or removes, where that is a literal:
//! `os.system('rm -rf /')`, `subprocess.run(['rm', '-rf', '/'])`, `shutil.rmtree('/')`.
//!
//! No language is parsed: a call is a name from a table, and the literals behind it are
//! its arguments.

use super::byte_set::ByteSet;
use super::escapes;
use super::foreign_calls::{CALLS, FOREIGN_CALLS, ForeignDeed};
use super::foreign_known::ForeignValue;
use super::foreign_values;
use super::inner_scripts::quoted;
use super::word_reader::HOLE;
use memchr::memmem;
use std::sync::LazyLock;

/// How a language runs scripts besides by calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// By calls alone.
    Other,
    /// By backticks as well: perl, ruby, php.
    Backticks,
    /// By calls, and by a pipe from or to a literal: awk.
    Awk,
    /// By a `!` before the script, or a word for it: vim, psql, sqlite3, gdb.
    Bang,
}

/// Most bytes of code that is looked at, and of calls in it.
const MOST_BYTES: usize = 64 << 10;
const MOST_SCRIPTS: usize = 64;

/// What means the home of the user in code.
const HOMES: [&str; 10] = [
    "expanduser",
    "homedir()",
    "Path.home()",
    "environ[\"HOME\"]",
    "environ['HOME']",
    "environ.get('HOME'",
    "process.env.HOME",
    "ENV['HOME']",
    "ENV[\"HOME\"]",
    "Dir.home",
];

/// The scripts that a code runs.
pub(super) fn scripts(code: &str, language: Language) -> Vec<String> {
    let mut found = Vec::new();
    let code = code.get(..MOST_BYTES).unwrap_or(code);
    if code.len() > MOST_BYTES {
        return found;
    }
    calls(code, language == Language::Awk, &mut found);
    match language {
        Language::Backticks => {
            found.extend(code.split('`').skip(1).step_by(2).map(str::to_owned));
            found.extend(percent_literals(code));
        }
        Language::Awk => found.extend(awk_pipes(code)),
        Language::Bang => found.extend(banged(code)),
        Language::Other => {}
    }
    if has_code(code.as_bytes()) {
        for decoded in decoded_literals(code) {
            calls(&decoded, false, &mut found);
            found.push(decoded);
        }
    }
    found.truncate(MOST_SCRIPTS);
    found
}

/// Whether a code names a way to write texts in digits: `base64`, `fromhex`.
fn has_code(code: &[u8]) -> bool {
    let mut pairs = memchr::memchr2_iter(b'6', b'x', code);
    pairs.any(|at| match code.get(at) {
        Some(b'6') => code.get(at + 1) == Some(&b'4'),
        _ => code.get(..at).is_some_and(|before| before.ends_with(b"he")),
    })
}

/// What names of calls are made of.
static CALL_NAME: ByteSet =
    ByteSet::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-$");

/// The calls in a code.
fn calls(code: &str, is_awk: bool, found: &mut Vec<String>) {
    let bytes = code.as_bytes();
    let renamed = renamed_calls(code);
    let (mut at, mut named) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        if *byte == b'"' || *byte == b'\'' {
            // A name in a literal is not a call.
            let Some((inner, length)) = literal_span(code, at) else {
                at += 1;
                continue;
            };
            at += length;
            // `"rm x".execute()`
            if code
                .get(at..)
                .is_some_and(|rest| rest.starts_with(".execute("))
            {
                found.push(escapes::unescaped(inner));
            }
            continue;
        }
        let length = CALL_NAME.run_in(bytes.get(at..).unwrap_or_default());
        if length == 0 {
            at += 1;
            continue;
        }
        let start = at;
        at += length;
        let name = code.get(start..at).unwrap_or_default();
        let renaming = renamed.iter().find(|(_, own)| *own == name);
        let name = renaming.map_or(name, |(call, _)| call);
        if !CALLS.may_have(name) {
            continue;
        }
        if let Some(kind) = FOREIGN_CALLS.get(name) {
            let (is_running, is_removing) = (kind.is_running, kind.is_removing);
            // `File.rm_rf!("x")`
            at += usize::from(bytes.get(at) == Some(&b'!'));
            let call = ForeignCall::read(code, at);
            if found.len() < MOST_SCRIPTS {
                let mut told = Vec::new();
                if named < MOST_NAMED {
                    told = call.told(name, code, is_awk, (is_running, is_removing));
                    named += usize::from(!told.is_empty());
                }
                // What is known of a path whole is more than its literals tell.
                let is_whole = is_removing && !told.is_empty();
                let is_whole = is_whole && !told.iter().any(|script| script.contains(HOLE));
                let literal = || call.script(name, is_running, is_removing);
                found.extend(if is_whole { None } else { literal() });
                found.append(&mut told);
                found.extend(call.by_method(name, code));
                if let ("exec" | "eval" | "compile", Some(inner)) = (name, call.literals.first()) {
                    calls(inner, is_awk, found);
                }
            }
            // What stands between the parentheses may be another call.
            if !call.literals.is_empty() {
                at = call.end.max(at);
            }
        }
    }
}

/// Most calls of a code whose arguments are worked out.
const MOST_NAMED: usize = 8;

/// Most bytes of a code in which names are looked for.
const MOST_CODE: usize = 16 << 10;

/// Most calls that a code gives other names.
const MOST_RENAMED: usize = 8;

/// What stands between a call and its other name; all but the first have a colon.
const RENAMING: [&str; 3] = [" as ", ": ", ":"];

/// What finds them: making one takes longer than a short code.
static RENAMING_FINDERS: LazyLock<[memmem::Finder<'static>; 3]> =
    LazyLock::new(|| RENAMING.map(memmem::Finder::new));

/// `from shutil import rmtree as r`, `const {execSync: x} = …`: the calls, and their other names.
fn renamed_calls(code: &str) -> Vec<(&str, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let before = |text| -> &str {
        str::rsplit(text, |c| !is_name(c))
            .next()
            .unwrap_or_default()
    };
    let after = |text| -> &str { str::split(text, |c| !is_name(c)).next().unwrap_or_default() };
    let mut found = Vec::new();
    let has_colon = memchr::memchr(b':', code.as_bytes()).is_some();
    let signs = if has_colon { RENAMING.len() } else { 1 };
    for (sign, finder) in RENAMING.iter().zip(&*RENAMING_FINDERS).take(signs) {
        for at in finder.find_iter(code.as_bytes()).take(MOST_RENAMED) {
            let (left, right) = code.split_at(at);
            let call = before(left);
            let own = after(right.strip_prefix(sign).unwrap_or_default());
            let does = |kind: &ForeignDeed| kind.is_running || kind.is_removing;
            if FOREIGN_CALLS.get(call).is_some_and(does) && !own.is_empty() {
                found.push((call, own));
            }
        }
    }
    found
}

/// The arguments of a call, as far as they are literals.
struct ForeignCall<'a> {
    literals: Vec<String>,
    /// Everything between its parentheses.
    inside: &'a str,
    end: usize,
}

impl<'a> ForeignCall<'a> {
    fn read(code: &'a str, start: usize) -> Self {
        let bytes = code.as_bytes();
        let mut literals: Vec<String> = Vec::new();
        let mut joins = false;
        let mut open = 0_usize;
        let mut at = start;
        let mut is_first = true;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'(' | b'[' | b'{' => open += 1,
                b')' | b']' | b'}' if open <= 1 => break,
                b')' | b']' | b'}' => open -= 1,
                b';' | b'\n' if open == 0 => break,
                b',' => joins = false,
                b'+' | b'.' if !literals.is_empty() => joins = true,
                b'"' | b'\'' | b'`' => {
                    let Some((text, length)) = literal(code, at) else {
                        break;
                    };
                    // The name of a module is no argument.
                    let before = code.get(start..at).unwrap_or_default();
                    if before.ends_with("require(") {
                        at += length;
                        continue;
                    }
                    match literals.last_mut().filter(|_| joins) {
                        Some(last) => last.push_str(&text),
                        None => literals.push(text),
                    }
                    // Two literals in a row are one, in some languages.
                    joins = true;
                    at += length;
                    is_first = false;
                    continue;
                }
                b'q' | b'%' if let Some((words, length)) = quoted_by_letter(code, at) => {
                    literals.extend(words);
                    at += length;
                    is_first = false;
                    continue;
                }
                byte if open == 0 && is_first && !byte.is_ascii_whitespace() => break,
                _ => {}
            }
            is_first &= open == 0;
            at += 1;
        }
        Self {
            literals,
            inside: code.get(start..at).unwrap_or_default(),
            end: at,
        }
    }

    /// What a call does whose arguments are more than literals: names, parts that are joined,
    /// values in a dictionary. Every value that the code gives them counts.
    fn told(&self, name: &str, code: &'a str, is_awk: bool, does: (bool, bool)) -> Vec<String> {
        // Most calls have a literal alone, and the look for homes is the longest.
        let is_home = || HOMES.iter().any(|home| self.inside.contains(home));
        if code.len() > MOST_CODE || !has_name(self.inside) || is_home() {
            return Vec::new();
        }
        let arguments = foreign_values::arguments(code, self.inside, is_awk);
        let Some((first, others)) = arguments.split_first() else {
            return Vec::new();
        };
        let others = others.iter().filter_map(|values| values.first());
        let others: Vec<String> = others.flat_map(ForeignValue::texts).collect();
        let mut found = Vec::new();
        for value in first.iter().filter(|value| value.is_told()) {
            let mut literals = value.texts();
            literals.extend(others.iter().cloned());
            let call = Self { literals, ..*self };
            found.extend(call.script(name, does.0, does.1));
        }
        found
    }

    /// What is done with the result of a call: `Path(x).unlink()`, `[remove(f) for f in glob(x)]`.
    fn by_method(&self, name: &str, code: &str) -> Option<String> {
        let first = self.literals.first();
        let after = code.get(self.end..).unwrap_or_default();
        let has = |names: &[&str]| names.iter().any(|name| code.contains(name));
        match name {
            "Path" => {
                let is_next = |method: &str| after.trim_start_matches(')').starts_with(method);
                let removes = is_next(".unlink(") || is_next(".rmdir(");
                let writes = is_next(".write_text(") || is_next(".write_bytes(");
                let lists = [".iterdir(", ".glob(", ".rglob("].into_iter().any(is_next);
                let path = quoted(first?);
                match (removes, writes) {
                    (true, _) => Some(format!("rm -f -- {path}")),
                    (_, true) => Some(format!(": > {path}")),
                    _ if lists && has(REMOVED) => Some(format!("rm -rf -- {path}/*")),
                    _ => None,
                }
            }
            // `for f in os.walk('/'): os.remove(f)`
            "walk" | "listdir" | "scandir" | "readdirSync" if has(REMOVED) => {
                let is_home = HOMES.iter().any(|home| self.inside.contains(home));
                // What is in a directory of the project is chosen by what follows.
                let is_far = |path: &&String| path.starts_with('/');
                let path = match first.filter(is_far) {
                    Some(path) => quoted(path),
                    None if is_home => "~".to_owned(),
                    None => return None,
                };
                Some(format!("rm -rf -- {path}/*"))
            }
            "iterdir" if has(REMOVED) && has(&["Path.home().iterdir"]) => {
                Some("rm -rf ~/*".to_owned())
            }
            "glob" | "iglob" if has(REMOVED) => {
                let pattern = first?;
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-*?".contains(c);
                let is_plain = pattern.chars().all(is_plain);
                is_plain.then(|| format!("rm -rf -- {pattern}"))
            }
            "kill" => {
                // Perl has the signal first, and needs no parentheses.
                let bare = after.split([';', '}', '\n']).next().unwrap_or_default();
                let inside = if self.inside.trim().is_empty() {
                    bare
                } else {
                    self.inside
                };
                let mut words = inside
                    .trim_matches(['(', ')', ' '])
                    .split(',')
                    .map(str::trim);
                words
                    .any(|word| word == "-1")
                    .then(|| "kill -9 -1".to_owned())
            }
            _ => None,
        }
    }

    fn script(&self, name: &str, is_running: bool, is_removing: bool) -> Option<String> {
        if is_removing {
            let is_home = HOMES.iter().any(|home| self.inside.contains(home));
            let is_path = |literal: &&String| *literal != "HOME" && !literal.starts_with('-');
            let first = self.literals.iter().find(is_path);
            let path = match (first, is_home) {
                (Some(path), true) if path.starts_with('~') => path.clone(),
                (Some(path), true) => format!("~/{}", quoted(path)),
                (None, true) => "~".to_owned(),
                (Some(path), false) => quoted(path),
                (None, false) => return None,
            };
            return Some(format!("rm -rf -- {path}"));
        }
        let first = self.literals.first()?;
        if is_running {
            return Some(match self.literals.as_slice() {
                [script] => script.clone(),
                words => words
                    .iter()
                    .map(|word| quoted(word))
                    .collect::<Vec<_>>()
                    .join(" "),
            });
        }
        let is_written = self
            .literals
            .get(1)
            .is_some_and(|mode| mode.contains(['w', 'a', '+', '>']));
        match name {
            "open" if is_written => Some(format!(": > {}", quoted(first))),
            // `open(F, ">/dev/sda")`, `open(F, '>', '/dev/sda')`
            "open" if first.starts_with('>') => {
                let path = first.trim_start_matches(['>', ' ']);
                let path = if path.is_empty() {
                    self.literals.get(1)?
                } else {
                    path
                };
                Some(format!(": > {}", quoted(path)))
            }
            "unlink" if self.inside.to_lowercase().contains("recursive") => {
                Some(format!("rm -rf -- {}", with_home(first)))
            }
            "unlink" | "remove" => Some(format!("rm -f -- {}", quoted(first))),
            _ => None,
        }
    }
}

/// What removes, in a code that goes through a directory.
const REMOVED: &[&str] = &[
    "remove(",
    "unlink",
    "rmtree(",
    "rmSync(",
    "rm_rf",
    "removedirs(",
];

/// Whether there is more between the parentheses of a call than literals, or text that may have
/// values in it.
fn has_name(inside: &str) -> bool {
    let mut at = 0;
    while let Some(byte) = inside.as_bytes().get(at) {
        match byte {
            b'"' | b'\'' | b'`' => {
                let Some((literal, length)) = literal_span(inside, at) else {
                    return true;
                };
                if *byte != b'\'' && literal.contains('$') || literal.contains("#{") {
                    return true;
                }
                at += length;
            }
            byte if byte.is_ascii_alphabetic() || *byte == b'_' => return true,
            _ => at += 1,
        }
    }
    false
}

/// A path in quotes, of which a tilde for a home stays one.
fn with_home(path: &str) -> String {
    match path {
        "~" | "~/" => "~".to_owned(),
        path => quoted(path),
    }
}

/// The literal that begins here, and its length.
fn literal(code: &str, start: usize) -> Option<(String, usize)> {
    let (inner, length) = literal_span(code, start)?;
    Some((escapes::unescaped(inner), length))
}

/// The inside of the literal that begins here, as it is written, and its length with the quotes.
pub(super) fn literal_span(code: &str, start: usize) -> Option<(&str, usize)> {
    let rest = code.get(start..)?;
    let quote = *rest.as_bytes().first()?;
    if rest.as_bytes().starts_with(&[quote; 3]) {
        let inner = rest.get(3..)?;
        let end = inner.find(rest.get(..3)?)?;
        return Some((inner.get(..end)?, end + 6));
    }
    let mut is_escaped = false;
    for (index, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            byte if byte == quote => return Some((rest.get(1..index)?, index + 1)),
            _ => {}
        }
    }
    None
}

/// `q(rm x)`, `qq{rm x}`, `qw(rm x)` of Perl, `%w[rm x]` of Ruby: their words, and their length.
fn quoted_by_letter(code: &str, at: usize) -> Option<(Vec<String>, usize)> {
    let before = at.checked_sub(1).and_then(|at| code.as_bytes().get(at));
    if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_$@".contains(byte)) {
        return None;
    }
    let rest = code.get(at..)?;
    let signs = ["qw", "qq", "q", "%w", "%W", "%q", "%Q"];
    let sign = signs.iter().find(|sign| rest.starts_with(**sign))?;
    let behind = rest.get(sign.len()..)?;
    let close = match behind.chars().next()? {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        other @ ('/' | '|' | '!') => other,
        _ => return None,
    };
    let inner = behind.get(1..)?;
    let inner = inner.get(..inner.find(close)?)?;
    let length = sign.len() + inner.len() + 2;
    let words = if sign.ends_with(['w', 'W']) {
        inner.split_whitespace().map(str::to_owned).collect()
    } else {
        vec![inner.to_owned()]
    };
    Some((words, length))
}

/// `%x(…)`, `qx{…}`
fn percent_literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for sign in ["%x", "qx"] {
        for after in code.split(sign).skip(1) {
            let close = match after.trim_start().chars().next() {
                Some('(') => ')',
                Some('{') => '}',
                Some('[') => ']',
                Some(other) if other.is_ascii_punctuation() => other,
                _ => continue,
            };
            let inner = after.trim_start().get(1..).unwrap_or_default();
            found.extend(inner.split(close).next().map(str::to_owned));
        }
    }
    found
}

/// `print "x" | "sh"`, `"rm x" | getline`: a literal beside a pipe.
/// Whether code of awk runs the lines that it reads: `system($0)`, `print | "sh"`.
pub(super) fn runs_lines(code: &str) -> bool {
    let plain: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let shells = ["|\"sh\"", "|\"bash\"", "|\"/bin/sh\"", "$0|getline"];
    plain.contains("system($") || shells.iter().any(|shell| plain.contains(shell))
}

fn awk_pipes(code: &str) -> Vec<String> {
    if !code.contains('|') {
        return Vec::new();
    }
    let mut literals = Vec::new();
    let mut at = 0;
    while let Some(found) = code.get(at..).and_then(|rest| rest.find('"')) {
        let Some((text, length)) = literal(code, at + found) else {
            break;
        };
        literals.push(text);
        at += found + length;
    }
    literals
}

/// `:!rm x`, `\! rm x`, `.shell rm x`, `shell rm x`
fn banged(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in code.lines() {
        let line = line.trim_start();
        let words = [".shell ", ".system ", "shell ", "\\! ", "\\!"];
        let by_word = words.iter().find_map(|word| line.strip_prefix(word));
        let by_bang = || {
            let (before, script) = line.split_once('!')?;
            let is_range = before
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ":%.,$ ".contains(c));
            is_range.then_some(script)
        };
        found.extend(by_word.or_else(by_bang).map(str::to_owned));
        let mut calls_found = Vec::new();
        calls(line, false, &mut calls_found);
        found.append(&mut calls_found);
    }
    found
}

/// Literals that are base64 or hexadecimal for something readable.
fn decoded_literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = code.get(at..).and_then(|rest| rest.find(['"', '\''])) {
        let Some((text, length)) = literal(code, at + offset) else {
            break;
        };
        at += offset + length;
        let is_readable = |text: &String| {
            !text.is_empty()
                && text
                    .chars()
                    .all(|c| c == '\n' || c == '\t' || !c.is_control())
        };
        let by_hex = super::decoders::from_hex(&text).filter(is_readable);
        let by_base64 = super::decoders::from_base64(&text).filter(is_readable);
        if text.len() >= 8 {
            found.extend(by_hex.or(by_base64));
        }
    }
    found
}
