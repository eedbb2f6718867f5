//! Lists in which the common beginning of neighbours is written once: `a::{b, c}, d`.

/// The items in a row.
pub(crate) fn list(items: &[&str]) -> String {
    let mut text = String::new();
    let mut index = 0;
    while let Some(item) = items.get(index) {
        if index > 0 {
            text.push_str(", ");
        }
        let stem = stem(item);
        let rest = items.get(index..).unwrap_or_default();
        let alike = rest.iter().take_while(|other| self::stem(other) == stem);
        let count = alike.count();
        if count > 1 && !stem.is_empty() {
            let ends = rest.iter().take(count);
            let ends: Vec<&str> = ends
                .map(|other| other.get(stem.len()..).unwrap_or_default())
                .collect();
            text.push_str(stem);
            text.push('{');
            text.push_str(&ends.join(", "));
            text.push('}');
        } else {
            text.push_str(item);
        }
        index += if stem.is_empty() { 1 } else { count };
    }
    text
}

/// An item up to the last separator of its path.
fn stem(item: &str) -> &str {
    let after = |separator: &str| item.rfind(separator).map(|at| at + separator.len());
    let parts = after("::")
        .max(after("/"))
        .max(after(" › "))
        .max(after(" > "));
    let end = parts.or_else(|| after(".")).unwrap_or(0);
    item.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_path_stand_in_braces() {
        assert_eq!(list(&["a::b", "a::c", "d", "e/f"]), "a::{b, c}, d, e/f");
        assert_eq!(list(&["x"]), "x");
        assert_eq!(list(&[]), "");
    }
}
