//! Calls that wait before they may begin, for what a front end wants them to have.

use super::drafting::BeforeStart;
use super::{Engine, EngineCore};
use crate::call::Call;
use crate::error::{Error, ErrorKind};
use crate::exec::SHORTEST_WAIT;
use crate::reply::Reply;
use crate::request;
use std::future;
use std::pin::pin;
use std::time::Duration;

impl Engine {
    /// Waits for a call's place among those that run, but no longer than the call may wait for its
    /// command: then the reply says so. It is recorded like any other.
    pub async fn queued<T>(
        &self,
        call: &Call,
        place: impl Future<Output = T>,
    ) -> Result<T, Box<Reply>> {
        let mut place = pin!(place);
        tokio::select! {
            biased;
            place = &mut place => return Ok(place),
            // Mostly there is one at once, and nobody needs to know how long it may take.
            () = future::ready(()) => {}
        }
        let longest = self.0.longest_in_queue(call);
        let waited = tokio::time::timeout(longest, place).await;
        waited.map_err(|_| Box::new(self.fail(call, no_place_for(longest))))
    }
}

impl EngineCore {
    /// How long a call may wait before its command runs. One that would be refused waits shortly.
    fn longest_in_queue(&self, call: &Call) -> Duration {
        let read = || {
            let profile = self.profile(call.profile()).ok()?;
            let request = call.request(&profile).ok()?;
            let accepted = request::validate(&profile, &request).ok()?;
            Some(BeforeStart::of((&request, &accepted), call.came, &call.cancel).longest())
        };
        read().unwrap_or(SHORTEST_WAIT)
    }
}

/// The answer to a call for which there was no place in all its time.
fn no_place_for(longest: Duration) -> Error {
    let seconds = longest.as_secs_f64().round();
    let text = format!(
        "every place for a command was taken for {seconds} s, and nothing was run; try again when \
         other calls are over"
    );
    Error::new(ErrorKind::Io, text)
}
