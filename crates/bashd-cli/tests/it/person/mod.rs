//! A person at a terminal, in tmux: typing at commands and jobs, lists and messages, what others
//! wrote, notices, `top`.

mod escapes;
mod lists;
mod notices;
pub(crate) mod top;
mod typing;
