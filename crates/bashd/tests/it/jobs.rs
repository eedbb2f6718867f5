//! Jobs on the real engine. Each file below shows one side of them.
//!
//! | file | shows |
//! |---|---|
//! | `crowds` | many jobs and hostile trees: none is lost, none survives its end |
//! | `faults` | bad directories, lost keepers, clocks, no descriptors: a clear state, nothing hangs |
//! | `life` | from start to end: handing over, states, early endings, limits, names |
//! | `pi_async` | `pi`: async, auto-background, list, poll, cancel |
//! | `phoenix_background` | the background mode of `phoenix`'s document |
//! | `running` | runs whose calls still wait, as other processes see them |
//! | `screen` | full-screen programs, driven by keys and read as pictures |
//! | `tool` | the job tool of the default profile, question by question |
//! | `waiting` | waiting for ends, lines, ports, addresses, silence, with real servers |
//! | `workshop` | (no tests) an engine whose jobs may stay, and shortcuts to look at them |

mod crowds;
mod faults;
mod life;
mod phoenix_background;
mod pi_async;
mod running;
mod screen;
mod tool;
mod waiting;
mod workshop;
