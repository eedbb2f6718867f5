//! Every environment variable that has a meaning for bashd, as one documented constant each.
//!
//! The library reads none of them: a front end does, and hands over what it found. The variable
//! of a configuration key follows from the key by [`for_key`], and a test holds each constant to
//! that rule.

/// Directory that replaces the XDG directories: `config.toml`, `profiles` and `state` live in it.
pub const HOME: &str = "BASHD_HOME";
/// The configuration file to read instead of the one in the configuration directory.
pub const CONFIG: &str = "BASHD_CONFIG";
/// Set by bashd for the commands of some profiles: the id of the run they belong to.
pub const RUN: &str = "BASHD_RUN";

/// What this project's own tests set begins with this; it configures nothing.
pub const TESTS: &str = "BASHD_TEST_";

/// Variables that begin with [`PREFIX`] and are not configuration keys.
pub const NOT_KEYS: &[&str] = &[HOME, CONFIG, RUN];

/// What every variable of ours begins with.
pub const PREFIX: &str = "BASHD_";

/// Overrides `profile`.
pub const PROFILE: &str = "BASHD_PROFILE";
/// Overrides `profiles_dir`.
pub const PROFILES_DIR: &str = "BASHD_PROFILES_DIR";
/// Overrides `shell`.
pub const SHELL: &str = "BASHD_SHELL";
/// Overrides `prefix`.
pub const COMMAND_PREFIX: &str = "BASHD_PREFIX";
/// Overrides `snapshot`.
pub const SNAPSHOT: &str = "BASHD_SNAPSHOT";
/// Overrides `survivors`.
pub const SURVIVORS: &str = "BASHD_SURVIVORS";
/// Overrides `safe_mode`.
pub const SAFE_MODE: &str = "BASHD_SAFE_MODE";
/// Overrides `head_bytes`.
pub const HEAD_BYTES: &str = "BASHD_HEAD_BYTES";
/// Overrides `sessions.limit`.
pub const SESSIONS_LIMIT: &str = "BASHD_SESSIONS_LIMIT";
/// Overrides `sessions.idle_seconds`.
pub const SESSIONS_IDLE_SECONDS: &str = "BASHD_SESSIONS_IDLE_SECONDS";
/// Overrides `sessions.warm_shells`.
pub const SESSIONS_WARM_SHELLS: &str = "BASHD_SESSIONS_WARM_SHELLS";
/// Overrides `guard.enable`.
pub const GUARD_ENABLE: &str = "BASHD_GUARD_ENABLE";
/// Overrides `guard.disable`.
pub const GUARD_DISABLE: &str = "BASHD_GUARD_DISABLE";
/// Overrides `spool.head_bytes`.
pub const SPOOL_HEAD_BYTES: &str = "BASHD_SPOOL_HEAD_BYTES";
/// Overrides `spool.ring_bytes`.
pub const SPOOL_RING_BYTES: &str = "BASHD_SPOOL_RING_BYTES";
/// Overrides `spool.total_bytes`.
pub const SPOOL_TOTAL_BYTES: &str = "BASHD_SPOOL_TOTAL_BYTES";
/// Overrides `spool.max_age_days`.
pub const SPOOL_MAX_AGE_DAYS: &str = "BASHD_SPOOL_MAX_AGE_DAYS";
/// Overrides `ledger.enabled`.
pub const LEDGER_ENABLED: &str = "BASHD_LEDGER_ENABLED";
/// Overrides `ledger.retention_days`.
pub const LEDGER_RETENTION_DAYS: &str = "BASHD_LEDGER_RETENTION_DAYS";
/// Overrides `ledger.max_command_bytes`.
pub const LEDGER_MAX_COMMAND_BYTES: &str = "BASHD_LEDGER_MAX_COMMAND_BYTES";
/// Overrides `urls.local_dir`.
pub const URLS_LOCAL_DIR: &str = "BASHD_URLS_LOCAL_DIR";
/// Overrides `urls.skills_dir`.
pub const URLS_SKILLS_DIR: &str = "BASHD_URLS_SKILLS_DIR";
/// Overrides `urls.agents_dir`.
pub const URLS_AGENTS_DIR: &str = "BASHD_URLS_AGENTS_DIR";
/// Overrides `urls.memory_dir`.
pub const URLS_MEMORY_DIR: &str = "BASHD_URLS_MEMORY_DIR";
/// Overrides `urls.rules_dir`.
pub const URLS_RULES_DIR: &str = "BASHD_URLS_RULES_DIR";
/// Overrides `limits.cpu_seconds`.
pub const LIMITS_CPU_SECONDS: &str = "BASHD_LIMITS_CPU_SECONDS";
/// Overrides `limits.cpu_percent`.
pub const LIMITS_CPU_PERCENT: &str = "BASHD_LIMITS_CPU_PERCENT";
/// Overrides `limits.memory_bytes`.
pub const LIMITS_MEMORY_BYTES: &str = "BASHD_LIMITS_MEMORY_BYTES";
/// Overrides `limits.processes`.
pub const LIMITS_PROCESSES: &str = "BASHD_LIMITS_PROCESSES";
/// Overrides `limits.cgroup`.
pub const LIMITS_CGROUP: &str = "BASHD_LIMITS_CGROUP";
/// Overrides `jobs.max`.
pub const JOBS_MAX: &str = "BASHD_JOBS_MAX";
/// Overrides `jobs.max_per_owner`.
pub const JOBS_MAX_PER_OWNER: &str = "BASHD_JOBS_MAX_PER_OWNER";
/// Overrides `jobs.max_seconds`.
pub const JOBS_MAX_SECONDS: &str = "BASHD_JOBS_MAX_SECONDS";
/// Overrides `jobs.output_bytes`.
pub const JOBS_OUTPUT_BYTES: &str = "BASHD_JOBS_OUTPUT_BYTES";
/// Overrides `async.enabled`.
pub const ASYNC_ENABLED: &str = "BASHD_ASYNC_ENABLED";
/// Overrides `async.pollWaitDuration`.
pub const ASYNC_POLL_WAIT_DURATION: &str = "BASHD_ASYNC_POLL_WAIT_DURATION";
/// Overrides `bash.virtualTerminal`.
pub const BASH_VIRTUAL_TERMINAL: &str = "BASHD_BASH_VIRTUAL_TERMINAL";
/// Overrides `console.end_key`.
pub const CONSOLE_END_KEY: &str = "BASHD_CONSOLE_END_KEY";
/// Overrides `bash.autoBackground.enabled`.
pub const BASH_AUTO_BACKGROUND_ENABLED: &str = "BASHD_BASH_AUTO_BACKGROUND_ENABLED";
/// Overrides `bash.autoBackground.thresholdMs`.
pub const BASH_AUTO_BACKGROUND_THRESHOLD_MS: &str = "BASHD_BASH_AUTO_BACKGROUND_THRESHOLD_MS";
/// Overrides `bashInterceptor.enabled`.
pub const BASH_INTERCEPTOR_ENABLED: &str = "BASHD_BASH_INTERCEPTOR_ENABLED";
/// Overrides `bashInterceptor.patterns`.
pub const BASH_INTERCEPTOR_PATTERNS: &str = "BASHD_BASH_INTERCEPTOR_PATTERNS";
/// Overrides `shellMinimizer.enabled`.
pub const SHELL_MINIMIZER_ENABLED: &str = "BASHD_SHELL_MINIMIZER_ENABLED";
/// Overrides `shellMinimizer.settingsPath`.
pub const SHELL_MINIMIZER_SETTINGS_PATH: &str = "BASHD_SHELL_MINIMIZER_SETTINGS_PATH";
/// Overrides `shellMinimizer.only`.
pub const SHELL_MINIMIZER_ONLY: &str = "BASHD_SHELL_MINIMIZER_ONLY";
/// Overrides `shellMinimizer.except`.
pub const SHELL_MINIMIZER_EXCEPT: &str = "BASHD_SHELL_MINIMIZER_EXCEPT";
/// Overrides `shellMinimizer.maxCaptureBytes`.
pub const SHELL_MINIMIZER_MAX_CAPTURE_BYTES: &str = "BASHD_SHELL_MINIMIZER_MAX_CAPTURE_BYTES";

