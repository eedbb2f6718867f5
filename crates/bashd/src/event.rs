//! What a running call reports: started, output, finished.

use crate::reply::Reply;

/// One event of a streaming run. `Finished` is always the last, and always comes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// The place at which the command will run is being made ready; an empty text once it is.
    Preparing {
        /// What is waited for.
        text: String,
    },
    /// The shell is running.
    Started {
        /// The shell's process id, which is also its process group and session.
        pid: i32,
    },
    /// The command runs in a terminal of the client; sent instead of `Started`.
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
    /// The end of the output so far; sent instead of [`Event::Output`] on request.
    Excerpt(Excerpt),
    /// The call is over.
    Finished(Box<Reply>),
}

/// The end of a command's output at some moment, as plain text of at most 50 KiB.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Excerpt {
    /// Without escape sequences, `\r` shown as its last frame; stdout before stderr if they are
    /// separate.
    pub text: String,
    /// Bytes that the command has written so far.
    pub bytes: u64,
    /// Newlines that the command has written so far.
    pub lines: u64,
}

/// Which of a command's output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// stdout, or stdout and stderr in the order written if the profile merges them.
    Out,
    /// stderr, if the profile keeps the streams separate.
    Err,
}
