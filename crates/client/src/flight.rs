//! A request in flight: its datagram, and what has arrived of its reply.

use std::time::Instant;

use honeycomb_protocol::batch::{Header, Items, Kind, Operation, Operations};

use crate::outcome::Outcome;

/// A request that waits for its reply.
#[derive(Debug)]
pub(crate) struct Flight {
    /// Its header, as it was sent last.
    pub(crate) header: Header,
    pub(crate) datagram: Vec<u8>,
    pub(crate) first_ticket: u64,
    pub(crate) writes: bool,
    /// How often it was sent in its session.
    pub(crate) sent: u32,
    /// The server has certainly not carried it out.
    pub(crate) untouched: bool,
    pub(crate) begun: Instant,
    /// When it is sent again.
    pub(crate) due: Instant,
    /// Datagrams of a reply of several, by position, and how many they are once that is known.
    parts: Vec<Option<Vec<u8>>>,
    parts_count: Option<usize>,
}

impl Flight {
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
            untouched: true,
            begun: now,
            due: now,
            parts: Vec::new(),
            parts_count: None,
        }
    }

    /// The datagram of another attempt in a session.
    pub(crate) fn again(&mut self, session: u64) -> &[u8] {
        let attempt = self.header.attempt.wrapping_add(1);
        self.header = Header { session, attempt, ..self.header };
        self.datagram[..Header::SIZE].copy_from_slice(&self.header.bytes());
        self.sent += 1;
        self.untouched = false;
        self.parts.clear();
        self.parts_count = None;
        &self.datagram
    }

    /// How many operations it has.
    pub(crate) fn operations(&self) -> u64 {
        self.header.count.into()
    }

    /// Takes a datagram of the reply: whether the reply is whole now, and then its operations are handed out.
    pub(crate) fn receive(
        &mut self,
        header: &Header,
        items: &[u8],
        each: &mut impl FnMut(u64, Outcome<'_>),
    ) -> bool {
        if header.position == 0 && header.kind == Kind::ReplyEnd {
            self.hand_out(&[(header.count, items)], each);
            return true;
        }
        // Datagrams of two replies do not go together.
        if header.attempt != self.header.attempt {
            return false;
        }
        self.keep(header, items);
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
        self.hand_out(&parts, each);
        true
    }

    fn keep(&mut self, header: &Header, items: &[u8]) {
        let position = usize::from(header.position);
        if self.parts.len() <= position {
            self.parts.resize(position + 1, None);
        }
        self.parts[position] = Some([&header.bytes()[..], items].concat());
        if header.kind == Kind::ReplyEnd {
            self.parts_count = Some(position + 1);
        }
    }

    /// Tells of each operation what came of it. What a reply does not say has failed.
    fn hand_out(&self, parts: &[(u16, &[u8])], each: &mut impl FnMut(u64, Outcome<'_>)) {
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
            let is_range = matches!(operation, Operation::Range { .. });
            each(ticket, last.map_or(Outcome::Failed, |last| Outcome::of(last, is_range, &pairs)));
        }
    }
}
