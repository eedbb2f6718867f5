//! How often a test looks for a rare fault: the full count in a soak run, a fraction of it
//! otherwise.

/// What part of the full count runs by default, so that CI stays short.
const FRACTION: usize = 20;

/// Repetitions to run of `full`: all of them with `BASHD_SOAK=1`, else one in twenty, but at least
/// one.
pub fn repetitions(full: usize) -> usize {
    if is_soak() {
        full
    } else {
        (full / FRACTION).max(1)
    }
}

/// Whether this is a soak run: the place for what takes long by its nature, such as a real limit of
/// 30 s.
pub fn is_soak() -> bool {
    match std::env::var("BASHD_SOAK").as_deref() {
        Ok("1") => true,
        Ok("" | "0") | Err(_) => false,
        Ok(other) => panic!("BASHD_SOAK is 1 or 0, not {other:?}"),
    }
}
