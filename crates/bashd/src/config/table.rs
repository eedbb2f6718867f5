//! Every setting, a row each: its key, what its value must be, its default, and what it means.
//!
//! Everything else about a key is made from its row: the variable, the reference, `config show`,
//! what a slip was probably meant to be, and the table of `docs/config.md` (a test compares that
//! one; `BASHD_BLESS=1` writes it anew). A new setting is a row here and the field of
//! [`Config`](super::Config) that it lands in, without which a test fails.

use super::keys::{ConfigKey, ValueKind};

/// Below a page, a spool could not even hold one write of a chatty command.
const LEAST_SPOOL: u64 = 4 << 10;
/// Above this, a size is a slip of the pen rather than a wish.
const MOST_SPOOL: u64 = 1 << 40;
/// Above this, a window would no longer be one.
const MOST_SHOWN: u64 = 1 << 30;
/// The reader of the ledger takes no line above 16 MiB; JSON may make a text six times longer.
const MOST_COMMAND: u64 = 1 << 20;
/// A century: keeps arithmetic on dates far from its limits.
const MOST_DAYS: u64 = 36_500;
/// More jobs than this are more processes than a machine of today has.
const MOST_JOBS: u64 = 100_000;
/// A year: anything that is meant to run longer is a service.
const MOST_JOB_SECONDS: u64 = 366 * 86_400;

const SPOOL: ValueKind = size(LEAST_SPOOL, MOST_SPOOL);
const DAYS: ValueKind = number(0, MOST_DAYS);
const JOBS: ValueKind = number(1, MOST_JOBS);
/// What a command may use up; none for 0. Above this nothing is limited.
const LIMIT: ValueKind = number(0, MOST_JOB_SECONDS);

const fn number(min: u64, max: u64) -> ValueKind {
    ValueKind::Number { min, max }
}

const fn size(min: u64, max: u64) -> ValueKind {
    ValueKind::Size { min, max }
}

const fn key(
    name: &'static str,
    kind: ValueKind,
    default: &'static str,
    meaning: &'static str,
) -> ConfigKey {
    ConfigKey {
        name,
        kind,
        default,
        meaning,
    }
}

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
        "confinement.preset",
        ValueKind::Choice(&["profile", "off", "workspace", "workspace+net", "read-only"]),
        "profile",
        "what commands may reach: `off`, all that their user may; `workspace`, they read the machine but no \
         credentials, write the workspace and what is their own, and have no network; `read-only`, likewise \
         without writing the workspace; `workspace+net` is refused until there is an allow-list of hosts; or \
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
        ValueKind::Choice(&["preset", "none", "all"]),
        "preset",
        "the network of confined commands: `none` but their own loopback, `all` of the machine's, or as the \
         `preset` says (none)",
    ),
    key(
        "confinement.env",
        ValueKind::List,
        "",
        "variables that confined commands get although their names say that they are secret",
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
        "async.pollWaitDuration",
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
        "in the console, the key that ends the command at whose terminal you type: a name such as `F12` or \
         `C-]`, `Escape` for a single Esc, `Escape Escape` for two within half a second; empty: what the \
         profile says (`pi`: a single Esc)",
    ),
    key(
        "bash.virtualTerminal",
        ValueKind::Choice(&["off", "on"]),
        "on",
        "whether a command that asks for a terminal gets one: `on` or `off`; `PI_NO_PTY=1` also \
         switches it off",
    ),
    key(
        "bash.autoBackground.enabled",
        ValueKind::Switch,
        "false",
        "whether a long-running call of `pi` becomes a background job",
    ),
    key(
        "bash.autoBackground.thresholdMs",
        number(0, 86_400_000),
        "60000",
        "milliseconds after which a call becomes a job, at the latest a second before its timeout",
    ),
    key(
        "bashInterceptor.enabled",
        ValueKind::ProfileOrSwitch,
        "profile",
        "whether to turn back commands for which the caller has a better tool: `true`, `false`, or as the \
         `profile` says (`pi` does, for callers that name their tools)",
    ),
    key(
        "bashInterceptor.patterns",
        ValueKind::Rules,
        "",
        "the interceptor's rules, tables with `pattern`, `tool`, `message` and optional `flags`; empty: its \
         seven defaults",
    ),
    key(
        "shellMinimizer.enabled",
        ValueKind::Switch,
        "true",
        "whether the output of known tools is shortened, in the profiles that do (docs/minimizer.md)",
    ),
    key(
        "shellMinimizer.settingsPath",
        ValueKind::Path,
        "",
        "a TOML file with filters of your own; empty: none",
    ),
    key(
        "shellMinimizer.only",
        ValueKind::List,
        "",
        "only these programs' output is shortened; empty: every known one",
    ),
    key(
        "shellMinimizer.except",
        ValueKind::List,
        "",
        "programs whose output is never shortened, whatever `only` says",
    ),
    key(
        "shellMinimizer.maxCaptureBytes",
        size(1024, MOST_SPOOL),
        "4MiB",
        "output longer than this is never shortened; at least 1KiB",
    ),
];
