//! Signals of a program that handles some of them itself while its calls are under way.

use bashd_keeper::os;

/// Whether whoever started this process had it ignore the end of its terminal, as `nohup` does.
pub fn is_hang_up_ignored() -> bool {
    os::signals::is_hang_up_ignored()
}

/// Takes back what a program does at INT, TERM and HUP in place of ending: for one whose work is done, and
/// that only has to tell of it, perhaps to somebody who does not listen.
pub fn end_by_default() {
    os::signals::end_by_default();
}
