//! Where the page is served: a port of the loopback address, or a Unix socket.

use super::access::AllowedOrigin;
use super::{WebServer, looks, peers, routes};
use crate::args::WebOptions;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::serve::door::{Door, Guest};
use crate::serve::own_socket::{self, Listening};
use anyhow::Context;
use bashd::CancellationToken;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// How long a request's head may take.
const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// Pause after the system had no descriptor for a connection.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// Where it is served if nobody says otherwise and nobody else is there.
const USUAL_PORT: u16 = 8417;

/// Where connections come from.
pub(super) enum WebListener {
    Port(TcpListener, SocketAddr),
    Socket {
        listener: UnixListener,
        path: PathBuf,
        /// Takes the socket away in the end.
        _listening: Listening,
    },
}

impl WebListener {
    /// Listens where the command line says, else where it was last time.
    pub(super) fn open(arguments: &WebOptions, last: Option<u16>) -> Result<Self, Failure> {
        if let Some(path) = &arguments.socket {
            let listening = Listening::at(path)?;
            return Ok(Self::Socket {
                listener: listening.listener()?,
                path: path.clone(),
                _listening: listening,
            });
        }
        if let Some(port) = arguments.port {
            return bind(port);
        }
        let wanted = last.into_iter().chain([USUAL_PORT, 0]);
        let mut bound = bind(0);
        for port in wanted {
            bound = bind(port);
            if bound.is_ok() {
                break;
            }
        }
        bound
    }

    /// The port, if it is one.
    pub(super) fn port(&self) -> Option<u16> {
        match self {
            Self::Port(_, address) => Some(address.port()),
            Self::Socket { .. } => None,
        }
    }

    /// What links begin with.
    pub(super) fn base(&self, origins: &[AllowedOrigin]) -> String {
        match (origins.first(), self) {
            (Some(origin), _) => origin.text.clone(),
            (None, Self::Port(_, address)) => format!("http://{address}"),
            // The person chooses the port of the tunnel.
            (None, Self::Socket { .. }) => format!("http://localhost:{USUAL_PORT}"),
        }
    }

    /// Tells people where it is.
    pub(super) fn say_where(&self, printer: &Printer) {
        match self {
            Self::Port(_, address) => printer.note(&format!("listening on http://{address}")),
            Self::Socket { path, .. } => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                let path = path.display();
                printer.note(&format!("listening on {path}"));
                printer.note(&format!("tunnel: ssh -L {USUAL_PORT}:{path} HOST"));
            }
        }
    }

    /// Serves until the token is cancelled.
    pub(super) async fn serve(
        self,
        server: Arc<WebServer>,
        stop: CancellationToken,
    ) -> Result<(), Failure> {
        let door = Arc::new(Door::new());
        loop {
            let accepted = tokio::select! {
                accepted = self.accept() => accepted,
                () = stop.cancelled() => return Ok(()),
            };
            match accepted {
                Ok(Some(stream)) => {
                    let guest = Guest::new(&door);
                    tokio::spawn(connection(stream, Arc::clone(&server), guest));
                }
                // It is of another user.
                Ok(None) => {}
                Err(_) => tokio::time::sleep(EXHAUSTED_PAUSE).await,
            }
        }
    }

    /// The next connection; none if it is known to be of another user.
    async fn accept(&self) -> io::Result<Option<WebStream>> {
        match self {
            Self::Port(listener, address) => {
                let (stream, peer) = listener.accept().await?;
                let _ = stream.set_nodelay(true);
                Ok(Some(WebStream::Port(stream, peer, *address)))
            }
            Self::Socket { listener, .. } => {
                let (stream, _) = listener.accept().await?;
                let is_own = own_socket::is_own(&stream)?;
                Ok(is_own.then_some(WebStream::Socket(stream)))
            }
        }
    }
}

enum WebStream {
    /// From, to.
    Port(TcpStream, SocketAddr, SocketAddr),
    Socket(UnixStream),
}

fn bind(port: u16) -> Result<WebListener, Failure> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let bound = || -> anyhow::Result<WebListener> {
        // The port of a server that has just ended can be taken again.
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(WebListener::Port(TcpListener::from_std(listener)?, address))
    };
    bound()
        .with_context(|| format!("can't listen on {address}"))
        .map_err(|chain| {
            Failure::of(FailureKind::System, chain).hint("choose another: --port PORT")
        })
}

async fn connection(stream: WebStream, server: Arc<WebServer>, guest: Arc<Guest>) {
    match stream {
        WebStream::Port(stream, peer, address) => {
            // The kernel's table has the connections of everybody, however many they make.
            let asking = looks::PEERS.look(move || peers::is_own(peer, address));
            let is_own = server.access.is_behind_a_proxy()
                || tokio::select! {
                    is_own = asking => is_own.unwrap_or(false),
                    () = guest.sent_away.cancelled() => false,
                };
            if is_own {
                over(stream, server, guest).await;
            }
        }
        WebStream::Socket(stream) => over(stream, server, guest).await,
    }
}

/// Serves one connection to its end.
async fn over<S>(stream: S, server: Arc<WebServer>, guest: Arc<Guest>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let sent_away = Arc::clone(&guest.sent_away);
    let stop = server.stop.clone();
    let answering = service_fn(move |request| {
        let (server, guest) = (Arc::clone(&server), Arc::clone(&guest));
        async move { Ok::<_, Infallible>(routes::answer(&server, &guest, request).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .serve_connection(TokioIo::new(stream), answering);
    // How a connection ends is up to its client, unless others need the place.
    tokio::select! {
        _ = serving => {}
        () = sent_away.cancelled() => {}
        () = stop.cancelled() => {}
    }
}
