//! The table of configuration keys: name, variable, what a value must be, whether it acts yet.
//!
//! What a key means is not here but in `config/default.toml`, which also shows the defaults. They
//! stand here as well, because every start would otherwise parse that file; a test compares the
//! two.

use super::env_vars;

/// A configuration key.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// Its dotted name.
    pub name: &'static str,
    /// The environment variable that overrides it.
    pub variable: &'static str,
    /// What its value must be.
    pub kind: Kind,
    /// Its default, written as in a variable; empty means not set.
    pub default: &'static str,
    /// Whether it acts yet.
    pub effect: Effect,
}

impl Key {
    /// The same key with a default.
    const fn or(self, default: &'static str) -> Self {
        Self { default, ..self }
    }
}

/// What the value of a key must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Switch,
    /// A whole number in this range, both ends included.
    Number {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// A number of bytes in this range, both ends included; may be written as `"64MiB"`.
    Size {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// Any text.
    Text,
    /// A path; empty means not set.
    Path,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of texts.
    List,
    /// A list of tables, each a rule of the interceptor.
    Rules,
    /// True or false, or the word `profile`: as the profile says.
    ProfileOrSwitch,
    /// A number of bytes up to this, or the word `profile`: as the profile says.
    ProfileOrSize {
        /// The greatest.
        max: u64,
    },
}

impl Kind {
    /// Whether the word `profile` is a value.
    pub(super) fn leaves_it_to_profiles(self) -> bool {
        matches!(self, Self::ProfileOrSwitch | Self::ProfileOrSize { .. })
    }
}

/// Whether a key acts yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It does what its description says.
    Now,
    /// It is accepted and shown; what it switches comes later.
    NotYet,
}

/// Below a page, a spool could not even hold one write of a chatty command.
const LEAST_SPOOL: u64 = 4 << 10;
/// Above this, a size is a slip of the pen rather than a wish.
const MOST_SPOOL: u64 = 1 << 40;
/// Above this, what is shown is no window any more.
const MOST_SHOWN: u64 = 1 << 30;
/// A century: keeps arithmetic on dates far from its limits.
const MOST_DAYS: u64 = 36_500;
/// The reader of the ledger takes no line above 16 MiB; JSON may make a text six times longer.
const MOST_COMMAND: u64 = 1 << 20;

const fn now(name: &'static str, variable: &'static str, kind: Kind) -> Key {
    Key {
        name,
        variable,
        kind,
        default: "",
        effect: Effect::Now,
    }
}

const fn not_yet(name: &'static str, variable: &'static str, kind: Kind) -> Key {
    Key {
        name,
        variable,
        kind,
        default: "",
        effect: Effect::NotYet,
    }
}

const SPOOL: Kind = Kind::Size {
    min: LEAST_SPOOL,
    max: MOST_SPOOL,
};
const DAYS: Kind = Kind::Number {
    min: 0,
    max: MOST_DAYS,
};

/// More jobs than this are more processes than a machine of today has.
const MOST_JOBS: u64 = 100_000;
/// A year: a job that is meant to run longer is a service.
const MOST_JOB_SECONDS: u64 = 366 * 86_400;
const JOBS: Kind = Kind::Number {
    min: 1,
    max: MOST_JOBS,
};

/// What a command may use up; none for 0. Above this nothing is limited.
const LIMIT: Kind = Kind::Number {
    min: 0,
    max: MOST_JOB_SECONDS,
};

