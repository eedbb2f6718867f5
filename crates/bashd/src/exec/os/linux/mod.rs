//! Linux: fork and exec, signals, the shared counter page, the process tree, the heap.

pub(crate) mod counters;
pub(crate) mod descriptors;
pub(crate) mod fork;
pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod reactor;
pub(crate) mod signals;
pub(crate) mod tree;
