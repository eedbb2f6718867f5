//! Looks at files for those who have not come in yet, and for all at once.
//!
//! Anybody of this machine can connect, and anything of this user can change its files: neither may
//! keep a browser that was let in from its answers, nor take threads without end.

use crate::look_room::LookRoom;

/// Whose a connection is.
pub(super) static PEERS: LookRoom = LookRoom::of(4);

/// What is stored of browsers.
pub(super) static BROWSERS: LookRoom = LookRoom::of(2);

/// What says that somebody watches: one after the other, since it always has the same name.
pub(super) static WATCHES: LookRoom = LookRoom::of(1);
