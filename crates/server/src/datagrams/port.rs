//! A socket of datagrams, many received at a time.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr};

use mio::net::UdpSocket;
use mio::{Interest, Registry, Token};
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use smallvec::SmallVec;

/// What is spoken at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Open Compute Storage Messages.
    Ocsm,
    /// Batch datagrams.
    Batch,
}

/// Buffers that are filled at a time.
const BUFFERS: usize = 16;
/// Bytes of each: of the longest datagram, and of many that the system hands over together.
const BUFFER_BYTES: usize = 1 << 16;

/// A socket and what was received last.
#[derive(Debug)]
pub(super) struct Port {
    protocol: Protocol,
    socket: UdpSocket,
    state: UdpSocketState,
    /// There may be something to receive: the system tells only when that changes.
    pub(super) receivable: bool,
    bytes: Vec<u8>,
    filled: SmallVec<[RecvMeta; BUFFERS]>,
}

/// A datagram that was received.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived<'a> {
    pub(super) protocol: Protocol,
    pub(super) route: Route,
    pub(super) bytes: &'a [u8],
}

/// How an answer goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route {
    /// The number of the port.
    pub(super) port: usize,
    /// Where the datagram came from.
    pub(super) client: SocketAddr,
    /// The address that it was sent to.
    pub(super) server: Option<IpAddr>,
}

impl Port {
    pub(super) fn new(
        protocol: Protocol,
        socket: std::net::UdpSocket,
        registry: &Registry,
        token: Token,
    ) -> io::Result<Self> {
        let mut socket = UdpSocket::from_std(socket);
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        registry.register(&mut socket, token, Interest::READABLE)?;
        let bytes = vec![0; BUFFERS * BUFFER_BYTES];
        Ok(Self { protocol, socket, state, receivable: true, bytes, filled: SmallVec::new() })
    }

    /// Receives as much as there are buffers for, in place of what was received before.
    pub(super) fn receive(&mut self) {
        self.filled.clear();
        if !self.receivable {
            return;
        }
        self.filled.resize(BUFFERS, RecvMeta::default());
        let buffers = self.bytes.chunks_exact_mut(BUFFER_BYTES).map(IoSliceMut::new);
        let mut buffers: SmallVec<[IoSliceMut<'_>; BUFFERS]> = buffers.collect();
        let socket = UdpSockRef::from(&self.socket);
        let received = self.state.recv(socket, &mut buffers, &mut self.filled);
        self.filled.truncate(*received.as_ref().unwrap_or(&0));
        if let Err(error) = received {
            self.receivable = false;
            if error.kind() != ErrorKind::WouldBlock {
                tracing::warn!(%error, "datagrams were not received");
            }
        }
    }

    /// What was received last.
    pub(super) fn arrived(&self, port: usize) -> impl Iterator<Item = Arrived<'_>> {
        let filled = self.filled.iter().zip(self.bytes.chunks_exact(BUFFER_BYTES));
        filled.flat_map(move |(meta, buffer)| {
            let route = Route { port, client: meta.addr, server: meta.dst_ip };
            let datagrams = buffer[..meta.len].chunks(meta.stride.max(1));
            datagrams.map(move |bytes| Arrived { protocol: self.protocol, route, bytes })
        })
    }

    /// Datagrams that the system takes at a time, if they are of one size.
    pub(super) fn together_max(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Sends datagrams of one size, of which the last may be shorter. What the system does not take is
    /// lost, as datagrams may be.
    pub(super) fn send(&self, route: Route, contents: &[u8], size: usize) {
        let (destination, segment_size) = (route.client, Some(size));
        let transmit = Transmit { destination, ecn: None, contents, segment_size, src_ip: route.server };
        if let Err(error) = self.state.try_send(UdpSockRef::from(&self.socket), &transmit) {
            tracing::debug!(%error, %destination, "an answer was not sent");
        }
    }
}
