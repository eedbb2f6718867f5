//! Faults, with the real engine and real processes: a clear reply in bounded time, nothing lost
//! that was captured, nothing left running but survivors that the policy keeps.
//!
//! | file | shows |
//! |---|---|
//! | `before_start` | what can't be started: directories, environments, shells |
//! | `engine_death` | the engine is stopped, killed or ends, and what becomes of its commands |
//! | `host` | an engine in a process of its own, which a test may kill |
//! | `keeper_killed` | keepers and the process that forks them are killed or stopped |
//! | `limits` | limits of processes, descriptors and file sizes |
//! | `many_calls` | thousands of calls leave nothing, and a hundred at once are all right |
//! | `output` | bytes that are no text, lines without an end, counts that must be exact |
//! | `processes` | children that hide, ignore, stop, multiply |
//! | `scene` | (no tests) an engine in a hermetic home, and looks at its processes |
//! | `seclusion` | what a command can do to its keeper and its fork server |
//! | `spool` | disks that are full, read-only, or gone |
//! | `survivors` | what a finished shell leaves running on purpose |
//! | `unkillable` | what even SIGKILL does not end, on a filesystem that hangs |
//!
//! Each test runs as the caller and as a user without rights: as root, mode bits, EPERM and process
//! limits never show.

mod before_start;
mod engine_death;
mod host;
mod keeper_killed;
mod limits;
mod many_calls;
mod output;
mod processes;
mod scene;
mod seclusion;
mod spool;
mod survivors;
mod unkillable;
