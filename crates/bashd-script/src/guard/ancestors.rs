//! The processes above bashd: what ends them ends bashd, and often its caller.

/// A process above bashd.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ancestor {
    /// Its id.
    pub pid: u32,
    /// Its name, as `pkill` compares it.
    pub name: String,
    /// Its command line, joined by blanks, as `pkill -f` compares it.
    pub command_line: String,
}

impl Ancestor {
    /// A process of this id, name and command line.
    pub fn new(pid: u32, name: impl Into<String>, command_line: impl Into<String>) -> Self {
        Self {
            pid,
            name: name.into(),
            command_line: command_line.into(),
        }
    }
}

/// Tells the processes above bashd; asked only about commands that end processes.
pub type Ancestors = fn() -> &'static [Ancestor];

/// Nothing is known of them.
pub(crate) fn no_ancestors() -> &'static [Ancestor] {
    &[]
}
