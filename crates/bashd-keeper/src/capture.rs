//! What a run is told about its output and about what it leaves: streams, quota, survivors.

/// How stdout and stderr are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Streams {
    /// One pipe: the order of stdout and stderr is true, but nobody can tell them apart.
    Merged,
    /// Two pipes: the streams are separate, but nobody can know their mutual order.
    Apart,
}

/// What happens to processes that outlive a normal exit of their shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Survivors {
    /// They stay, are reported, and keep a reader on their pipe.
    Keep,
    /// They are ended like a timed-out tree.
    End,
}

/// How many bytes of a run's output the spool keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Quota {
    /// Bytes from the start.
    pub head: u64,
    /// Bytes from the end.
    pub ring: u64,
}
