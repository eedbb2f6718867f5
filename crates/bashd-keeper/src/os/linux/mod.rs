//! Linux: fork and exec, signals, the shared counter page, the process tree, the heap, seclusion.

pub mod counters;
pub mod descriptors;
pub mod fork;
pub mod launch;
pub mod memory;
pub mod seclusion;
pub mod signals;
pub mod tree;