/// Every key, in the order of `config/default.toml`.
pub const KEYS: &[Key] = &[
    now("profile", env_vars::PROFILE, Kind::Text).or("default"),
    now("profiles_dir", env_vars::PROFILES_DIR, Kind::Path),
    now("shell", env_vars::SHELL, Kind::Text),
    now("prefix", env_vars::COMMAND_PREFIX, Kind::Text),
    now(
        "snapshot",
        env_vars::SNAPSHOT,
        Kind::Choice(&["profile", "on", "off"]),
    )
    .or("profile"),
    now(
        "survivors",
        env_vars::SURVIVORS,
        Kind::Choice(&["profile", "keep", "end"]),
    )
    .or("profile"),
    now(
        "safe_mode",
        env_vars::SAFE_MODE,
        Kind::Choice(&["profile", "off", "compat", "strict"]),
    )
    .or("profile"),
    now(
        "head_bytes",
        env_vars::HEAD_BYTES,
        Kind::ProfileOrSize { max: MOST_SHOWN },
    )
    .or("profile"),
    now(
        "sessions.limit",
        env_vars::SESSIONS_LIMIT,
        Kind::Number { min: 0, max: 1000 },
    )
    .or("16"),
    now(
        "sessions.idle_seconds",
        env_vars::SESSIONS_IDLE_SECONDS,
        Kind::Number {
            min: 0,
            max: 31_536_000,
        },
    )
    .or("1800"),
    now(
        "sessions.warm_shells",
        env_vars::SESSIONS_WARM_SHELLS,
        Kind::Number { min: 0, max: 32 },
    )
    .or("1"),
    now("guard.enable", env_vars::GUARD_ENABLE, Kind::List).or(""),
    now("guard.disable", env_vars::GUARD_DISABLE, Kind::List).or(""),
    now("spool.head_bytes", env_vars::SPOOL_HEAD_BYTES, SPOOL).or("8MiB"),
    now("spool.ring_bytes", env_vars::SPOOL_RING_BYTES, SPOOL).or("56MiB"),
    now(
        "spool.total_bytes",
        env_vars::SPOOL_TOTAL_BYTES,
        Kind::Size {
            min: 0,
            max: MOST_SPOOL,
        },
    )
    .or("10GiB"),
    now("spool.max_age_days", env_vars::SPOOL_MAX_AGE_DAYS, DAYS).or("7"),
    now("jobs.max", env_vars::JOBS_MAX, JOBS).or("1024"),
    now("jobs.max_per_owner", env_vars::JOBS_MAX_PER_OWNER, JOBS).or("100"),
    now(
        "jobs.max_seconds",
        env_vars::JOBS_MAX_SECONDS,
        Kind::Number {
            min: 1,
            max: MOST_JOB_SECONDS,
        },
    )
    .or("86400"),
    now("jobs.output_bytes", env_vars::JOBS_OUTPUT_BYTES, SPOOL).or("1GiB"),
    now("limits.cpu_seconds", env_vars::LIMITS_CPU_SECONDS, LIMIT).or("0"),
    now("limits.cpu_percent", env_vars::LIMITS_CPU_PERCENT, LIMIT).or("0"),
    now(
        "limits.memory_bytes",
        env_vars::LIMITS_MEMORY_BYTES,
        Kind::Size {
            min: 0,
            max: MOST_SPOOL,
        },
    )
    .or("0"),
    now("limits.processes", env_vars::LIMITS_PROCESSES, LIMIT).or("0"),
    now("limits.cgroup", env_vars::LIMITS_CGROUP, Kind::Text).or("auto"),
    now("ledger.enabled", env_vars::LEDGER_ENABLED, Kind::Switch).or("true"),
    now(
        "ledger.retention_days",
        env_vars::LEDGER_RETENTION_DAYS,
        DAYS,
    )
    .or("180"),
    now(
        "ledger.max_command_bytes",
        env_vars::LEDGER_MAX_COMMAND_BYTES,
        Kind::Size {
            min: 0,
            max: MOST_COMMAND,
        },
    )
    .or("64KiB"),
    now("urls.local_dir", env_vars::URLS_LOCAL_DIR, Kind::Path),
    now("urls.skills_dir", env_vars::URLS_SKILLS_DIR, Kind::Path),
    now("urls.agents_dir", env_vars::URLS_AGENTS_DIR, Kind::Path),
    now("urls.memory_dir", env_vars::URLS_MEMORY_DIR, Kind::Path),
    now("urls.rules_dir", env_vars::URLS_RULES_DIR, Kind::Path),
    now("async.enabled", env_vars::ASYNC_ENABLED, Kind::Switch).or("false"),
    now(
        "async.pollWaitDuration",
        env_vars::ASYNC_POLL_WAIT_DURATION,
        Kind::Choice(&["5s", "10s", "30s", "1m", "5m"]),
    )
    .or("30s"),
    now("console.end_key", env_vars::CONSOLE_END_KEY, Kind::Text),
    now(
        "bash.virtualTerminal",
        env_vars::BASH_VIRTUAL_TERMINAL,
        Kind::Choice(&["off", "on"]),
    )
    .or("on"),
    now(
        "bash.autoBackground.enabled",
        env_vars::BASH_AUTO_BACKGROUND_ENABLED,
        Kind::Switch,
    )
    .or("false"),
    now(
        "bash.autoBackground.thresholdMs",
        env_vars::BASH_AUTO_BACKGROUND_THRESHOLD_MS,
        Kind::Number {
            min: 0,
            max: 86_400_000,
        },
    )
    .or("60000"),
    now(
        "bashInterceptor.enabled",
        env_vars::BASH_INTERCEPTOR_ENABLED,
        Kind::ProfileOrSwitch,
    )
    .or("profile"),
    now(
        "bashInterceptor.patterns",
        env_vars::BASH_INTERCEPTOR_PATTERNS,
        Kind::Rules,
    ),
    now(
        "shellMinimizer.enabled",
        env_vars::SHELL_MINIMIZER_ENABLED,
        Kind::Switch,
    )
    .or("true"),
    now(
        "shellMinimizer.settingsPath",
        env_vars::SHELL_MINIMIZER_SETTINGS_PATH,
        Kind::Path,
    ),
    now(
        "shellMinimizer.only",
        env_vars::SHELL_MINIMIZER_ONLY,
        Kind::List,
    ),
    now(
        "shellMinimizer.except",
        env_vars::SHELL_MINIMIZER_EXCEPT,
        Kind::List,
    ),
    now(
        "shellMinimizer.maxCaptureBytes",
        env_vars::SHELL_MINIMIZER_MAX_CAPTURE_BYTES,
        Kind::Size {
            min: 1024,
            max: MOST_SPOOL,
        },
    )
    .or("4MiB"),
    not_yet(
        "shellMinimizer.sourceOutlineLevel",
        env_vars::SHELL_MINIMIZER_SOURCE_OUTLINE_LEVEL,
        Kind::Choice(&["default", "aggressive"]),
    )
    .or("default"),
];

