//! A datagram socket that receives many datagrams per system call.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr};

use mio::net::UdpSocket;
use mio::{Interest, Registry, Token};
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use smallvec::SmallVec;

/// The protocol of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Open Compute Storage Messages.
    Ocsm,
    /// Batch datagrams.
    Batch,
}

/// Buffers that one call fills.
const BUFFERS: usize = 16;
/// Bytes of a buffer: enough for the longest datagram, and for many that the system delivers together.
const BUFFER_BYTES: usize = 1 << 16;

/// A socket and the last receipt.
#[derive(Debug)]
pub(super) struct Port {
    protocol: Protocol,
    socket: UdpSocket,
    state: UdpSocketState,
    /// There may be datagrams to receive. The system notifies only about changes.
    pub(super) receivable: bool,
    bytes: Vec<u8>,
    filled: SmallVec<[RecvMeta; BUFFERS]>,
}

/// A received datagram.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived<'a> {
    pub(super) protocol: Protocol,
    pub(super) route: Route,
    pub(super) bytes: &'a [u8],
}

/// The route of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route {
    /// The number of the port.
    pub(super) port: usize,
    /// The source of the datagram.
    pub(super) client: SocketAddr,
    /// The destination of the datagram.
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

    /// Receives as many datagrams as the buffers can store, replacing the last receipt.
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
                tracing::warn!(%error, "cannot receive datagrams");
            }
        }
    }

    /// Returns the datagrams of the last receipt.
    pub(super) fn arrived(&self, port: usize) -> impl Iterator<Item = Arrived<'_>> {
        let filled = self.filled.iter().zip(self.bytes.chunks_exact(BUFFER_BYTES));
        filled.flat_map(move |(meta, buffer)| {
            let route = Route { port, client: meta.addr, server: meta.dst_ip };
            let datagrams = buffer[..meta.len].chunks(meta.stride.max(1));
            datagrams.map(move |bytes| Arrived { protocol: self.protocol, route, bytes })
        })
    }

    /// Returns the number of datagrams of equal size that the system accepts per call.
    pub(super) fn together_max(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Sends datagrams of equal size, of which the last may be shorter. Datagrams that the system does not
    /// accept are lost.
    pub(super) fn send(&self, route: Route, contents: &[u8], size: usize) {
        let (destination, segment_size) = (route.client, Some(size));
        let transmit = Transmit { destination, ecn: None, contents, segment_size, src_ip: route.server };
        if let Err(error) = self.state.try_send(UdpSockRef::from(&self.socket), &transmit) {
            tracing::debug!(%error, %destination, "cannot send a reply");
        }
    }
}
