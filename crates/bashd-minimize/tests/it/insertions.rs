//! Lines of a user's, put into recorded outputs at random places: each must be in what is shown.
//!
//! Many kinds of lines, among them those that begin like a tool's noise. A line that is a copy of
//! a line of the tool's with another digit has that tool's whole form: it may be counted instead,
//! and then the count must be one more. `BASHD_SOAK=1` makes 10,000 insertions.

use crate::cases::{Case, cases};
use crate::truth::{digest, falsehoods};
use bashd_minimize::{Reach, plain_form, rebuild};

/// Insertions of an ordinary run, and of a long one.
const FEW: u64 = 240;
const MANY: u64 = 10_000;

/// Lines of a user's; `#` stands for a number.
const KINDS: &[(&str, &str)] = &[
    ("a credential's name", "  config/.env.production.#"),
    ("a private key", "npm notice 1.7kB keys/id_rsa_#"),
    (
        "a place to see",
        "✔ Deployed to https://shop.example.org/v#",
    ),
    ("an address", "10.0.#.7 - - \"GET / HTTP/1.1\" 200"),
    ("a row of a table", "| # | Müller | 12.50 |"),
    ("a row like code", "# | total = price * count"),
    (
        "a sentence like cargo's",
        "   Compiling the list of # customers",
    ),
    (
        "a sentence like a compiler's",
        "as of today # orders are open",
    ),
    ("a sentence like make's", "install pump number # before use"),
    ("a tick of one's own", "✓ backup number # is complete"),
    ("something that is gone", "✔ Dropped table customers_#"),
    ("nothing was done", "[1/3] 0 of 48,#12 rows"),
    ("a sentence like a test's", "test number # ... ok, but slow"),
    ("a weakness", "requests 2.#: CVE-2023-3268#"),
    (
        "a word of a remote",
        "remote: deploy key # is about to be rotated",
    ),
    (
        "permission bits",
        "-rwsr-xr-x 1 root root # Nov 17 12:00 bin/tool",
    ),
    ("a number alone", "#"),
    ("a loss of a training", "step # loss 2.3#17 lr 0.0003"),
    ("blanks at the end", "  received: 'a # '   "),
    (
        "a sentence like pip's",
        "Downloading the report of week # for you",
    ),
    ("a sentence like pytest's", "tests PASSED by hand: # [ 50%]"),
    (
        "a sentence like a step's",
        "[ 50%] Building confidence in object #",
    ),
    ("a dead link", "Get:# the book back from the library"),
    ("JSON", "{\"level\":\"info\",\"id\":#,\"msg\":\"done\"}"),
    ("a heading of one's own", "Results…#"),
    ("a bullet of one's own", "• item number #"),
    ("a count of one's own", "retry (×#)"),
    ("a notice like ours", "npm notice↑#"),
    ("a time without a date", "12:#0:01 the pump is on"),
];

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides.max(1) as u64) as usize
    }
}

/// A line with one digit changed; `None` if it has none.
fn with_another_digit(line: &str, dice: &mut Dice) -> Option<String> {
    let digits: Vec<usize> = line
        .char_indices()
        .filter(|(_, c)| c.is_ascii_digit())
        .map(|(at, _)| at)
        .collect();
    let at = *digits.get(dice.roll(digits.len()))?;
    let digit = line.as_bytes()[at] - b'0';
    let other = (usize::from(digit) + 1 + dice.roll(9)) % 10;
    let mut changed = line.to_owned();
    changed.replace_range(at..=at, &other.to_string());
    Some(changed)
}

/// What is wrong after one insertion.
fn insert(case: &Case, dice: &mut Dice) -> Vec<String> {
    let mut lines: Vec<&str> = case.raw.split('\n').collect();
    let at = dice.roll(lines.len());
    let number = dice.roll(89) + 10;
    let which = dice.roll(KINDS.len() + 4);
    let (kind, line) = if let Some((kind, line)) = KINDS.get(which) {
        (*kind, line.replace('#', &number.to_string()))
    } else {
        let from = dice.roll(lines.len());
        let copy = with_another_digit(lines[from], dice);
        ("a copy with another digit", copy.unwrap_or_default())
    };
    lines.insert(at, &line);
    let text = lines.join("\n");
    let Some(shown) = digest(&case.command, case.exit, &text, Reach::All) else {
        return Vec::new();
    };
    let mut wrong = falsehoods(&text, &shown);
    // What a later frame overwrites on any terminal is not in the plain form either.
    let plain_line = plain_form(&line).unwrap_or_default();
    let count = |lines: &[String]| lines.iter().filter(|line| **line == plain_line).count();
    let lines = |text: &str| -> Vec<String> {
        let plain = plain_form(text).unwrap_or_default();
        plain.lines().map(str::to_owned).collect()
    };
    let before = digest(&case.command, case.exit, &case.raw, Reach::All);
    let shown_before = match &before {
        Some(before) => rebuild(&before.text),
        None => lines(&case.raw),
    };
    let is_in_plain = count(&lines(&text)) > count(&lines(&case.raw));
    if is_in_plain && count(&rebuild(&shown.text)) <= count(&shown_before) {
        let is_one_more = before.is_none_or(|before| before.left_out + 1 == shown.left_out);
        let is_counted = kind == "a copy with another digit" && is_one_more;
        if !is_counted {
            wrong.push(format!("{kind} is lost: {line}"));
        }
    }
    let place = format!("{}/{}, line {at}", case.tool, case.name);
    wrong
        .into_iter()
        .map(|wrong| format!("{place}: {wrong}"))
        .collect()
}

#[test]
fn a_line_of_the_users_is_in_the_text_wherever_it_stands() {
    let cases = cases();
    let soaks = std::env::var_os("BASHD_SOAK").is_some();
    let count = if soaks { MANY } else { FEW };
    let mut dice = Dice(2026);
    let mut wrong = Vec::new();
    for _ in 0..count {
        // Noise is left out of successful runs only, so most insertions are into those.
        let mut case = &cases[dice.roll(cases.len())];
        for _ in 0..2 {
            if case.exit != 0 {
                case = &cases[dice.roll(cases.len())];
            }
        }
        wrong.extend(insert(case, &mut dice));
    }
    println!(
        "{count} insertions of {} kinds, {} falsehoods or lost lines",
        KINDS.len() + 1,
        wrong.len()
    );
    assert!(wrong.is_empty(), "{} of {count}: {wrong:#?}", wrong.len());
}