/// Finds a key by its exact name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Whether keys live below this name (`bash` for `bash.virtualTerminal`).
pub(super) fn is_group(name: &str) -> bool {
    KEYS.iter().any(|key| {
        key.name
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

/// The known name that an unknown one was probably meant to be.
///
/// The same last part in another group counts as near; otherwise the spelling must be close.
pub fn nearest(unknown: &str) -> Option<&'static str> {
    /// Below this likeness a suggestion would puzzle more than it helps.
    const ALIKE: f64 = 0.7;
    let folded = fold(unknown);
    let same_leaf = || {
        let mut keys = KEYS
            .iter()
            .filter(|key| fold(leaf(key.name)) == fold(leaf(unknown)));
        keys.next()
            .filter(|_| keys.next().is_none())
            .map(|key| key.name)
    };
    KEYS.iter()
        .map(|key| {
            (
                strsim::normalized_damerau_levenshtein(&folded, &fold(key.name)),
                key.name,
            )
        })
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
        .or_else(same_leaf)
}

/// Case and underscores are what people get wrong first, so they don't count.
fn fold(name: &str) -> String {
    name.chars()
        .filter(|character| *character != '_')
        .flat_map(char::to_lowercase)
        .collect()
}

fn leaf(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, leaf)| leaf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_their_key() {
        for (slip, meant) in [
            ("ledger.enable", Some("ledger.enabled")),
            ("spool.headBytes", Some("spool.head_bytes")),
            ("ring_bytes", Some("spool.ring_bytes")),
            (
                "bash.autobackground.enabled",
                Some("bash.autoBackground.enabled"),
            ),
            ("shel", Some("shell")),
            ("enabled", None),
            ("colour", None),
        ] {
            assert_eq!(nearest(slip), meant, "for {slip}");
        }
    }

    #[test]
    fn groups_are_whole_parts_of_names() {
        assert!(is_group("bash") && is_group("bash.autoBackground") && is_group("spool"));
        assert!(!is_group("bas") && !is_group("shell") && !is_group("ledger.enabled"));
    }
}
