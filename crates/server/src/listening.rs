//! Addresses that a server listens on. Each belongs to one server, and all cores of that server share it.
//!
//! 1. The first socket is bound without `SO_REUSEPORT` and, if it is a stream, listens. The system refuses
//!    that while any other socket has the address, and refuses the first socket of any other server from
//!    then on.
//! 2. Only then does the first socket get the option, and one more socket for each further core joins it.
//!    The system deals connections and datagrams out to all of them by a hash of the client's address.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

use crate::error::Error;

/// Connections that wait to be accepted, of each core.
const BACKLOG: i32 = 1024;
/// Bytes of datagrams that the system is asked to keep until they are received.
const KEPT_BYTES: usize = 4 << 20;

/// Sockets at one address, and where they are: the system has chosen a port if none was given.
#[derive(Debug)]
pub(crate) struct Listening<S> {
    pub(crate) address: SocketAddr,
    pub(crate) sockets: Vec<S>,
}

/// Listens for connections, with so many sockets. `parameter` says which one names the address.
pub(crate) fn streams(
    parameter: &'static str,
    address: SocketAddr,
    sockets: usize,
) -> Result<Listening<TcpListener>, Error> {
    listen(Type::STREAM, address, sockets).map_err(|error| Error::Listen { parameter, address, error })
}

/// Receives datagrams, with so many sockets.
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

/// A socket that is bound, and listens if it is a stream.
fn socket(kind: Type, address: SocketAddr, joins: bool) -> io::Result<Socket> {
    let is_stream = kind == Type::STREAM;
    let protocol = if is_stream { Protocol::TCP } else { Protocol::UDP };
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_port(joins)?;
    if is_stream {
        // Connections of a server that has ended may linger.
        socket.set_reuse_address(true)?;
    } else {
        // As much as the system allows.
        let _ = (socket.set_recv_buffer_size(KEPT_BYTES), socket.set_send_buffer_size(KEPT_BYTES));
    }
    socket.bind(&address.into())?;
    if is_stream {
        socket.listen(BACKLOG)?;
    }
    Ok(socket)
}
