//! The contract of the tiers, checked by machine: what is shown can be read back.
//!
//! *Exact*: `rebuild` gives the plain form. *Noise*: what is missing is counted in the footer, by
//! kind and to the line. A line that is neither of the plain form nor a notice whose numbers hold
//! is a falsehood.

use crate::cases::{Case, cases};
use bashd_minimize::{
    Digest, FilterSettings, Reach, References, Subject, minimize, plain_form, rebuild,
    tells_of_trouble,
};

/// A digest with this reach; `None` where the text is shown as it is.
pub(crate) fn digest(command: &str, exit: i32, text: &str, reach: Reach) -> Option<Digest> {
    let settings = FilterSettings {
        reach,
        ..FilterSettings::default()
    };
    let subject = Subject {
        command,
        exit: Some(exit),
        text,
    };
    minimize(subject, &settings).ok()
}

fn plain_lines(text: &str) -> Vec<String> {
    let plain = plain_form(text).expect("a plain form");
    let plain = plain.strip_suffix('\n').unwrap_or(&plain);
    if plain.is_empty() {
        return Vec::new();
    }
    plain.split('\n').map(str::to_owned).collect()
}

/// What is false about a digest; nothing if all of it holds.
pub(crate) fn falsehoods(raw: &str, digest: &Digest) -> Vec<String> {
    let mut found = Vec::new();
    let plain = plain_lines(raw);
    let rebuilt = rebuild(&digest.text);
    // What is shown is the plain form with gaps, in its order.
    let mut kept = vec![false; plain.len()];
    let mut at = 0;
    let mut again = Vec::new();
    for line in &rebuilt {
        if line.starts_with(" [again ×") && !plain.contains(line) {
            again.push((at, line.clone()));
            continue;
        }
        match plain.iter().skip(at).position(|other| other == line) {
            Some(skipped) => {
                at += skipped;
                kept[at] = true;
                at += 1;
            }
            None => found.push(format!("neither a line of the text nor a notice: {line}")),
        }
    }
    let missing: Vec<&String> = plain
        .iter()
        .zip(&kept)
        .filter(|(_, kept)| !**kept)
        .map(|(line, _)| line)
        .collect();
    let footer = digest.text.lines().next_back().unwrap_or_default();
    let said = left_out(footer);
    if said != missing.len() as u64 || said != digest.left_out {
        found.push(format!(
            "the footer says {said}, {} are missing: {footer}",
            missing.len()
        ));
    }
    let lines = raw.strip_suffix('\n').unwrap_or(raw).split('\n').count();
    if !footer.contains(&format!("raw text has {lines} lines]")) {
        found.push(format!("not {lines} lines: {footer}"));
    }
    for (at, notice) in again {
        if !is_right_notice(&plain, at, &notice) {
            found.push(format!("the numbers are wrong: {notice}"));
        }
    }
    if digest.filter == "exact" && !missing.is_empty() {
        found.push("the exact tier left something out".to_owned());
    }
    found
}

/// The sum of the counts in `[minimized: left out 41 Compiling, 60 passed; …]`.
fn left_out(footer: &str) -> u64 {
    let Some((_, rest)) = footer.split_once("left out ") else {
        return 0;
    };
    if footer.contains("frames left out") && !footer.contains(": left out ") {
        return 0;
    }
    let kinds = rest.split(';').next().unwrap_or_default();
    kinds
        .split(", ")
        .map(|kind| {
            let number = kind.split(' ').next().unwrap_or_default();
            number.parse::<u64>().unwrap_or_else(|_| panic!("{footer}"))
        })
        .sum()
}

/// Whether ` [again ×3 until TIME, at most 2 s apart]` after these lines is true of the text: the
/// next three lines end as the line before does, and the last of them has that time.
fn is_right_notice(plain: &[String], at: usize, notice: &str) -> bool {
    let Some((times, rest)) = notice
        .strip_prefix(" [again ×")
        .and_then(|rest| rest.split_once(" until "))
    else {
        return false;
    };
    let Some((time, _)) = rest.split_once(", at most ") else {
        return false;
    };
    let times: usize = times.parse().unwrap_or(0);
    let first = &plain[at - 1];
    let said = |line: &str| {
        let from =
            line.find(|c: char| c.is_alphabetic() && !"TZJFMASONDIanebrpyulgcvot".contains(c));
        line.get(from.unwrap_or(0)..).unwrap_or_default().to_owned()
    };
    let following = plain.get(at..at + times).unwrap_or_default();
    following.len() == times
        && following.last().is_some_and(|last| last.contains(time))
        && following.iter().all(|line| said(line) == said(first))
}

