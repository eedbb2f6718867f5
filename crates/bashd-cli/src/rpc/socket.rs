//! `bashd rpc --socket PATH`: many clients on a Unix socket, all of them of the same user.
//!
//! The kernel tells each peer's user.

use super::RpcServer;
use super::answer;
use super::connection::{self, ConnectionEnds};
use crate::failure::Failure;
use crate::serve::own_socket::{self, Listening};
use bashd::CancellationToken;
use std::io;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::task::JoinSet;

/// Clients at once; each has two threads here.
const MOST_CLIENTS: usize = 64;

/// Pause after an accept failed for lack of descriptors or memory.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Serves clients until the token is cancelled; all of them have ended when this returns.
pub(super) async fn serve(
    host: RpcServer,
    listening: Listening,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let listener = listening.listener()?;
    let mut clients = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = clients.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        // A client that is turned away has been told, if possible.
        if let Ok(ends) = admit(&stream, clients.len()).and_then(|()| ends(stream)) {
            clients.spawn(connection::serve(host.clone(), ends, stop.clone()));
        }
    }
    drop(listening);
    clients.join_all().await;
    Ok(())
}

fn admit(stream: &UnixStream, clients: usize) -> io::Result<()> {
    let refusal = if !own_socket::is_own(stream)? {
        "this socket belongs to another user"
    } else if clients >= MOST_CLIENTS {
        "too many clients"
    } else {
        return Ok(());
    };
    let line = format!("{}\n", answer::failure(None, "connect", refusal));
    let _ = stream.try_write(line.as_bytes());
    Err(io::Error::other(refusal))
}

fn ends(stream: UnixStream) -> io::Result<ConnectionEnds> {
    let stream = stream.into_std()?;
    stream.set_nonblocking(false)?;
    ConnectionEnds::socket(stream)
}
