//! Arithmetic whose operands are known: `${x:$((1-1)):1}`.

/// How deep parentheses may nest.
const MOST_DEPTH: usize = 16;

/// The value of an expression, if every variable in it is known.
pub(super) fn value(expression: &str, variable: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
    let mut reader = Arithmetic {
        rest: expression,
        variable,
        depth: 0,
    };
    let value = reader.sum()?;
    reader.skip_blanks();
    reader.rest.is_empty().then_some(value)
}

struct Arithmetic<'a> {
    rest: &'a str,
    variable: &'a dyn Fn(&str) -> Option<i64>,
    depth: usize,
}

impl Arithmetic<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn takes(&mut self, signs: &[char]) -> Option<char> {
        self.skip_blanks();
        let first = self.rest.chars().next().filter(|c| signs.contains(c))?;
        self.rest = self.rest.get(first.len_utf8()..)?;
        Some(first)
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while let Some(sign) = self.takes(&['+', '-']) {
            let other = self.product()?;
            value = match sign {
                '+' => value.checked_add(other)?,
                _ => value.checked_sub(other)?,
            };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.operand()?;
        while let Some(sign) = self.takes(&['*', '/', '%']) {
            let other = self.operand()?;
            value = match sign {
                '*' => value.checked_mul(other)?,
                '/' => value.checked_div(other)?,
                _ => value.checked_rem(other)?,
            };
        }
        Some(value)
    }

    fn operand(&mut self) -> Option<i64> {
        if self.depth > MOST_DEPTH {
            return None;
        }
        match self.takes(&['(', '-', '+', '$']) {
            Some('(') => {
                self.depth += 1;
                let value = self.sum()?;
                self.depth -= 1;
                self.takes(&[')'])?;
                Some(value)
            }
            Some('-') => {
                self.depth += 1;
                let value = self.operand()?.checked_neg();
                self.depth -= 1;
                value
            }
            Some('+') => {
                self.depth += 1;
                let value = self.operand();
                self.depth -= 1;
                value
            }
            _ => self.atom(),
        }
    }

    fn atom(&mut self) -> Option<i64> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '#' | '{' | '}');
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        let word = word.trim_start_matches('{').trim_end_matches('}');
        if word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return (self.variable)(word);
        }
        if let Some((base, digits)) = word.split_once('#') {
            return i64::from_str_radix(
                digits,
                base.parse().ok().filter(|base| (2..=36).contains(base))?,
            )
            .ok();
        }
        if let Some(digits) = word.strip_prefix("0x").or(word.strip_prefix("0X")) {
            return i64::from_str_radix(digits, 16).ok();
        }
        match word.strip_prefix('0') {
            Some(digits) if !digits.is_empty() => i64::from_str_radix(digits, 8).ok(),
            _ => word.parse().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_as_the_shell_does() {
        let variable = |name: &str| (name == "x").then_some(7);
        for (expression, expected) in [
            ("1 + 2 * 3", Some(7)),
            ("(1+2)*3 - -1", Some(10)),
            ("x % 4", Some(3)),
            ("$x - ${x}", Some(0)),
            ("0x10 + 010 + 2#11", Some(27)),
            ("y", None),
            ("1 / 0", None),
            ("1 2", None),
            ("", None),
        ] {
            assert_eq!(value(expression, &variable), expected, "{expression}");
        }
    }
}
