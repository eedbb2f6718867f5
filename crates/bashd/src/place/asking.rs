//! A question to a program of the user's, such as `podman inspect` or `kubectl get`: its answer
//! within a bound, or why there is none.
//!
//! What such a program says of a place is told in its own words; what it fails to say is no answer.

use super::carrier::Carrier;
use std::ffi::OsString;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Bytes of an answer.
const LONGEST_ANSWER: usize = 1024 * 1024;

/// How long a program has to end after it closed its stdout.
const ENDING: Duration = Duration::from_secs(2);

/// What it wrote to stdout, if it succeeded; else its own words.
pub(super) async fn ask(
    words: &[String],
    env: &[(OsString, OsString)],
    input: &[u8],
    most: Duration,
) -> Result<String, String> {
    let program = words.first().map_or("", String::as_str);
    let started = Carrier::start(words, env, most).await;
    let (carrier, (mut to_it, mut from_it)) =
        started.map_err(|error| format!("{program} can't be started: {error}"))?;
    let asking = async {
        // One that reads nothing has its reasons, and says them.
        let _ = to_it.write_all(input).await;
        drop(to_it);
        let (mut answer, mut buffer) = (Vec::new(), vec![0; 16 * 1024]);
        loop {
            match from_it.read(&mut buffer).await? {
                0 => return io::Result::Ok(answer),
                count => answer.extend(buffer.get(..count).unwrap_or_default()),
            }
            if answer.len() > LONGEST_ANSWER {
                return Err(io::Error::other("it does not stop to answer"));
            }
        }
    };
    let answered = timeout(most, asking).await;
    let answer = match answered {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(format!("{program}: {error}")),
        Err(_) => {
            let words = carrier.last_words();
            let text = format!("{program} did not answer within {} s", most.as_secs());
            return Err(if words.is_empty() {
                text
            } else {
                format!("{text}: {words}")
            });
        }
    };
    match carrier.succeeded_within(ENDING).await {
        Some(true) => Ok(String::from_utf8_lossy(&answer).into_owned()),
        Some(false) => Err(carrier.last_words()),
        None => Err(format!("{program} answered and did not end")),
    }
}
