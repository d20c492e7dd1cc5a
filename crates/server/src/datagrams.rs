//! Datagrams: packets with many operations each, without a connection.
//!
//! An iteration executes the received datagrams together with the requests of connections: their reads share
//! one batch. Within a packet, and within all packets of an iteration, reads execute before writes, and
//! writes of one key execute in order.

mod beginning;
mod functions;
mod outbox;
mod outcome;
mod port;
mod range_functions;
mod replies;
mod requests;
mod sessions;
mod writes;

use std::collections::VecDeque;

use honeycomb_store::{Reads, Store, Version};
use mio::{Registry, Token};

use crate::datagrams::outbox::Outbox;
use crate::datagrams::port::{Arrived, Port};
use crate::datagrams::replies::Replier;
use crate::held::Hold;
use crate::lost_writes::LostWrites;
use crate::server_state::ServerState;
pub(crate) use port::Protocol;
pub(crate) use requests::PacketRequests;

/// The ports of a core.
#[derive(Debug)]
pub(crate) struct Datagrams {
    ports: Vec<Port>,
    /// The server does not stop.
    receives: bool,
    /// The number of received datagrams that were processed.
    processed: usize,
    replier: Replier,
    /// Replies that wait until everything that they depend on is durable.
    held: VecDeque<(Version, Outbox)>,
    /// More may be durable than in the last iteration.
    looks_again: bool,
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
        Ok(Self {
            ports,
            receives: true,
            processed: 0,
            replier: Replier::new(shared),
            held: VecDeque::new(),
            looks_again: false,
        })
    }

    /// Records that datagrams have arrived at a port.
    pub(crate) fn note(&mut self, index: usize) {
        if let Some(port) = self.ports.get_mut(index).filter(|_| self.receives) {
            port.receivable = true;
        }
    }

    /// Returns whether there may be datagrams to receive or to process.
    pub(crate) fn is_ready(&self) -> bool {
        self.looks_again || self.has_received() || self.ports.iter().any(|port| port.receivable)
    }

    /// Receives datagrams, limited by the buffers. Keeps the buffers while earlier ones remain to be
    /// processed: an iteration ends early if the replies to connections are long.
    pub(crate) fn receive(&mut self) {
        if self.has_received() {
            return;
        }
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
        (shared, now, lost): (&'a ServerState, u64, Option<LostWrites>),
        reads: &mut Reads,
    ) -> (PacketRequests<'a>, &'a mut Replier) {
        let Self { ports, processed, replier, .. } = self;
        let mut requests = PacketRequests::new(shared, now, lost);
        for arrived in arrived(ports).skip(*processed) {
            if requests.is_full() {
                break;
            }
            *processed += 1;
            requests.add(arrived, replier, reads);
        }
        (requests, replier)
    }

    /// Sends the replies, or holds them until the version that they need is durable; `None`: the read
    /// version.
    pub(crate) fn send(&mut self, store: &Store, needed: Option<Version>) {
        match Hold::now(store) {
            Some(hold) if !hold.releases(needed) || !self.held.is_empty() => {
                let outbox = std::mem::take(&mut self.replier.outbox);
                if !outbox.is_empty() {
                    self.held.push_back((needed.unwrap_or(hold.needed()), outbox));
                }
            }
            _ => self.replier.outbox.send(&self.ports),
        }
    }

    /// Sends the held replies that may leave now. After a failure of the log none ever may, so the clients
    /// get none.
    pub(crate) fn release(&mut self, hold: Option<&Hold>) {
        self.looks_again = false;
        let Some(hold) = hold else { return };
        if hold.has_failed {
            self.held.clear();
        }
        while let Some((version, outbox)) = self.held.front_mut() {
            if !hold.has(*version) {
                break;
            }
            outbox.send(&self.ports);
            self.held.pop_front();
        }
    }

    /// Returns whether replies wait.
    pub(crate) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Requests another iteration, because more may be durable.
    pub(crate) fn look_again(&mut self) {
        self.looks_again = self.holds();
    }

    /// Stops receiving. Held replies still leave.
    pub(crate) fn stop_receiving(&mut self) {
        self.receives = false;
        self.ports.iter_mut().for_each(|port| port.receivable = false);
    }
}

/// Returns the datagrams of the last receipt at all ports.
fn arrived(ports: &[Port]) -> impl Iterator<Item = Arrived<'_>> {
    ports.iter().enumerate().flat_map(|(index, port)| port.arrived(index))
}
