//! Linux: fork and exec, processes that share memory, signals, the shared counter page, the process
//! tree, the heap, seclusion, confinement, the network of confined commands, and who watches their
//! calls.

mod borrowed;
mod child;
pub mod confine;
pub mod counters;
pub mod descriptors;
pub mod fork;
pub mod launch;
pub mod memory;
pub mod namespaces;
pub mod network;
mod passing;
mod record;
pub mod seclusion;
pub mod signals;
pub mod tree;
pub mod watch;
