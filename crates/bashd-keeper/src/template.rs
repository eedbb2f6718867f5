//! Filling `{placeholders}` in a profile's texts.
//!
//! One pass over the template: filled-in text is never scanned again, so a command's output that
//! happens to contain `{tail}` stays as it is. An unknown name, and any other brace, is kept as
//! written.

/// Fills the placeholders of `template` with `values`.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    fill_with(template, |name| {
        let (_, value) = values.iter().find(|(known, _)| *known == name)?;
        Some(*value)
    })
}

/// Fills the placeholders of `template` with what `value` knows; it is only asked for those that
/// the template has.
pub fn fill_with<T: AsRef<str>>(template: &str, value: impl Fn(&str) -> Option<T>) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let known = after.split_once('}').and_then(|(name, behind)| {
            let value = value(name).filter(|_| is_word(name))?;
            Some((value, behind))
        });
        if let Some((value, behind)) = known {
            filled.push_str(value.as_ref());
            rest = behind;
        } else {
            filled.push('{');
            rest = after;
        }
    }
    filled.push_str(rest);
    filled
}

/// Names the first `{word}` of `template` that is not in `allowed`, if there is one.
pub fn unknown_placeholder<'a>(template: &'a str, allowed: &[&str]) -> Option<&'a str> {
    let openings = template.split('{').skip(1);
    openings
        .filter_map(|after| after.split_once('}'))
        .map(|(name, _)| name)
        .find(|name| is_word(name) && !allowed.contains(name))
}

fn is_word(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_once_and_keeps_what_it_does_not_know() {
        let values = [("head", "a{tail}b"), ("tail", "z")];
        assert_eq!(
            fill("{head}|{tail}|{other}|{{head}}|{", &values),
            "a{tail}b|z|{other}|{a{tail}b}|{"
        );
    }

    #[test]
    fn names_the_first_unknown_placeholder() {
        assert_eq!(
            unknown_placeholder("{head} {foo} {bar}", &["head"]),
            Some("foo")
        );
        assert_eq!(
            unknown_placeholder("{head} {\"json\": 1} {", &["head"]),
            None
        );
    }
}
