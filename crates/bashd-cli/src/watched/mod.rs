//! The calls of all of this user's bashd processes, for every front end that shows them: `top`, the
//! console and the page.
//!
//! `calls` is what the feed tells; `deeds` is what a person does to a call, through its keeper or
//! through the question that it has open. Nothing here draws.

mod calls;
mod deeds;

#[cfg(test)]
pub(crate) use calls::tests::some as some_calls;
pub(crate) use calls::{WatchedCall, WatchedCalls, WatchedFilter, WatchedState};
pub(crate) use deeds::CallDeeds;
