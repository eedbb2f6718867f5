//! The console as a person meets it: in a real terminal, which is tmux.
//!
//! | file | shows |
//! |---|---|
//! | `approving` | the person at a terminal is asked by `bashd run`, and `bashd grants` |
//! | `commands` | a person's own commands, their terminals, the prompt, an agent's calls |
//! | `elsewhere` | runs and jobs of other processes, stored output |
//! | `leaving` | that every end gives the terminal back |
//! | `looks` | sizes, colors, terminals in terminals, and the views in `docs/console.md` |
//! | `over_ssh` | the console at the other end of a real ssh |
//! | `tmux` | (no tests) a tmux of our own |

mod approving;
mod commands;
mod elsewhere;
mod leaving;
mod looks;
mod over_ssh;
mod tmux;
