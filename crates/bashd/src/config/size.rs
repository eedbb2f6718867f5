//! Sizes for people: `64MiB` to bytes and back.

/// The units, from large to small; the binary ones first, since they are what is printed.
const UNITS: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("KB", 1_000),
    ("B", 1),
];

/// Reads a whole number of bytes with an optional unit; `None` when it is neither or too large.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits_end = text.find(|character: char| !character.is_ascii_digit() && character != '_');
    let (digits, unit) = text.split_at(digits_end.unwrap_or(text.len()));
    let number: u64 = digits.replace('_', "").parse().ok()?;
    let unit = unit.trim_start();
    let factor = if unit.is_empty() {
        1
    } else {
        UNITS
            .iter()
            .find(|(name, _)| unit.eq_ignore_ascii_case(name))?
            .1
    };
    number.checked_mul(factor)
}

/// Writes bytes in the largest binary unit that divides them, so nothing is rounded.
pub fn exact(bytes: u64) -> String {
    UNITS
        .iter()
        .filter(|(name, _)| name.ends_with("iB"))
        .find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor))
        .map_or_else(
            || bytes.to_string(),
            |(name, factor)| format!("{}{name}", bytes / factor),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("4096", Some(4096)),
            ("64MiB", Some(64 << 20)),
            ("64 mib", Some(64 << 20)),
            ("10GB", Some(10_000_000_000)),
            ("1_000kB", Some(1_000_000)),
            ("", None),
            ("MiB", None),
            ("-1", None),
            ("1.5GiB", None),
            ("64M", None),
            ("64MiBs", None),
            ("99999999TiB", None),
            ("٣", None),
        ] {
            assert_eq!(parse(text), bytes, "of {text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(bytes: u64) {
            prop_assert_eq!(parse(&exact(bytes)), Some(bytes));
            prop_assert_eq!(parse(&exact(bytes & !0xf_ffff)), Some(bytes & !0xf_ffff));
        }

        #[test]
        fn no_text_breaks_the_reader(text: String) {
            let _ = parse(&text);
        }
    }
}
