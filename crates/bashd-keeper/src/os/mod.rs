//! The operating system's side of a keeper, and the only unsafe code of the library.
//!
//! Linux 5.9 or newer today. Another system adds a folder with the same names and one `cfg` line.

#[cfg(target_os = "linux")]
#[path = "linux/mod.rs"]
mod platform;

pub use platform::{
    confine, counters, descriptors, fork, launch, memory, namespaces, network, seclusion, signals,
    tree, watch,
};
