//! Prefixes of names, for questions about every command that must answer no quickly.

/// Prefixes of names by their first two letters: a row for the first, a bit for the second.
pub(crate) struct Beginnings([u32; 32]);

impl Beginnings {
    /// The prefixes of no name.
    pub(crate) const NONE: Self = Self([0; 32]);

    /// Adds the prefixes of these names.
    pub(crate) const fn and(self, names: &[&str]) -> Self {
        self.and_after(0, names)
    }

    /// Adds what these names go on with behind so many letters.
    pub(crate) const fn and_after(mut self, letters: usize, names: &[&str]) -> Self {
        let mut rest = names;
        while let [name, after @ ..] = rest {
            let (_, name) = name.as_bytes().split_at(letters);
            if let [first, second, ..] = name {
                self.0[row(*first)] |= bit(*second);
            }
            rest = after;
        }
        self
    }

    /// Adds the prefixes of the names in a table: before the first tab of each line that is no
    /// comment, with commas between them.
    pub(crate) const fn and_table(mut self, table: &str) -> Self {
        let mut rest = table.as_bytes();
        let mut is_name = true;
        let mut is_start = true;
        while let [byte, after @ ..] = rest {
            match *byte {
                b'\n' => (is_name, is_start) = (true, true),
                b'#' if is_start => is_name = false,
                b'\t' => is_name = false,
                b',' => is_start = is_name,
                first => {
                    if is_name
                        && is_start
                        && let [second, ..] = after
                    {
                        self.0[row(first)] |= bit(*second);
                    }
                    is_start = false;
                }
            }
            rest = after;
        }
        self
    }

    /// Whether one of them may begin with these letters.
    pub(crate) const fn may_begin_with(&self, first: u8, second: u8) -> bool {
        self.0[row(first)] & bit(second) != 0
    }

    /// Whether a name may begin like one of them, or be one. If the answer is no, it certainly does
    /// not.
    pub(crate) fn may_have(&self, name: &str) -> bool {
        match name.as_bytes() {
            [first, second, ..] => self.may_begin_with(*first, *second),
            // One letter says too little.
            _ => true,
        }
    }
}

const fn row(letter: u8) -> usize {
    (letter & 31) as usize
}

const fn bit(letter: u8) -> u32 {
    1 << (letter & 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_no_only_where_it_is_sure() {
        const SOME: Beginnings = Beginnings::NONE.and(&["rm", "-"]).and(&["git"]);
        const TABLE: Beginnings = Beginnings::NONE.and_table("# no\nrm,git x\tls\nenv\tdd,cp\n");
        for name in ["rm", "rmdir", "git", "git-add", "gist", "-", "[", ""] {
            assert!(SOME.may_have(name), "{name}");
        }
        for name in ["ls", "gs", "tm", "--"] {
            assert!(!SOME.may_have(name), "{name}");
        }
        for name in ["rm", "git", "env"] {
            assert!(TABLE.may_have(name), "{name}");
        }
        for name in ["ls", "no", "dd", "cp"] {
            assert!(!TABLE.may_have(name), "{name}");
        }
    }
}
