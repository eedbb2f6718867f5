//! Every setting, a row each: its key, what its value must be, its default, and what it means.
//!
//! Everything else about a key is made from its row: the variable, the reference, `config show`,
//! what a slip was probably meant to be, and the table of `docs/config.md` (a test compares that
//! one; `BASHD_BLESS=1` writes it anew). A new setting is a row here and the field of
//! [`Config`](super::Config) that it lands in, without which a test fails.

use super::keys::{ConfigKey, ValueKind};
use super::notify::NotifyBy;
use super::rows::{
    DAYS, JOBS, LIMIT, MOST_COMMAND, MOST_JOB_SECONDS, MOST_SHOWN, MOST_SPOOL, SPOOL, key, number,
    size,
};

/// Every key, in the order in which all lists show them. Keys of one group are together.
pub const KEYS: &[ConfigKey] = &[
    key(
        "profile",
        ValueKind::Text,
        "default",
        "the profile of calls that name none",
    ),
    key(
        "profiles_dir",
        ValueKind::Path,
        "",
        "directory of your own profiles, one `NAME.toml` each; empty: `profiles` beside `config.toml`",
    ),
    key(
        "shell",
        ValueKind::Text,
        "",
        "the shell for profiles that leave the choice open: a path, or a name looked up in `PATH`; empty: \
         the profile's own list. Profiles whose document names a shell always start that one",
    ),
    key(
        "prefix",
        ValueKind::Text,
        "",
        "words put before every command, such as `nice -n 5`, in profiles that leave the shell open; empty: \
         none",
    ),
    key(
        "snapshot",
        ValueKind::Choice(&["profile", "on", "off"]),
        "profile",
        "whether shells take over aliases, functions, options and `PATH` from `~/.bashrc`, which is read \
         again when it changes: `on`, `off`, or as the `profile` says (docs/sessions.md)",
    ),
    key(
        "survivors",
        ValueKind::Choice(&["profile", "keep", "end"]),
        "profile",
        "processes that outlive a normal exit of their shell (`server &`): `keep` leaves them running and \
         reports them, `end` ends them, or as the `profile` says",
    ),
    key(
        "safe_mode",
        ValueKind::Choice(&["profile", "off", "compat", "strict"]),
        "profile",
        "whether only commands that read may run: `off`, `compat` (thirteen prefixes, without a shell), \
         `strict` (read-only, option by option), or as the `profile` says (docs/safe-mode.md)",
    ),
    key(
        "head_bytes",
        ValueKind::ProfileOrSize { max: MOST_SHOWN },
        "profile",
        "how many bytes from the start of a long output are shown, at most half of the room; or as the \
         `profile` says (8 KiB in `default`, 0 in `pi`). It has no effect in profiles whose document says what \
         is shown",
    ),
    key(
        "sessions.limit",
        number(0, 1000),
        "16",
        "how many sessions there may be at a time; the one unused for longest makes room; 0: none, and \
         every call has a shell of its own (docs/sessions.md)",
    ),
    key(
        "sessions.idle_seconds",
        number(0, 31_536_000),
        "1800",
        "seconds after which an unused session is ended; 0: never",
    ),
    key(
        "sessions.warm_shells",
        number(0, 32),
        "1",
        "started shells that wait for a call without a session, in servers and the console, each used once \
         and replaced (docs/sessions.md); 0: none",
    ),
    key(
        "guard.rules",
        ValueKind::Choice(&["profile", "default"]),
        "profile",
        "`default`: bashd's own rules are on in every profile, besides those that the profile names \
         (docs/guard.md)",
    ),
    key(
        "guard.enable",
        ValueKind::List,
        "",
        "rules that are on besides those of the profile (docs/guard.md)",
    ),
    key(
        "guard.disable",
        ValueKind::List,
        "",
        "rules that are off, whatever the profile says",
    ),
    key(
        "spool.head_bytes",
        SPOOL,
        "8MiB",
        "bytes kept from the start of a run's output, 4KiB to 1TiB",
    ),
    key(
        "spool.ring_bytes",
        SPOOL,
        "56MiB",
        "bytes kept from the end of a run's output, 4KiB to 1TiB",
    ),
    key(
        "spool.total_bytes",
        size(0, MOST_SPOOL),
        "10GiB",
        "total bytes of stored output; the oldest goes first; 0: no limit",
    ),
    key(
        "spool.max_age_days",
        DAYS,
        "7",
        "days after which stored output is removed, also that of ended jobs; 0: never",
    ),
    key(
        "jobs.max",
        JOBS,
        "1024",
        "how many unfinished jobs there may be in total, 1 to 100000",
    ),
    key(
        "jobs.max_per_owner",
        JOBS,
        "100",
        "how many unfinished jobs one owner may have, 1 to 100000",
    ),
    key(
        "jobs.max_seconds",
        number(1, MOST_JOB_SECONDS),
        "86400",
        "seconds after which a job is ended, whatever its call asked for; at most a year",
    ),
    key(
        "jobs.output_bytes",
        SPOOL,
        "1GiB",
        "bytes of a job's output that are kept from its beginning, 4KiB to 1TiB; after that, the last \
         `spool.ring_bytes`",
    ),
    key(
        "env.preset",
        ValueKind::Choice(&["auto", "all", "no-secrets", "basic"]),
        "auto",
        "which variables of bashd and of the call commands get: `all`; `no-secrets`, all but those whose names or \
         values say that they are credentials; `basic`, only those that programs need to work at all; `auto`: \
         `no-secrets` where commands are confined, else `all` (docs/secrets.md)",
    ),
    key(
        "env.allow",
        ValueKind::List,
        "",
        "variables that commands get whatever `env.preset` says; a `*` at the end stands for anything",
    ),
    key(
        "secrets.output",
        ValueKind::Choice(&["profile", "hide", "show"]),
        "profile",
        "whether values of credentials and well-known tokens are replaced by `[secret NAME, 40 characters]` in \
         everything that is shown of output: `hide`, `show`, or as the `profile` says (`default` hides them; where \
         commands are confined, every profile does) (docs/secrets.md)",
    ),
    key(
        "secrets.files",
        ValueKind::List,
        "",
        "files of `NAME=value` lines whose values are secrets, too; the variables are not set. `~/` is your home",
    ),
    key(
        "effects.mode",
        ValueKind::Choice(&["now", "undoable", "ask", "hold"]),
        "now",
        "when the effects of commands on files become real: `now`; `undoable`, when a command ends, and \
         `bashd undo` takes them back; `ask`, when it has ended and a person has seen and allowed them; or \
         `hold`, when somebody applies them. A call can only name a later one (docs/effects.md)",
    ),
    key(
        "effects.max_age_days",
        DAYS,
        "7",
        "days after which a change is removed, held or not, and can't be applied or undone any more; 0: never",
    ),
    key(
        "effects.total_bytes",
        size(0, MOST_SPOOL),
        "10GiB",
        "total bytes of changes and former states; the oldest goes first; 0: no limit",
    ),
    key(
        "confinement.preset",
        ValueKind::Choice(&["profile", "off", "workspace", "workspace+net", "read-only"]),
        "profile",
        "what commands may reach: `off`, all that their user may; `workspace`, they read the machine but no \
         credentials, write the workspace and what is their own, and have no network; `read-only`, likewise \
         without writing the workspace; `workspace+net`, as `workspace` with the hosts of `confinement.network`; or \
         as the `profile` says. A call can only narrow it (docs/confinement.md)",
    ),
    key(
        "confinement.workspace",
        ValueKind::Path,
        "",
        "the directory that confined commands work on; empty: the one in which calls without a directory run",
    ),
    key(
        "confinement.write",
        ValueKind::List,
        "",
        "paths that confined commands may write besides; `~/` is the home, a relative path is in the workspace",
    ),
    key(
        "confinement.read",
        ValueKind::List,
        "",
        "the only paths that confined commands may read, with those that they may write; empty: everything \
         that is not hidden",
    ),
    key(
        "confinement.hide",
        ValueKind::List,
        "",
        "paths that confined commands see nothing of, besides keys, credentials and bashd's own state",
    ),
    key(
        "confinement.protect",
        ValueKind::List,
        "",
        "paths that confined commands can't change in the workspace, besides git's hooks and configuration \
         and what shells, editors and CI run",
    ),
    key(
        "confinement.network",
        ValueKind::List,
        "",
        "the network of confined commands: `none` but their own loopback; `all` of the machine's; or the hosts \
         that they may connect to, as `github.com`, `*.example.org:443`, `*` (every public host) or \
         `10.0.0.0/8`; empty: as the `preset` says (none)",
    ),
    key(
        "confinement.resolve",
        ValueKind::List,
        "",
        "addresses of hosts, as `name=address`, that are used instead of looking the names up, also where they \
         are this machine's or its network's",
    ),
    key(
        "confinement.sockets",
        ValueKind::List,
        "",
        "Unix sockets of other programs that confined commands may connect to",
    ),
    key(
        "confinement.require",
        ValueKind::Choice(&["full", "landlock", "none"]),
        "full",
        "the level below which a confined command does not run: `full`, `landlock` (no namespaces), or \
         `none`, which runs it unconfined where neither is to be had (docs/confinement.md)",
    ),
    key(
        "confinement.most",
        ValueKind::Choice(&["full", "landlock"]),
        "full",
        "the level that is tried first: `landlock` does without namespaces, and holds less",
    ),
    key(
        "confinement.report",
        ValueKind::Choice(&["network", "all", "retry"]),
        "network",
        "which refusals of a confinement are told: hosts, which cost nothing (`network`); files and system calls \
         as well, which slows mass work on files down (`all`); or these in a second run of a command that \
         failed and whose caller says that it may be repeated (`retry`)",
    ),
    key(
        "limits.cpu_seconds",
        LIMIT,
        "0",
        "seconds of processor time after which a process of a command is killed; 0: no limit",
    ),
    key(
        "limits.cpu_percent",
        LIMIT,
        "0",
        "share of the processors that a command may use; 100 is one; needs a control group; 0: no limit",
    ),
    key(
        "limits.memory_bytes",
        size(0, MOST_SPOOL),
        "0",
        "memory that a command may use, for example `\"2GiB\"`; 0: no limit",
    ),
    key(
        "limits.processes",
        LIMIT,
        "0",
        "how many processes a command may have at a time; 0: no limit",
    ),
    key(
        "limits.cgroup",
        ValueKind::Text,
        "auto",
        "where control groups (cgroup v2) are made: `auto` below or beside our own, `off`, or a directory. With \
         a group, limits apply to all processes of a command together; without one, to each process by \
         itself, and the limit on processes counts all of the user's and does not bind root. `bashd doctor` \
         and the reply's `limits` say which it is (docs/jobs.md)",
    ),
    key(
        "feed.enabled",
        ValueKind::Switch,
        "true",
        "whether calls are told to those who watch, such as `bashd log --follow` (docs/feed.md)",
    ),
    key(
        "otlp.endpoint",
        ValueKind::Text,
        "",
        "where servers send a span for each call, by OTLP over HTTP, such as `http://127.0.0.1:4318`; nowhere if \
         empty (docs/metrics.md)",
    ),
    key(
        "otlp.commands",
        ValueKind::Switch,
        "false",
        "whether spans have the text of commands, with secrets hidden (docs/metrics.md)",
    ),
    key(
        "recording.enabled",
        ValueKind::ProfileOrSwitch,
        "profile",
        "whether the whole output of every run is stored with its times, for `bashd replay` and `bashd export`: \
         `true`, `false`, or as the `profile` says; a call may say otherwise (docs/recording.md)",
    ),
    key(
        "ledger.enabled",
        ValueKind::Switch,
        "true",
        "whether each call leaves one record (docs/ledger.md)",
    ),
    key(
        "ledger.retention_days",
        DAYS,
        "180",
        "how many days a month of records is kept after its end; 0: forever",
    ),
    key(
        "ledger.max_command_bytes",
        size(0, MOST_COMMAND),
        "64KiB",
        "longest command text in a record, at most 1MiB; a longer one is cut and marked",
    ),
    key(
        "urls.local_dir",
        ValueKind::Path,
        "",
        "root of `local://`, for files that need not exist yet; empty: `local` in the state directory",
    ),
    key(
        "urls.skills_dir",
        ValueKind::Path,
        "",
        "directory of skills, a directory with a SKILL.md each; empty: `skill://` addresses stay as they are",
    ),
    key(
        "urls.agents_dir",
        ValueKind::Path,
        "",
        "directory of what agents wrote, ID.md each; empty: `agent://` is refused",
    ),
    key(
        "urls.memory_dir",
        ValueKind::Path,
        "",
        "root of `memory://root`; empty: `memory://` is refused",
    ),
    key(
        "urls.rules_dir",
        ValueKind::Path,
        "",
        "directory of rules, NAME.md each; empty: `rule://` is refused",
    ),
    key(
        "async.enabled",
        ValueKind::Switch,
        "false",
        "whether a call may ask to run in the background; models see `async` only if it is on",
    ),
    key(
        "async.poll_wait_duration",
        ValueKind::Choice(&["5s", "10s", "30s", "1m", "5m"]),
        "30s",
        "how long a poll of `pi`'s job tool waits for the first of its jobs to end: `5s`, `10s`, `30s`, `1m` \
         or `5m`",
    ),
    key(
        "mcp.structured",
        ValueKind::Switch,
        "false",
        "whether `bashd mcp` also gives `structuredContent`, for programs: several agents then show the model \
         nothing else (docs/mcp.md)",
    ),
    key(
        "console.end_key",
        ValueKind::Text,
        "",
        "in the console, the key that ends the running command: a name such as `F12`, or the same name \
         twice (`C-] C-]`, `Escape Escape`) for two presses within a second; empty: what the profile says \
         (`C-] C-]`; with `pi` a single Esc where the program does not draw)",
    ),
    key(
        "notify.by",
        ValueKind::Choice(NotifyBy::NAMES),
        "auto",
        "how a terminal tells a person that a long command or job is over, in `run`, `jobs follow|wait|attach`, `top` \
         and the console: `bell`, `osc9` or `osc777` (a notice by the terminal), `notify-send`, `off`, or `auto`: what the \
         terminal is known to show, else `notify-send` on a desktop, else the bell",
    ),
    key(
        "notify.after_seconds",
        number(0, MOST_JOB_SECONDS),
        "60",
        "how many seconds a command or job must have taken for that",
    ),
    key(
        "bash.virtual_terminal",
        ValueKind::Choice(&["off", "on"]),
        "on",
        "whether a command that asks for a terminal gets one: `on` or `off`; `PI_NO_PTY=1` also \
         switches it off",
    ),
    key(
        "bash.auto_background.enabled",
        ValueKind::Switch,
        "false",
        "whether a long-running call of `pi` becomes a background job",
    ),
    key(
        "bash.auto_background.threshold_ms",
        number(0, 86_400_000),
        "60000",
        "milliseconds after which a call becomes a job, at the latest a second before its timeout",
    ),
    key(
        "bash_interceptor.enabled",
        ValueKind::ProfileOrSwitch,
        "profile",
        "whether to turn back commands for which the caller has a better tool: `true`, `false`, or as the \
         `profile` says (`pi` does, for callers that name their tools)",
    ),
    key(
        "bash_interceptor.patterns",
        ValueKind::Rules,
        "",
        "the interceptor's rules, tables with `pattern`, `tool`, `message` and optional `flags`; empty: its \
         seven defaults",
    ),
    key(
        "shell_minimizer.enabled",
        ValueKind::Switch,
        "true",
        "whether the output of known tools is shortened, in the profiles that do (docs/minimizer.md)",
    ),
    key(
        "shell_minimizer.settings_path",
        ValueKind::Path,
        "",
        "a TOML file with filters of your own; empty: none",
    ),
    key(
        "shell_minimizer.only",
        ValueKind::List,
        "",
        "only these programs' output is shortened; empty: every known one",
    ),
    key(
        "shell_minimizer.except",
        ValueKind::List,
        "",
        "programs whose output is never shortened, whatever `only` says",
    ),
    key(
        "shell_minimizer.max_capture_bytes",
        size(1024, MOST_SPOOL),
        "4MiB",
        "output longer than this is never shortened; at least 1KiB",
    ),
];
