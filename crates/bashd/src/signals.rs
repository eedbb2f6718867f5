//! Signals of a program that handles some of them itself while its calls are in progress.

use bashd_keeper::os;

/// Whether this process was started ignoring the hangup of its terminal, as by `nohup`.
pub fn is_hang_up_ignored() -> bool {
    os::signals::is_hang_up_ignored()
}

/// Restores the default action for INT, TERM and HUP: for a program whose work is done, and that
/// only has to report it, perhaps to somebody who does not listen.
pub fn end_by_default() {
    os::signals::end_by_default();
}
