//! The library's integration tests: one program, and this is its map.
//!
//! | file | shows |
//! |---|---|
//! | `artifacts` | stored output: every byte within the quota, exact counts beyond it |
//! | `at_a_place` | the contracts again, every call through an outpost; what differs is a written list |
//! | `bounds` | every number that a caller can name, at its extremes |
//! | `client_terminal` | commands in terminals of a client that may be slow, deaf or gone |
//! | `client_under_test` | (no tests) a client with terminals that run real processes |
//! | `confinement` | what confined commands can do, as root and as nobody, at each level; what can't be confined |
//! | `contracts` | every case id of the profiles' documents has a test, and every decision |
//! | `default_profile` | our own profile: directory, environment, stdin, limits, window |
//! | `effects` | effects on real layers, as root and as nobody: applied as the plain command leaves them, undone as before |
//! | `engine_under_test` | (no tests) an engine in a hermetic home, and a run of it with its bytes |
//! | `faults` | bad input, hostile commands, killed processes, full disks: a clear reply in bounded time, nothing left |
//! | `guard` | what the guard denies never runs; who is asked; what the environment can't slip past it |
//! | `harness` | `harness`'s document on the real engine |
//! | `hostile_repository` | strict safe mode where the repository wants to run programs |
//! | `interceptor` | commands for which the caller has a better tool: defaults, own rules, bad rules |
//! | `jobs` | background work: made, found, followed, waited for, answered and ended; survival of the host |
//! | `long_commands` | commands too long for one argument, in every shell of every profile |
//! | `many_calls` | thousands of calls one after the other, and many at once, each with its own reply |
//! | `map` | an item in the command of a map, as a real shell reads it |
//! | `minimize_calls` | calls whose output is minimized: stored first, shown in less, switched off |
//! | `minimize_footers` | recorded outputs through the engine: every number of a shortened reply holds |
//! | `oracle` | scripts behave as under plain `bash -c`, byte for byte, short or long |
//! | `phoenix` | `phoenix`'s document on the real engine |
//! | `pi_executor` | `pi`: how commands run and end, in sessions and outside |
//! | `pi_input` | `pi`: parameters, refusals and their order, environment, interceptor |
//! | `pi_output` | `pi`'s windows, notices and endings, and live snapshots, on the real engine |
//! | `pi_session` | `pi`: one call at a time whatever carries it, and directories that are not there |
//! | `pi_urls` | internal URLs on the real engine: paths, created directories, refusals |
//! | `process_substitution` | what `>(…)` still writes after the shell's end is in the reply, and servers delay nothing |
//! | `profile_under_test` | (no tests) a profile on the real engine, for contract tests |
//! | `pty` | commands in a terminal: every byte, hang-up, job control, keys, sizes, floods |
//! | `refusals` | bad requests, in each profile's own error form, and nothing runs |
//! | `rewriting` | a lifted `cd`, line limits taken over: on data, and against plain bash |
//! | `safe_mode` | safe mode: the document's cases, what strict denies and allows |
//! | `secrets` | recorded outputs of tools in which none may be found |
//! | `screens` | recorded programs against the screen of another emulator |
//! | `sessions` | shells that live from call to call: state, hostile commands, deadlines, overlap |
//! | `rc_script` | what the user's rc file sets up is there in shells that never read it; bad rc files |
//! | `stopping` | cancelling at every stage, and dropping the future: the tree ends |
//! | `streaming` | events while a command runs: their order, their text, slow receivers |
//! | `tidy` | the house rules that a machine can check |
//! | `trained` | the contracts that models were trained on, each with all its tools |
//! | `voice` | `voice`'s document on the real engine, with each shell of its order |
//! | `shells_ahead` | how many shells wait for calls to come |
//! | `started_shells` | shells started ahead: same as new ones, used once, skipped if unsuitable |
//!
//! Cases that are data live in `tests/cases/`. A file that is missing here fails `tidy`.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "test code: it runs programs of its own, and a panic with a text is how it says what is wrong"
)]

mod artifacts;
mod at_a_place;
mod bounds;
mod client_terminal;
mod client_under_test;
mod confinement;
mod contracts;
mod default_profile;
#[path = "../../../bashd-script/tests/it/documented.rs"]
mod documented;
mod effects;
mod engine_under_test;
mod faults;
mod guard;
mod harness;
mod hostile_repository;
mod interceptor;
mod jobs;
mod long_commands;
mod many_calls;
mod map;
mod minimize_calls;
mod minimize_footers;
mod oracle;
mod phoenix;
mod pi_executor;
mod pi_input;
mod pi_output;
mod pi_session;
mod pi_urls;
mod process_substitution;
mod profile_under_test;
mod pty;
mod rc_script;
mod refusals;
mod rewriting;
mod safe_mode;
mod screens;
mod secrets;
mod sessions;
mod shells_ahead;
mod started_shells;
mod stopping;
mod streaming;
mod tidy;
mod trained;
mod voice;
