//! Files that code of other languages writes, where their names and texts are known:
//! `open("x.sh", "w").write("rm y")`, `json.dump({…}, open("package.json", "w"))`.

use super::foreign_known::ForeignValue;
use super::foreign_values::arguments;
use super::word_reader::HOLE;
use memchr::memmem;
use std::sync::LazyLock;

/// Most bytes of code that is looked at, and files of it.
const MOST_CODE: usize = 16 << 10;
const MOST_FILES: usize = 8;

/// Calls that get a path and a text.
const WITH_PATH: [&str; 5] = [
    "writeFileSync(",
    "writeFile(",
    "File.write(",
    "IO.write(",
    "file_put_contents(",
];

/// What is in every call that writes a file.
static WRITING: LazyLock<[memmem::Finder<'static>; 3]> =
    LazyLock::new(|| ["write", "dump", "put_contents"].map(memmem::Finder::new));

/// Whether a code has what writes a file.
pub(super) fn may_write(code: &str) -> bool {
    let mut parts = WRITING.iter();
    parts.any(|part| part.find(code.as_bytes()).is_some())
}

/// The files, with their texts.
pub(super) fn written(code: &str) -> Vec<(String, String)> {
    if code.len() > MOST_CODE || !may_write(code) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for call in WITH_PATH {
        for after in code.split(call).skip(1).take(MOST_FILES) {
            let given = firsts(code, after);
            if let [path, text, ..] = given.as_slice() {
                found.extend(pair(path, text));
            }
        }
    }
    for call in [".write_text(", ".write_bytes("] {
        for (before, after) in places(code, call) {
            let path = before
                .rfind("Path(")
                .and_then(|at| before.get(at + "Path(".len()..));
            let path = path.and_then(|inside| firsts(code, inside).into_iter().next());
            if let (Some(path), Some(text)) = (path, firsts(code, after).first()) {
                found.extend(pair(&path, text));
            }
        }
    }
    for (before, after) in places(code, ".write(") {
        if let (Some(path), Some(text)) = (opened(code, before), firsts(code, after).first()) {
            found.extend(pair(&path, text));
        }
    }
    for (before, after) in places(code, "json.dump(") {
        let path = opened(code, after).or_else(|| opened(code, before));
        if let (Some(path), Some(value)) = (path, firsts(code, after).first()) {
            found.extend(pair(&path, &ForeignValue::Text(value.as_json())));
        }
    }
    found.truncate(MOST_FILES);
    found
}

/// What stands before and behind each place of a call.
fn places<'a>(code: &'a str, call: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let found = code.match_indices(call).take(MOST_FILES);
    found.filter_map(move |(at, _)| Some((code.get(..at)?, code.get(at + call.len()..)?)))
}

/// The path of a file that a part of a code opens for writing: the last of them.
fn opened(code: &str, part: &str) -> Option<ForeignValue> {
    let is_written = |given: &[ForeignValue]| {
        let mode = given.get(1).map(ForeignValue::texts).unwrap_or_default();
        mode.iter().any(|mode| mode.contains(['w', 'a', 'x', '>']))
    };
    let calls = part.rmatch_indices("open(").take(MOST_FILES);
    let mut given = calls.filter_map(|(at, call)| {
        let given = firsts(code, part.get(at + call.len()..)?);
        is_written(&given).then_some(given)
    });
    given.next()?.into_iter().next()
}

fn firsts(code: &str, inside: &str) -> Vec<ForeignValue> {
    let given = arguments(code, inside, false).into_iter();
    given
        .filter_map(|values| values.into_iter().next())
        .collect()
}

fn pair(path: &ForeignValue, text: &ForeignValue) -> Option<(String, String)> {
    let (path, text) = (path.text()?, text.text()?);
    let is_known = !path.is_empty() && !path.contains(HOLE);
    is_known.then(|| (path.to_owned(), text.to_owned()))
}
