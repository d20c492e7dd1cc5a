//! Datagrams: operations that come in packets, many in each, and have no connection.
//!
//! What has arrived at a core's ports is read and written in the turn of its connections: their reads are
//! in one batch. Of a packet, and of all packets of a turn, the reads are carried out before the writes,
//! and writes of one key in the order in which they stand.

mod answers;
mod outbox;
mod outcome;
mod port;
mod questions;
mod sessions;
mod writes;

use honeycomb_store::Reads;
use mio::{Registry, Token};

use crate::datagrams::answers::Answers;
use crate::datagrams::port::{Arrived, Port};
use crate::server_state::ServerState;

pub(crate) use port::Protocol;
pub(crate) use questions::Questions;

/// The ports of a core.
#[derive(Debug)]
pub(crate) struct Datagrams {
    ports: Vec<Port>,
    /// Of the datagrams that were received, those that were taken.
    taken: usize,
    answers: Answers,
}

impl Datagrams {
    /// Takes datagrams from sockets. Events of the one at `index` have the token `token - index`.
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
        Ok(Self { ports, taken: 0, answers: Answers::new(shared) })
    }

    /// Notes that something has arrived at a port.
    pub(crate) fn note(&mut self, index: usize) {
        if let Some(port) = self.ports.get_mut(index) {
            port.receivable = true;
        }
    }

    /// Whether there may be something to receive.
    pub(crate) fn is_ready(&self) -> bool {
        self.ports.iter().any(|port| port.receivable)
    }

    /// Receives what has arrived, or a part of it. All that was received before must have been taken.
    pub(crate) fn receive(&mut self) {
        self.taken = 0;
        self.ports.iter_mut().for_each(Port::receive);
    }

    /// Whether something was received that is not taken yet.
    pub(crate) fn has_received(&self) -> bool {
        arrived(&self.ports).nth(self.taken).is_some()
    }

    /// Some of what was received, with its reads among others, at a time; and who answers it.
    pub(crate) fn ask<'a>(
        &'a mut self,
        shared: &'a ServerState,
        now: u64,
        reads: &mut Reads,
    ) -> (Questions<'a>, &'a mut Answers) {
        let Self { ports, taken, answers } = self;
        let mut questions = Questions::new(shared, now);
        for arrived in arrived(ports).skip(*taken) {
            if questions.is_full() {
                break;
            }
            *taken += 1;
            questions.take(arrived, answers, reads);
        }
        (questions, answers)
    }

    /// Sends the answers.
    pub(crate) fn send(&mut self) {
        self.answers.outbox.send(&self.ports);
    }

    /// Takes nothing any more.
    pub(crate) fn close(&mut self) {
        self.ports.clear();
    }
}

/// What was received last, at all ports.
fn arrived(ports: &[Port]) -> impl Iterator<Item = Arrived<'_>> {
    ports.iter().enumerate().flat_map(|(index, port)| port.arrived(index))
}
