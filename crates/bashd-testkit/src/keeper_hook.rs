//! Makes every test program able to be a keeper, before its `main` (the test harness) runs.
//!
//! The engine starts keepers by executing its own program again, which in a test is the test
//! program, whose `main` is not ours. So the hook sits in `.init_array`: the plain section, which
//! glibc runs after the numbered one in which std stores the arguments, so that they can be read
//! already.
//!
//! While no thread exists yet it also puts a mark into the test's environment, so that whatever
//! this program starts (keepers too, which get no environment from a [`Home`](crate::Home)) is
//! found by the leak check. A keeper also has it as its name.

use std::path::Path;
use std::sync::OnceLock;

/// The variable that every process of a test carries.
pub const MARK: &str = "BASHD_TEST_MARK";

/// This process's own mark, as set by the hook.
static PROCESS_MARK: OnceLock<String> = OnceLock::new();

#[expect(
    unsafe_code,
    reason = "the test harness owns `main`; only a constructor runs before it"
)]
#[used]
// SAFETY: the section holds pointers to functions that take no needed argument and return nothing,
// as this one.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    name_keeper();
    // Never returns in a keeper.
    bashd_keeper::keeper::run_if_asked();
    mark_this_process();
}

/// Puts the mark into the name of a keeper: nobody but root can read the environment of one.
fn name_keeper() {
    let is_keeper = std::env::args_os()
        .next()
        .is_some_and(|name| name == "bashd-keeper");
    if is_keeper && let Ok(mark) = std::env::var(MARK) {
        let name = std::ffi::CString::new(short(&mark)).unwrap_or_default();
        let _ = rustix::thread::set_name(&name);
    }
}

/// As much of a mark as a process's name has room for.
pub(crate) fn short(mark: &str) -> &str {
    mark.get(..15).unwrap_or(mark)
}

#[expect(
    unsafe_code,
    clippy::disallowed_methods,
    reason = "constructors run before any thread exists"
)]
fn mark_this_process() {
    let mark = fresh_mark();
    // SAFETY: no other thread exists before `main`.
    unsafe { std::env::set_var(MARK, &mark) };
    let _ = PROCESS_MARK.set(mark);
}

/// The mark that this process's children inherit.
pub fn process_mark() -> &'static str {
    PROCESS_MARK
        .get()
        .expect("the constructor of bashd-testkit did not run: is the crate linked?")
}

/// A mark that nothing else carries.
pub fn fresh_mark() -> String {
    let uuid = std::fs::read_to_string(Path::new("/proc/sys/kernel/random/uuid"))
        .expect("the kernel gives random uuids");
    uuid.trim().to_owned()
}
