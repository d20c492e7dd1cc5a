//! A request in flight: its datagram, and the parts of its reply that have arrived.

use std::time::Instant;

use honeycomb_protocol::batch::{Header, Items, Kind, Operation, Operations};

use crate::outcome::Outcome;

/// A request without a complete reply.
#[derive(Debug)]
pub(crate) struct InFlightRequest {
    /// The header of the last transmission.
    pub(crate) header: Header,
    pub(crate) datagram: Vec<u8>,
    pub(crate) first_ticket: u64,
    pub(crate) writes: bool,
    /// The number of transmissions in the current session.
    pub(crate) sent: u32,
    /// Whether it is certain that the server has not executed the request.
    pub(crate) not_executed: bool,
    pub(crate) started: Instant,
    /// The time of the next transmission.
    pub(crate) due: Instant,
    /// The datagrams of a reply of several, by position, and their number once it is known.
    parts: Vec<Option<Vec<u8>>>,
    parts_count: Option<usize>,
}

impl InFlightRequest {
    pub(crate) fn new(
        header: Header,
        datagram: &[u8],
        first_ticket: u64,
        writes: bool,
        now: Instant,
    ) -> Self {
        Self {
            header,
            datagram: datagram.to_vec(),
            first_ticket,
            writes,
            sent: 0,
            not_executed: true,
            started: now,
            due: now,
            parts: Vec::new(),
            parts_count: None,
        }
    }

    /// Returns the datagram for another transmission in a session.
    pub(crate) fn retransmission(&mut self, session: u64) -> &[u8] {
        let attempt = self.header.attempt.wrapping_add(1);
        self.header = Header { session, attempt, ..self.header };
        self.datagram[..Header::SIZE].copy_from_slice(&self.header.bytes());
        self.sent += 1;
        self.not_executed = false;
        self.parts.clear();
        self.parts_count = None;
        &self.datagram
    }

    /// Returns the number of operations.
    pub(crate) fn operations(&self) -> u64 {
        self.header.count.into()
    }

    /// Adds a datagram of the reply. If the reply is then complete, passes the outcomes to `each` and returns
    /// true.
    pub(crate) fn receive(
        &mut self,
        header: &Header,
        items: &[u8],
        each: &mut impl FnMut(u64, Outcome<'_>),
    ) -> bool {
        if header.position == 0 && header.kind == Kind::ReplyEnd {
            self.report_outcomes(&[(header.count, items)], each);
            return true;
        }
        // Datagrams of different replies do not fit together.
        if header.attempt != self.header.attempt {
            return false;
        }
        self.add_part(header, items);
        if self.parts_count.is_none_or(|count| self.parts.iter().flatten().count() < count) {
            return false;
        }
        let parts = std::mem::take(&mut self.parts);
        let parts: Vec<(u16, &[u8])> = parts
            .iter()
            .flatten()
            .filter_map(|part| Header::parse(part).ok())
            .map(|(header, items)| (header.count, items))
            .collect();
        self.report_outcomes(&parts, each);
        true
    }

    fn add_part(&mut self, header: &Header, items: &[u8]) {
        let position = usize::from(header.position);
        if self.parts.len() <= position {
            self.parts.resize(position + 1, None);
        }
        self.parts[position] = Some([&header.bytes()[..], items].concat());
        if header.kind == Kind::ReplyEnd {
            self.parts_count = Some(position + 1);
        }
    }

    /// Passes the outcome of each operation to `each`. An operation without an item in the reply has failed.
    fn report_outcomes(&self, parts: &[(u16, &[u8])], each: &mut impl FnMut(u64, Outcome<'_>)) {
        let mut items =
            parts.iter().flat_map(|(count, items)| Items::new(*count, items)).map_while(Result::ok);
        let operations = Operations::new(self.header.count, &self.datagram[Header::SIZE..]).flatten();
        let mut pairs = Vec::new();
        for (ticket, operation) in (self.first_ticket..).zip(operations) {
            pairs.clear();
            let last = loop {
                match items.next() {
                    Some(honeycomb_protocol::batch::Item::Pair { key, value }) => pairs.push((key, value)),
                    other => break other,
                }
            };
            let is_range = matches!(operation, Operation::Range { .. } | Operation::RangeFunction { .. });
            each(ticket, last.map_or(Outcome::Failed, |last| Outcome::of(last, is_range, &pairs)));
        }
    }
}
