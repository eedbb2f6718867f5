//! Keeping this process's descriptors and memory to itself.

use rustix::process::DumpableBehavior;

/// Closes `/proc/PID/fd`, `/proc/PID/mem` and ptrace of this process to others of the same user,
/// and with it everything that would let a command read or write in its place. It also leaves no
/// core file. A fork inherits it, a program that is executed does not. Against root it does
/// nothing.
pub fn seclude() {
    // Refused by no kernel; where it were, nothing would be lost but this.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
