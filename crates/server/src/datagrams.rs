//! Datagrams: packets with many operations each, without a connection.
//!
//! An iteration executes the received datagrams together with the requests of connections: their reads share
//! one batch. Within a packet, and within all packets of an iteration, reads execute before writes, and
//! writes of one key execute in order.

mod outbox;
mod outcome;
mod port;
mod replies;
mod requests;
mod sessions;
mod writes;

use honeycomb_store::Reads;
use mio::{Registry, Token};

use crate::datagrams::port::{Arrived, Port};
use crate::datagrams::replies::Replier;
use crate::server_state::ServerState;
pub(crate) use port::Protocol;
pub(crate) use requests::PacketRequests;

/// The ports of a core.
#[derive(Debug)]
pub(crate) struct Datagrams {
    ports: Vec<Port>,
    /// The number of received datagrams that were processed.
    processed: usize,
    replier: Replier,
}

impl Datagrams {
    /// Returns ports for some sockets. Events of the socket at `index` have the token `token - index`.
    pub(crate) fn new(
        sockets: Vec<(Protocol, std::net::UdpSocket)>,
        shared: &ServerState,
        registry: &Registry,
        token: Token,
    ) -> std::io::Result<Self> {
        let mut ports = Vec::with_capacity(sockets.len());
        for (index, (protocol, socket)) in sockets.into_iter().enumerate() {
            ports.push(Port::new(protocol, socket, registry, Token(token.0 - index))?);
        }
        Ok(Self { ports, processed: 0, replier: Replier::new(shared) })
    }

    /// Records that datagrams have arrived at a port.
    pub(crate) fn note(&mut self, index: usize) {
        if let Some(port) = self.ports.get_mut(index) {
            port.receivable = true;
        }
    }

    /// Returns whether there may be datagrams to receive.
    pub(crate) fn is_ready(&self) -> bool {
        self.ports.iter().any(|port| port.receivable)
    }

    /// Receives datagrams, limited by the buffers. The caller must have processed all earlier ones.
    pub(crate) fn receive(&mut self) {
        self.processed = 0;
        self.ports.iter_mut().for_each(Port::receive);
    }

    /// Returns whether received datagrams remain to be processed.
    pub(crate) fn has_received(&self) -> bool {
        arrived(&self.ports).nth(self.processed).is_some()
    }

    /// Returns some of the received requests, and the writer of their replies. Adds their reads to a batch.
    pub(crate) fn collect<'a>(
        &'a mut self,
        shared: &'a ServerState,
        now: u64,
        reads: &mut Reads,
    ) -> (PacketRequests<'a>, &'a mut Replier) {
        let Self { ports, processed, replier } = self;
        let mut requests = PacketRequests::new(shared, now);
        for arrived in arrived(ports).skip(*processed) {
            if requests.is_full() {
                break;
            }
            *processed += 1;
            requests.add(arrived, replier, reads);
        }
        (requests, replier)
    }

    /// Sends the replies.
    pub(crate) fn send(&mut self) {
        self.replier.outbox.send(&self.ports);
    }

    /// Stops receiving.
    pub(crate) fn close(&mut self) {
        self.ports.clear();
    }
}

/// Returns the datagrams of the last receipt at all ports.
fn arrived(ports: &[Port]) -> impl Iterator<Item = Arrived<'_>> {
    ports.iter().enumerate().flat_map(|(index, port)| port.arrived(index))
}
