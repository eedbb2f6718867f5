//! Counts in texts for people, with a noun that agrees.

/// `1 byte`, `2 bytes`: the count, and the words that go with it.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    let words = if count == 1 { one } else { many };
    format!("{count} {words}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let texts = [0, 1, 2].map(|count| counted(count, "line matches", "lines match"));
        assert_eq!(texts, ["0 lines match", "1 line matches", "2 lines match"]);
    }
}
