//! Addresses at which a server listens. Each belongs to one server, and all cores of the server share it.
//!
//! 1. The first socket is bound without `SO_REUSEPORT`, and a stream socket listens. The system rejects this
//!    while any other socket has the address, and from then on it rejects the first socket of any other
//!    server.
//! 2. Only then does the first socket get the option, and one socket for each further core joins it. The
//!    system distributes connections and datagrams over all of them by a hash of the address of the client.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

use crate::error::Error;

/// Maximum number of connections per core that wait for an accept.
const BACKLOG: i32 = 1024;
/// Requested size of the system buffers for datagrams, in bytes.
const KEPT_BYTES: usize = 4 << 20;

/// Sockets at one address. If the requested port was 0, the system has chosen the port.
#[derive(Debug)]
pub(crate) struct Listening<S> {
    pub(crate) address: SocketAddr,
    pub(crate) sockets: Vec<S>,
}

/// Listens for connections with one socket per core. `parameter` is the parameter that sets the address.
pub(crate) fn streams(
    parameter: &'static str,
    address: SocketAddr,
    sockets: usize,
) -> Result<Listening<TcpListener>, Error> {
    listen(Type::STREAM, address, sockets).map_err(|error| Error::Listen { parameter, address, error })
}

/// Opens datagram sockets, one per core.
pub(crate) fn datagrams(
    parameter: &'static str,
    address: SocketAddr,
    sockets: usize,
) -> Result<Listening<UdpSocket>, Error> {
    listen(Type::DGRAM, address, sockets).map_err(|error| Error::Listen { parameter, address, error })
}

fn listen<S: From<Socket>>(kind: Type, address: SocketAddr, sockets: usize) -> io::Result<Listening<S>> {
    let first = socket(kind, address, false)?;
    first.set_reuse_port(true)?;
    let address = first.local_addr()?.as_socket().unwrap_or(address);
    let others = (1..sockets).map(|_| socket(kind, address, true));
    let all = std::iter::once(Ok(first)).chain(others).map(|socket| Ok(S::from(socket?)));
    Ok(Listening { address, sockets: all.collect::<io::Result<_>>()? })
}

/// Returns a bound socket. A stream socket listens.
fn socket(kind: Type, address: SocketAddr, joins: bool) -> io::Result<Socket> {
    let is_stream = kind == Type::STREAM;
    let protocol = if is_stream { Protocol::TCP } else { Protocol::UDP };
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_port(joins)?;
    if is_stream {
        // Connections of an earlier server may linger.
        socket.set_reuse_address(true)?;
    } else {
        // The system may grant less.
        let _ = (socket.set_recv_buffer_size(KEPT_BYTES), socket.set_send_buffer_size(KEPT_BYTES));
    }
    socket.bind(&address.into())?;
    if is_stream {
        socket.listen(BACKLOG)?;
    }
    Ok(socket)
}
