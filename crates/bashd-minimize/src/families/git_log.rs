//! Commits of `git log` and `git show`: hash, date, author on one line, the message under it.

use super::super::sheet::Sheet;
use std::collections::HashMap;
use std::fmt::Write as _;

/// Digits of a hash that are shown: enough for any repository.
const HASH_DIGITS: usize = 12;

/// The commit being read.
#[derive(Default)]
pub(super) struct Commits<'a> {
    header: Option<Header<'a>>,
    in_message: bool,
    /// The address of each name that was shown with one.
    addresses: HashMap<&'a str, &'a str>,
}

#[derive(Default)]
struct Header<'a> {
    hash: &'a str,
    author: &'a str,
    date: &'a str,
    others: Vec<&'a str>,
}

impl<'a> Commits<'a> {
    /// Takes a line that belongs to a commit's head or message.
    pub(super) fn take(&mut self, line: &'a str, sheet: &mut Sheet<'a>) -> bool {
        if let Some(hash) = line.strip_prefix("commit ").filter(|rest| is_hash(rest)) {
            self.finish(sheet);
            self.header = Some(Header {
                hash,
                ..Header::default()
            });
            return true;
        }
        if let Some(header) = &mut self.header {
            if let Some(author) = line.strip_prefix("Author: ") {
                header.author = author.trim_start();
            } else if let Some(date) = line.strip_prefix("Date: ") {
                header.date = date.trim_start();
            } else if line.is_empty() {
                self.finish(sheet);
                self.in_message = true;
            } else {
                header.others.push(line);
            }
            return true;
        }
        if self.in_message {
            if let Some(text) = line.strip_prefix("    ") {
                sheet.keep(&format!(" {text}"));
                return true;
            }
            if line.is_empty() {
                sheet.skip(line);
                return true;
            }
            self.in_message = false;
        }
        false
    }

    /// Writes the head of the commit being read.
    pub(super) fn finish(&mut self, sheet: &mut Sheet<'a>) {
        let Some(header) = self.header.take() else {
            return;
        };
        let (hash, decoration) = header.hash.split_once(' ').unwrap_or((header.hash, ""));
        let mut line = format!("commit {}", hash.get(..HASH_DIGITS).unwrap_or(hash));
        for part in [decoration, header.date]
            .into_iter()
            .filter(|part| !part.is_empty())
        {
            let _ = write!(line, " {part}");
        }
        if !header.author.is_empty() {
            let (name, address) = header
                .author
                .rsplit_once(" <")
                .unwrap_or((header.author, ""));
            let known = self.addresses.insert(name, address) == Some(address);
            let _ = write!(line, " {}", if known { name } else { header.author });
        }
        sheet.remark("hashes shortened, author addresses shown once");
        sheet.keep(&line);
        for other in header.others {
            sheet.keep(other);
        }
    }
}

/// `0123…` in forty digits, alone or before a decoration.
fn is_hash(text: &str) -> bool {
    let hash = text.split(' ').next().unwrap_or_default();
    hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}
