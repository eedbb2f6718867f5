//! What a running call tells while it runs: started, output, finished.

use crate::reply::Reply;

/// One event of a streaming run. `Finished` is always the last, and always comes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// The shell is running.
    Started {
        /// The shell's process id, which is also its process group and session.
        pid: i32,
    },
    /// The command runs in a terminal of the client's, instead of `Started`.
    Terminal {
        /// The client's name for it.
        id: String,
    },
    /// The command wrote something.
    Output {
        /// Which stream.
        stream: Stream,
        /// Where in the stream the text begins, counted in the bytes that the command wrote.
        offset: u64,
        /// Decoded text, in order; a character split over two reads arrives whole.
        text: String,
    },
    /// The end of the output by now; instead of [`Event::Output`], where that was asked for.
    Snapshot(Snapshot),
    /// The call is over.
    Finished(Box<Reply>),
}

/// The end of a command's output at some moment, as plain text of at most 50 KiB.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// Without escape sequences, `\r` shown as its last frame; stdout before stderr where they are apart.
    pub text: String,
    /// Bytes that the command wrote so far.
    pub bytes: u64,
    /// Newlines that the command wrote so far.
    pub lines: u64,
}

/// Which of a command's output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// stdout, or stdout and stderr in true order where the profile merges them.
    Out,
    /// stderr, where the profile keeps the streams apart.
    Err,
}
