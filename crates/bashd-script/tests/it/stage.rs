//! Where scripts run under real bash: a directory with stubs in place of the programs that could do
//! harm, a few harmless ones, and nothing else.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How long they may take together: also where the machine does something else for minutes, and
/// stops who runs a hundred thousand of them.
const SECONDS: &str = "1200";

/// A user without rights and without processes, as whom root has scripts run.
const SCRIPTS_USER: u32 = 64_533;

/// Programs that a stub stands for.
const STUBS: [&str; 14] = [
    "rm",
    "git",
    "dd",
    "mkfs.ext4",
    "chmod",
    "chown",
    "shred",
    "wipefs",
    "sudo",
    "docker",
    "kubectl",
    "terraform",
    "dropdb",
    "systemctl",
];

/// What a stub does: it writes down how many words it has, its name and the words. A word may have
/// lines of its own.
const NOTED: &str = "#!/bin/sh\nprintf '%s\\0' $# \"${0##*/}\" \"$@\" >> \"$LOG\"\n";

/// What the stub of git does then: it runs what git would run.
const GIT: &str = r#"
case "$1 $2" in
'-c alias.'*=!*) [ "$3" = zz ] && exec bash -c "${2#*=!}" ;;
'config alias.zz') printf '%s' "$3" > "$LOG.alias" ;;
'bisect run') shift 2; exec "$@" ;;
'submodule foreach') exec bash -c "$3" ;;
'rebase -x') exec bash -c "$3" ;;
esac
[ "$1" = zz ] || exit 0
text=$GIT_CONFIG_VALUE_0
unset GIT_CONFIG_VALUE_0
if [ -z "$text" ] && [ -e "$LOG.alias" ]; then text=$(cat "$LOG.alias"); : > "$LOG.alias"; fi
exec bash -c "${text#!}"
"#;

/// Stubs of programs that run what they are given: what they do, and their names.
const RUNNERS: [(&str, &[&str]); 4] = [
    (
        "#!/bin/bash\nwhile [ $# -gt 0 ]; do case $1 in -c | -qc) exec bash -c \"$2\" ;; esac; shift; done\n",
        &["su", "runuser", "script", "npx", "npm"],
    ),
    (
        "#!/bin/bash\nwhile :; do case $1 in -n1 | host) shift ;; *) break ;; esac; done; exec bash -c \"$*\"\n",
        &["ssh", "watch"],
    ),
    (
        "#!/bin/bash\nwhile :; do case $1 in -* | run | exec) shift ;; *) break ;; esac; done; exec \"$@\"\n",
        &[
            "uv", "poetry", "pipenv", "bundle", "doas", "prlimit", "setpriv", "nsenter",
        ],
    ),
    (
        "#!/bin/bash\nc=; while [ $# -gt 0 ] && [ \"$1\" != ::: ]; do c+=\"$1 \"; shift; done\n\
         if [ $# -gt 0 ]; then shift; for a; do bash -c \"$c$a\"; done\n\
         else while read -r a; do bash -c \"$c$a\"; done; fi\n",
        &["parallel"],
    ),
];

/// Harmless programs that scripts may use.
const TOOLS: [&str; 31] = [
    "cat", "base64", "rev", "tr", "sed", "cut", "head", "tail", "env", "xargs", "nice", "timeout",
    "tee", "nohup", "sh", "bash", "printf", "echo", "find", "dirname", "perl", "awk", "cp", "mv",
    "stdbuf", "setsid", "flock", "python3", "xxd", "sort", "basename",
];

/// A directory with stubs, tools and what they wrote down.
pub(crate) struct Stage {
    root: PathBuf,
}

impl Stage {
    pub(crate) fn new(root: &Path) -> Self {
        let path = root.join("path");
        fs::create_dir_all(&path).expect("a directory for programs");
        let install = |name: &str, script: &str| {
            let file = path.join(name);
            fs::write(&file, script).expect("a stub");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("its mode");
        };
        for stub in STUBS {
            let then = if stub == "git" { GIT } else { "" };
            install(stub, &format!("{NOTED}{then}"));
        }
        for (script, names) in RUNNERS {
            for name in names {
                install(name, script);
            }
        }
        for tool in TOOLS {
            let found = ["/bin", "/usr/bin"]
                .iter()
                .map(|place| Path::new(place).join(tool));
            let found = found.into_iter().find(|place| place.exists());
            if let Some(found) = found {
                std::os::unix::fs::symlink(found, path.join(tool)).expect("a tool");
            }
        }
        Self {
            root: root.to_owned(),
        }
    }

    /// Runs scripts one after the other, each in a shell of its own; what stubs each has called.
    pub(crate) fn run(&self, scripts: &[&str]) -> Vec<Vec<Vec<String>>> {
        let work = self.root.join("work");
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(&work).expect("a directory to run in");
        for (index, script) in scripts.iter().enumerate() {
            fs::write(work.join(format!("{index}.script")), script).expect("a script");
        }
        // A script that does not end, or starts itself, must not take the machine with it, nor the
        // other scripts: a text that evaluates its own arguments may evaluate itself. What it has
        // called until then counts. No limit on processes binds root.
        let driver = "ulimit -u 1000; i=0; while [ $i -lt $COUNT ]; do export LOG=$PWD/$i.log; \
                      echo $i >at; ( ulimit -t 3; . ./$i.script ) </dev/null >/dev/null 2>&1; \
                      i=$((i+1)); done";
        let mut command = Command::new("timeout");
        if fs::metadata(&work).is_ok_and(|work| work.uid() == 0) {
            let open = fs::Permissions::from_mode(0o711);
            fs::set_permissions(&self.root, open).expect("a way to it");
            chown(&work, Some(SCRIPTS_USER), Some(SCRIPTS_USER)).expect("a directory of its user");
            command.uid(SCRIPTS_USER).gid(SCRIPTS_USER);
        }
        let status = command
            .args(["--signal=KILL", SECONDS, "/bin/bash"])
            .args(["--norc", "--noprofile", "-c", driver])
            .current_dir(&work)
            .env_clear()
            .env("PATH", self.root.join("path"))
            .env("HOME", &work)
            .env("COUNT", scripts.len().to_string())
            .stdin(Stdio::null())
            .status();
        let last = || {
            let at = fs::read_to_string(work.join("at")).unwrap_or_default();
            let at: Option<usize> = at.trim().parse().ok();
            at.and_then(|at| scripts.get(at))
        };
        assert!(
            status.expect("bash").success(),
            "the driver failed, or took {SECONDS} s, at this script: {:?}",
            last()
        );
        let called = |index: usize| {
            let log = fs::read(work.join(format!("{index}.log"))).unwrap_or_default();
            let text = String::from_utf8_lossy(&log).into_owned();
            let mut words = text.split_terminator('\0').map(str::to_owned);
            let mut calls: Vec<Vec<String>> = Vec::new();
            while let Some(count) = words.next() {
                let count: usize = count.parse().expect("a count of words");
                calls.push(words.by_ref().take(count + 1).collect());
            }
            calls
        };
        (0..scripts.len()).map(called).collect()
    }
}
