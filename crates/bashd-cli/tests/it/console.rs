//! The console as a person meets it: in a real terminal, which is tmux.
//!
//! | file | shows |
//! |---|---|
//! | `approving` | the person at a terminal is asked by `bashd run`, and `bashd grants` |
//! | `commands` | a person's own commands, their terminals, the prompt, an agent's calls |
//! | `elsewhere` | runs and jobs of other processes, stored output |
//! | `lasting` | keys after much output, and memory after many runs |
//! | `leaving` | that every end gives the terminal back |
//! | `looks` | sizes, colors, terminals in terminals, and the views in `docs/console.md` |
//! | `pages` | what ran is scrolled, searched, copied and opened |
//! | `over_ssh` | the console at the other end of a real ssh |
//! | `tour` | real programs one after the other, each screen as it was recorded |
//! | `tmux` | (no tests) a tmux of our own |

mod approving;
mod commands;
mod elsewhere;
mod lasting;
mod leaving;
mod looks;
pub(crate) mod over_ssh;
mod pages;
pub(crate) mod tmux;
mod tour;
