//! The builtins of bash: the one list for every question about them.

/// Builtins whose names are not those of programs.
const ONLY_IN_BASH: [&str; 53] = [
    ".",
    ":",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "times",
    "trap",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Builtins that every system also has as programs, which do the same.
const ALSO_PROGRAMS: [&str; 8] = [
    "[", "echo", "false", "kill", "printf", "pwd", "test", "true",
];

/// The names of all builtins of bash.
pub fn builtins() -> impl Iterator<Item = &'static str> {
    ONLY_IN_BASH.into_iter().chain(ALSO_PROGRAMS)
}

/// Whether bash does this itself, and looks for no program of that name.
pub fn is_builtin(name: &str) -> bool {
    builtins().any(|builtin| builtin == name)
}

/// Whether this builtin has no program that does the same.
pub(super) fn is_only_in_bash(name: &str) -> bool {
    ONLY_IN_BASH.contains(&name)
}
