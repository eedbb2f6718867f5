//! `bashd web`: who gets in, what the stream says, what is done to runs; and the page in a browser.
//!
//! `server` is a server with a browser that only sends requests; `browser` is a real one.

mod access;
mod browser;
mod now;
mod past;
mod runs;
pub(crate) mod server;
