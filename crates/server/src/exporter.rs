//! Answers who asks for the metrics: HTTP, one request a connection, one after the other.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};

use crate::metrics;
use crate::server::Error;
use crate::shared::Shared;

const LISTENER: Token = Token(0);
const WAKER: Token = Token(1);
/// How long one who asks may take, so that nobody can keep the others waiting.
const PATIENCE: Duration = Duration::from_secs(1);
/// Bytes of a request that are looked at.
const REQUEST_BYTES_MAX: usize = 8 << 10;
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Listens for those who ask.
pub(crate) struct Exporter {
    poll: Poll,
    listener: TcpListener,
    address: SocketAddr,
}

impl Exporter {
    pub(crate) fn bind(address: SocketAddr) -> Result<Self, Error> {
        let listen = || {
            let (poll, mut listener) = (Poll::new()?, TcpListener::bind(address)?);
            poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
            let address = listener.local_addr()?;
            Ok(Self { poll, listener, address })
        };
        listen().map_err(|error| Error::Listen { address, error })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), WAKER)
    }

    /// Answers until the server is stopped.
    pub(crate) fn run(mut self, shared: &Arc<Shared>) -> io::Result<()> {
        let mut events = Events::with_capacity(16);
        while !shared.is_stopping() {
            match self.listener.accept() {
                Ok((socket, _)) => {
                    if let Err(error) = answer(socket.into(), shared) {
                        tracing::debug!(%error, "metrics were not sent");
                    }
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => tracing::warn!(%error, "a connection for metrics was not accepted"),
            }
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

fn answer(mut socket: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    let request = request(&mut socket)?;
    let (status, body) = match request.split(|byte| *byte == b' ').take(2).collect::<Vec<_>>()[..] {
        [b"GET", b"/metrics" | b"/"] => ("200 OK", metrics::text(shared)),
        [b"GET", _] => ("404 Not Found", "the metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "the metrics are had by GET\n".to_owned()),
    };
    let kind = if status == "200 OK" { CONTENT_TYPE } else { "text/plain; charset=utf-8" };
    let length = body.len();
    socket.set_write_timeout(Some(PATIENCE))?;
    write!(
        socket,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    socket.write_all(body.as_bytes())
}

/// The head of a request, or as much of it as came in time.
fn request(socket: &mut TcpStream) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
    while request.len() < REQUEST_BYTES_MAX && !request.ends_with(b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match socket.read(&mut buffer)? {
            0 => break,
            bytes => request.extend_from_slice(&buffer[..bytes]),
        }
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
    }
    Ok(request)
}
