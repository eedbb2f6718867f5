//! Jobs on the real engine. Each file below shows one side of them.
//!
//! | file | shows |
//! |---|---|
//! | `asking` | whether a job waits for input, as far as the kernel tells |
//! | `call_terms` | what a call was that went to the background, and how many there may be |
//! | `confined` | jobs in a confinement: their namespace is theirs, and ends with them |
//! | `crowds` | many jobs and hostile trees: none is lost, none survives its end |
//! | `delivery` | the end of a job on its way to its owner: once, and again where that failed |
//! | `faults` | bad directories, lost keepers, clocks, no descriptors: a clear state, no hang |
//! | `life` | from start to end: handing over, states, early endings, limits, names |
//! | `owners` | whose jobs and sessions are whose; jobs of clients that are gone |
//! | `pi_async` | `pi`: async, auto-background, list, poll, cancel |
//! | `phoenix_background` | the background mode of `phoenix`'s document |
//! | `resources` | limits of memory, processor time and processes |
//! | `running` | runs whose calls still wait, as other processes see them |
//! | `screen` | full-screen programs, driven by keys and read as pictures |
//! | `session_jobs` | calls of a session that go to the background, and the session after that |
//! | `tool` | the job tool of the default profile, question by question |
//! | `waiting` | waiting for ends, lines, ports, addresses, silence, with real servers |
//! | `workshop` | (no tests) an engine whose jobs may stay, and shortcuts to look at them |

mod asking;
mod call_terms;
mod confined;
mod crowds;
mod delivery;
mod faults;
mod life;
mod owners;
mod phoenix_background;
mod pi_async;
mod resources;
mod running;
mod screen;
mod session_jobs;
mod tool;
mod waiting;
mod workshop;
