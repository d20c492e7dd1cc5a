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

/// Bytes of memory of held replies at which the core receives no more datagrams. The system then drops those
/// that its buffers do not hold, and clients repeat them.
const HELD_BYTES_MAX: usize = 4 << 20;

/// The ports of a core.
#[derive(Debug)]
pub(crate) struct Datagrams {
    ports: Vec<Port>,
    /// The server does not stop.
    receives: bool,
    /// The number of received datagrams that were processed.
    processed: usize,
    replier: Replier,
    /// Replies that wait until everything that they depend on is durable, and the bytes of their memory.
    held: VecDeque<(Version, Outbox)>,
    held_bytes: usize,
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
            held_bytes: 0,
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
        let has_more = self.has_received() || self.ports.iter().any(|port| port.receivable);
        self.looks_again || has_more && !self.holds_much()
    }

    /// Returns whether no datagram may be received or processed before held replies have left.
    fn holds_much(&self) -> bool {
        self.held_bytes >= HELD_BYTES_MAX
    }

    /// Receives datagrams, limited by the buffers. Keeps the buffers while earlier ones remain to be
    /// processed: an iteration ends early if the replies to connections are long.
    pub(crate) fn receive(&mut self) {
        if self.has_received() || self.holds_much() {
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
        let is_paused = self.holds_much();
        let Self { ports, processed, replier, .. } = self;
        let mut requests = PacketRequests::new(shared, now, lost);
        for arrived in arrived(ports).skip(*processed) {
            if is_paused || requests.is_full() {
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
                    self.held_bytes += outbox.memory_bytes();
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
            self.held_bytes = 0;
        }
        while let Some((version, outbox)) = self.held.front_mut() {
            if !hold.has(*version) {
                break;
            }
            self.held_bytes -= outbox.memory_bytes();
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use honeycomb_store::DurabilityConfig;
    use honeycomb_testing::{DiskCall, Gate, ObservedDisk, SimulatedDisk};

    use super::*;
    use crate::datagrams::port::Route;
    use crate::server_state::tests::state;

    /// Returns a store under the policy `always` on a disk that waits while the gate is closed.
    fn open_gated() -> (Store, Gate) {
        let gate = Gate::default();
        let pass = gate.passage();
        let before = move |call: DiskCall<'_>| {
            if matches!(call, DiskCall::MakeDurable) {
                pass();
            }
        };
        let disk = ObservedDisk::new(&SimulatedDisk::default(), before);
        let durability =
            DurabilityConfig { writes_wait: false, ..DurabilityConfig::with_storage(Arc::new(disk)) };
        let config = honeycomb_store::Config { memory_bytes: 16 << 20, ..honeycomb_store::Config::default() };
        (Store::open(honeycomb_store::Config { durability: Some(durability), ..config }).unwrap(), gate)
    }

    #[test]
    fn a_core_with_many_held_replies_processes_no_datagrams() {
        let (store, gate) = open_gated();
        let poll = mio::Poll::new().unwrap();
        let mut datagrams = Datagrams::new(Vec::new(), &state(), poll.registry(), Token(9)).unwrap();
        let table = store.table("t").unwrap();
        gate.close();
        table.put(b"key", b"value").unwrap();
        let route = Route { port: 0, client: ([127, 0, 0, 1], 1).into(), server: None };
        for sent in 0..8 {
            assert_eq!(datagrams.holds_much(), sent >= 4, "{sent} MiB");
            datagrams.replier.outbox.bytes = vec![0; 1 << 20];
            datagrams.replier.outbox.end(route, [1 << 20]);
            datagrams.send(&store, None);
        }
        datagrams.release(Hold::now(&store).as_ref());
        assert!(datagrams.holds_much(), "nothing is durable");
        gate.open();
        store.wait_durable(store.read_version()).unwrap();
        datagrams.release(Hold::now(&store).as_ref());
        assert_eq!((datagrams.held_bytes, datagrams.holds()), (0, false));
    }
}
