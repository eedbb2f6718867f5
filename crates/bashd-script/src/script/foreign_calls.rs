//! The calls of other languages that run something, remove something, or may.

use super::beginnings::Beginnings;
use super::name_hash::NameMap;
use std::sync::LazyLock;

/// Calls that run a script or a program, by the end of their names.
const RUNNING: [&str; 39] = [
    "Command",
    "system",
    "popen",
    "Popen",
    "run",
    "call",
    "check_call",
    "check_output",
    "getoutput",
    "getstatusoutput",
    "exec",
    "execSync",
    "execFile",
    "execFileSync",
    "spawn",
    "spawnSync",
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "execl",
    "execlp",
    "spawnl",
    "spawnlp",
    "spawnv",
    "spawnvp",
    "shell_exec",
    "passthru",
    "proc_open",
    "capture2",
    "capture2e",
    "capture3",
    "execute",
    "create_subprocess_shell",
    "create_subprocess_exec",
    "shell-command",
    "shell-command-to-string",
    "script",
    "$",
];

/// Calls that remove a whole tree.
const REMOVING: [&str; 15] = [
    "rmtree",
    "remove_tree",
    "rmSync",
    "rm",
    "rm_rf",
    "rm_r",
    "rmdirSync",
    "removeSync",
    "rimraf",
    "remove_dir",
    "remove_entry",
    "rimrafSync",
    "emptyDirSync",
    "emptyDir",
    "delete-directory",
];

/// Calls that may change or remove one file, or end processes.
const OTHERS: [&str; 14] = [
    "open",
    "unlink",
    "remove",
    "glob",
    "iglob",
    "Path",
    "kill",
    "eval",
    "compile",
    "walk",
    "listdir",
    "scandir",
    "readdirSync",
    "iterdir",
];

/// How the names of these calls begin: most names in a code are others.
pub(super) static CALLS: Beginnings = Beginnings::NONE.and(&RUNNING).and(&REMOVING).and(&OTHERS);

/// What a call does.
#[derive(Clone, Copy, Default)]
pub(super) struct ForeignDeed {
    pub(super) is_running: bool,
    pub(super) is_removing: bool,
}

/// The names in full, as a table: a code may have thousands that begin like them.
pub(super) static FOREIGN_CALLS: LazyLock<NameMap<ForeignDeed>> = LazyLock::new(|| {
    let mut kinds: NameMap<ForeignDeed> = NameMap::default();
    for name in RUNNING {
        kinds.entry(name).or_default().is_running = true;
    }
    for name in REMOVING {
        kinds.entry(name).or_default().is_removing = true;
    }
    for name in OTHERS {
        kinds.entry(name).or_default();
    }
    kinds
});