/// The variable of a key: capitals after `BASHD_`, where a dot or a hump becomes an underscore.
pub fn for_key(key: &str) -> String {
    let mut variable = String::from(PREFIX);
    let mut after_word = false;
    for character in key.chars() {
        if character == '.' {
            variable.push('_');
        } else {
            if character.is_ascii_uppercase() && after_word {
                variable.push('_');
            }
            variable.push(character.to_ascii_uppercase());
        }
        after_word = character.is_ascii_lowercase() || character.is_ascii_digit();
    }
    variable
}

#[cfg(test)]
mod tests {
    use super::super::keys::KEYS;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_has_the_variable_that_the_rule_gives() {
        for key in KEYS {
            assert_eq!(key.variable, for_key(key.name), "of {}", key.name);
        }
        assert_eq!(
            for_key("bash.autoBackground.thresholdMs"),
            "BASHD_BASH_AUTO_BACKGROUND_THRESHOLD_MS"
        );
    }

    #[test]
    fn no_variable_means_two_things() {
        let variables: BTreeSet<&str> = KEYS
            .iter()
            .map(|key| key.variable)
            .chain(NOT_KEYS.iter().copied())
            .collect();
        assert_eq!(variables.len(), KEYS.len() + NOT_KEYS.len());
    }
}
