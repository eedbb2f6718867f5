//! What somebody meant who wrote a name that does not exist.

/// The one of these names that is probably meant, if one is near enough.
///
/// ```
/// let known = ["voice", "default", "pi"];
/// assert_eq!(bashd::slip::meant("voic", known), Some("voice"));
/// assert_eq!(bashd::slip::meant("x", known), None);
/// ```
pub fn meant<'n>(unknown: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let letters = unknown.chars().count();
    // Long names bear more slips; with every letter another, nothing was meant.
    let most = (letters / 4).clamp(2, 5);
    let folded = unknown.to_lowercase().replace('-', "_");
    let near = names.into_iter().map(|name| {
        let distance = strsim::damerau_levenshtein(&name.to_lowercase().replace('-', "_"), &folded);
        (distance, name)
    });
    let near = near.filter(|(distance, _)| *distance <= most && *distance < letters);
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told_from_other_names() {
        let known = ["no_force_push", "no_root_delete", "pi", "voice"];
        for (unknown, name) in [
            ("no_force_psh", Some("no_force_push")),
            ("No-Force-Push", Some("no_force_push")),
            ("no_root_deletion", Some("no_root_delete")),
            ("voic", Some("voice")),
            ("x", None),
            ("xy", None),
            ("", None),
            ("something", None),
        ] {
            assert_eq!(meant(unknown, known), name, "{unknown}");
        }
    }
}
