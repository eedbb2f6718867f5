//! Where a line may be cut for a heading: never within a word or a number, so that nobody reads a
//! piece of a version as a whole one.

/// What a version may end in after its last dot. Other letters there are the kind of a file.
const OF_VERSIONS: [&str; 10] = [
    "dev", "alpha", "beta", "rc", "pre", "post", "final", "release", "snapshot", "ga",
];

/// Longest name of a file's kind, as in `a.properties`.
const LONGEST_KIND: usize = 10;

/// Whether what stands before this place in a line is whole, as it is read: `shop` of `shop.c` is,
/// `v7.4` of `v7.4.0` is not.
pub(super) fn is_whole(line: &str, at: usize) -> bool {
    let (before, after) = line.split_at_checked(at).unwrap_or_default();
    let (Some(last), Some(first)) = (before.chars().next_back(), after.chars().next()) else {
        return true;
    };
    match first {
        '.' => is_kind_of_file(last, after.get(1..).unwrap_or_default()),
        ':' | '/' | ',' | '-' | '+' => !(last.is_ascii_digit() && begins_with_digit(after)),
        first => !(is_of_word(first) && (is_of_word(last) || last == '.')),
    }
}

/// Whether a number is cut by a beginning that ends here: `1,` of `1,234`.
pub(super) fn in_number(line: &str, at: usize) -> bool {
    let (before, after) = line.split_at_checked(at).unwrap_or_default();
    let number = before.strip_suffix(',').unwrap_or_default();
    number.ends_with(|c: char| c.is_ascii_digit())
        && after.starts_with(|c: char| c.is_ascii_digit())
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn begins_with_digit(after: &str) -> bool {
    after.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
}

/// Whether these letters after a dot are the kind of a file.
fn is_kind_of_file(last: char, after: &str) -> bool {
    let end = after.find(|c: char| !is_of_word(c)).unwrap_or(after.len());
    let (kind, rest) = after.split_at(end);
    let is_kind = !kind.is_empty()
        && kind.len() <= LONGEST_KIND
        && kind.bytes().all(|byte| byte.is_ascii_alphabetic());
    // `1.5.0.txt`, but not `1.0.dev`; nor the middle of `1.0.x.3`.
    let is_of_version = OF_VERSIONS
        .iter()
        .any(|of_version| kind.eq_ignore_ascii_case(of_version));
    let goes_on = rest.starts_with('.') && begins_with_digit(rest);
    is_kind && !goes_on && !(last.is_ascii_digit() && is_of_version) && last != '.'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_not_cut() {
        for (before, after) in [
            ("v7.4", ".0)"),
            ("numpy v2.3", ".10"),
            ("took 2", ".25s"),
            ("lagoon (1.4", ".1-3) ..."),
            ("5.3.1", ".RELEASE"),
            ("at 12", ":00 UTC"),
            ("step 2", "/30 of it"),
            ("12", ",000 rows"),
            ("ab", "cd ok"),
            ("a_", "b ok"),
        ] {
            let line = format!("{before}{after}");
            assert!(!is_whole(&line, before.len()), "{before}|{after}");
        }
        for (before, after) in [
            ("shop", ".c -o"),
            ("git/1.5.0", ".txt"),
            ("a::b", " ... ok"),
            ("src/a", "/mod.rs"),
            ("name", ": x"),
            ("1.17.1-3", " [amd64]"),
            ("f", "(x)"),
            ("", ".c"),
        ] {
            let line = format!("{before}{after}");
            assert!(is_whole(&line, before.len()), "{before}|{after}");
        }
        assert!(in_number("rows: 1,234", 8));
        assert!(!in_number("a, b", 2));
    }
}
