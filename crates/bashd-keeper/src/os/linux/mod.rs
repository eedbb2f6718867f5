//! Linux: fork and exec, signals, the shared counter page, the process tree, the heap, seclusion,
//! confinement.

pub mod confine;
pub mod counters;
pub mod descriptors;
pub mod fork;
pub mod launch;
pub mod memory;
mod namespaces;
pub mod seclusion;
pub mod signals;
pub mod tree;
