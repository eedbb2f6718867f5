//! What bashd's tests stand on: a hermetic home, the leak check, the binary under test, case files.
//!
//! Unpublished, and for tests only: everything here may panic, and does so with a text that says
//! what is wrong. Linking this crate into a test program also makes that program able to be a
//! keeper ([`keeper_hook`]).
//!
//! | module | gives |
//! |---|---|
//! | [`home`] | directories and an environment that touch nothing of the machine's user |
//! | [`leak`] | the check that a test left no process, descriptor or file behind |
//! | [`binary`] | runs of the built `bashd`, as one block of text with volatile parts redacted |
//! | [`far_machine`] | a machine of its own root, processes, network and sshd, by namespaces |
//! | [`podman`] | containers, by a podman of the test's own |
//! | [`small_root`] | a root directory out of this machine's own programs |
//! | [`cluster`] | a Kubernetes of one node |
//! | [`slurm`] | a Slurm of three nodes |
//! | [`slow_wire`] | a wire to it that is long |
//! | [`cases`] | data-driven cases from TOML files |
//! | [`forked`] | a fork without exec, as some hosts make it |
//! | [`unprivileged`] | a test run again as a user without rights |
//! | [`repeat`] | how often a rare fault is looked for: CI's fraction or the full count |
//! | [`set_id`] | a program that runs as root, no matter who starts it |
//! | [`sources`] | the repository as text: its files, and the names of its tests |
//! | [`loud`] | what could not be tested here, said where people see it |
#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::print_stderr,
    reason = "test code: a panic with a text is how a test says what is wrong"
)]

pub mod binary;
pub mod cases;
pub mod cluster;
pub mod far_machine;
pub mod forked;
pub mod home;
pub mod keeper_hook;
pub mod leak;
pub mod loud;
pub mod podman;
pub mod processes;
pub mod redact;
pub mod repeat;
pub mod set_id;
pub mod slow_wire;
pub mod slurm;
pub mod small_root;
pub mod sources;
pub mod unprivileged;

pub use binary::{Binary, Transcript};
pub use cluster::Cluster;
pub use far_machine::FarMachine;
pub use home::Home;
pub use keeper_hook::MARK;
pub use leak::Leaks;
pub use loud::loudly;
pub use podman::{PodmanRig, PodmanUser};
pub use repeat::repetitions;
pub use set_id::SetId;
pub use slurm::{Proctrack, SlurmRig};
pub use unprivileged::as_each_user;