#[test]
fn the_exact_tier_is_read_back_from_every_recorded_text() {
    for case in cases() {
        // As many ways as there are: with its own command, as any other, and failed.
        for (command, exit) in [(case.command.as_str(), case.exit), ("", 0), ("", 1)] {
            let Some(digest) = digest(command, exit, &case.raw, Reach::Lossless) else {
                continue;
            };
            let plain = plain_lines(&case.raw);
            let rebuilt = rebuild(&digest.text);
            assert!(
                rebuilt == plain,
                "{}/{}: {}",
                case.tool,
                case.name,
                first_difference(&rebuilt, &plain)
            );
            check_untouched(&case, &digest, &plain);
        }
    }
}

/// What a reference stands for may be in the part that a window leaves out.
#[test]
fn a_text_that_will_be_cut_refers_to_no_line_above() {
    let mut others = 0;
    for case in cases().iter().filter(|case| case.raw.len() > 8_000) {
        let with = |references| {
            let settings = FilterSettings {
                references,
                ..FilterSettings::default()
            };
            let subject = Subject {
                command: &case.command,
                exit: Some(case.exit),
                text: &case.raw,
            };
            let digest = minimize(subject, &settings).ok();
            digest.map(|digest| (falsehoods(&case.raw, &digest), digest.text))
        };
        if let Some((falsehoods, text)) = with(References::Never) {
            assert!(!text.contains(" rest as above"), "{}", case.name);
            assert_eq!(falsehoods, Vec::<String>::new(), "{}", case.name);
        }
        let made = with(References::Made).is_some_and(|(_, text)| text.contains(" rest as above"));
        others += usize::from(made);
    }
    assert!(others > 20, "only {others} texts have references");
}

fn first_difference(one: &[String], other: &[String]) -> String {
    let at = one.iter().zip(other).position(|(one, other)| one != other);
    let at = at.unwrap_or(one.len().min(other.len()));
    format!(
        "line {at}: {:?} instead of {:?}",
        one.get(at),
        other.get(at)
    )
}

/// A line with trouble stands as it was.
fn check_untouched(case: &Case, digest: &Digest, plain: &[String]) {
    let shown: std::collections::HashSet<&str> = digest.text.split('\n').collect();
    for line in plain.iter().filter(|line| tells_of_trouble(line)) {
        assert!(
            shown.contains(line.as_str()),
            "{}/{} touched: {line}",
            case.tool,
            case.name
        );
    }
}

#[test]
fn every_tier_tells_the_truth_about_every_recorded_text() {
    let mut wrong = Vec::new();
    for case in cases() {
        for exit in [case.exit, 0, 1] {
            let Some(digest) = digest(&case.command, exit, &case.raw, Reach::All) else {
                continue;
            };
            assert!(
                exit == 0 || digest.left_out == 0,
                "{}/{}",
                case.tool,
                case.name
            );
            for falsehood in falsehoods(&case.raw, &digest) {
                wrong.push(format!("{}/{} ({exit}): {falsehood}", case.tool, case.name));
            }
            check_places(&case, &digest);
        }
    }
    assert!(wrong.is_empty(), "{} falsehoods: {wrong:#?}", wrong.len());
}

/// A line without addresses of links: one stands behind its words once in a text.
fn without_links(line: &str) -> String {
    let mut pieces = line.split(" <");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once('>') {
            Some((address, rest)) if address.contains("://") => out.push_str(rest),
            _ => out.push_str(piece),
        }
    }
    out
}

/// Each shown line that stands for itself has the number of that line in the raw text.
fn check_places(case: &Case, digest: &Digest) {
    let places = digest.places();
    let shown: Vec<&str> = digest.text.lines().collect();
    assert_eq!(places.len(), shown.len(), "{}/{}", case.tool, case.name);
    let raw: Vec<&str> = case.raw.split('\n').collect();
    let has_frames = digest.text.contains("overwritten frames left out");
    for (at, place) in places.iter().enumerate() {
        assert!(place.heading.is_none_or(|heading| heading < at));
        let (Some(number), None, false) = (place.raw_line, place.heading, has_frames) else {
            continue;
        };
        let line = raw[number as usize - 1];
        let plain = plain_form(line.trim_end_matches('\r')).expect("a line");
        let is_itself = plain == shown[at]
            || without_links(&plain) == without_links(shown[at])
            || shown[at].contains('\u{1b}') && line == shown[at]
            || shown[at].starts_with('[')
            || shown[at].contains(['…', '⋯', '◌', '•', '¶', '§', '↑', '†', '‡'])
            || shown[at].starts_with(&format!("{plain} (×"));
        assert!(
            is_itself,
            "{}/{}: line {number} is {line:?}, shown {:?}",
            case.tool, case.name, shown[at]
        );
    }
    assert_eq!(places.last().and_then(|place| place.raw_line), None);
}
