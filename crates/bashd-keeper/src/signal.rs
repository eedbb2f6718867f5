//! Names of signals, for replies that say what killed a command.

/// The standard signals of Linux in the order of their numbers, from 1 on.
const NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// The name of a signal; real-time signals have none of their own.
pub fn name(signal: i32) -> &'static str {
    let index = usize::try_from(signal - 1).ok();
    index
        .and_then(|index| NAMES.get(index))
        .copied()
        .unwrap_or("a real-time signal")
}

/// The number of a signal by its name, with or without `SIG`, or by its number.
pub fn number(name: &str) -> Option<i32> {
    let upper = name.to_ascii_uppercase();
    let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
    let known = NAMES
        .iter()
        .position(|known| known.strip_prefix("SIG") == Some(bare));
    match known {
        Some(index) => Some(index as i32 + 1),
        None => bare.parse().ok().filter(|number| (1..=31).contains(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn numbers_have_their_names() {
        let known = [
            (libc::SIGHUP, "SIGHUP"),
            (libc::SIGKILL, "SIGKILL"),
            (libc::SIGTERM, "SIGTERM"),
            (libc::SIGCHLD, "SIGCHLD"),
            (libc::SIGXFSZ, "SIGXFSZ"),
            (libc::SIGSYS, "SIGSYS"),
        ];
        for (number, text) in known {
            assert_eq!(name(number), text);
        }
        assert_eq!(name(34), "a real-time signal");
        assert_eq!(name(0), "a real-time signal");
    }
}
