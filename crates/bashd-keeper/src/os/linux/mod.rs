//! Linux: fork and exec, signals, the shared counter page, the process tree, the heap, seclusion,
//! confinement, the network of confined commands, and who watches their calls.

mod child;
pub mod confine;
pub mod counters;
pub mod descriptors;
pub mod fork;
pub mod launch;
pub mod memory;
mod namespaces;
pub mod network;
mod record;
pub mod seclusion;
pub mod signals;
pub mod tree;
pub mod watch;
