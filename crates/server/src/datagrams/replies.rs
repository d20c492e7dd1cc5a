//! Replies to the packets of an iteration.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::{Bound, ControlFlow};

use honeycomb_protocol::batch::{Header, Item, Kind, Operation, Rejection, ReplyWriter, Room};
use honeycomb_protocol::ocsm;
use honeycomb_store::{Error, Reads, TableHandle};

use crate::commands::range::{Range, for_each_pair};
use crate::datagrams::outbox::Outbox;
use crate::datagrams::outcome::Outcome;
use crate::datagrams::port::Route;
use crate::datagrams::range_functions::Answer;
use crate::datagrams::requests::{PacketRequest, PacketRequests, ReplyFormat, Step};
use crate::datagrams::sessions::Sessions;
use crate::datagrams::{beginning, functions};
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::server_state::ServerState;

/// Writes and sends replies.
#[derive(Debug)]
pub(crate) struct Replier {
    pub(super) sessions: Sessions,
    pub(super) outbox: Outbox,
    payload_bytes: usize,
    reply_datagrams_max: u8,
}

impl Replier {
    pub(super) fn new(shared: &ServerState) -> Self {
        let config = &shared.config().datagrams;
        Self {
            sessions: Sessions::new(shared),
            outbox: Outbox::default(),
            payload_bytes: config.payload_bytes,
            reply_datagrams_max: config.reply_datagrams_max,
        }
    }

    /// Replies to a hello.
    pub(super) fn reply_hello(&mut self, hello: &Header, route: Route, shared: &ServerState) {
        let reply = self.sessions.reply_hello(hello, route.client, shared);
        self.send_header(&reply, route);
    }

    /// Rejects a request. None of its operations was executed.
    pub(super) fn reject(&mut self, request: &Header, rejection: Rejection, route: Route) {
        self.send_header(&Header { count: 0, kind: Kind::Rejected(rejection), ..*request }, route);
    }

    /// Replies to a packet whose operations were executed.
    pub(super) fn reply_to(
        &mut self,
        requests: &PacketRequests<'_>,
        request: &PacketRequest<'_>,
        reads: &Reads,
    ) {
        let found = PacketResults { requests, request, reads, range_bytes: Cell::new(0) };
        match &request.form {
            ReplyFormat::Ocsm(packet) => {
                let mut reply = ocsm::ReplyPacket::to(packet, &mut self.outbox.bytes);
                for step in found.steps() {
                    match found.value(step) {
                        Ok(value) => reply.push(ocsm::Status::Done, value.as_deref()),
                        Err(outcome) => reply.push(outcome.status(), None),
                    }
                }
                let end = self.outbox.bytes.len();
                self.outbox.end(request.route, [end]);
            }
            ReplyFormat::Batch(header) => self.reply(header, &found),
        }
    }

    fn reply(&mut self, header: &Header, found: &PacketResults<'_>) {
        let (out, mut ends) = (&mut self.outbox.bytes, Vec::new());
        let mut reply = ReplyWriter::to(header, self.payload_bytes, self.reply_datagrams_max, out, &mut ends);
        let mut later = found.steps().len();
        for step in found.steps() {
            later -= 1;
            match (&step.operation, &step.answer) {
                (_, Some(answer)) => push_answer(&mut reply, answer, later),
                (Operation::Range { .. }, _) if step.outcome.is_none() => {
                    found.reply_range(step, later, &mut reply)
                }
                _ => match found.answer(step) {
                    Ok(Some(value)) => push(&mut reply, &Item::Found(&value), later),
                    Ok(None) => push(&mut reply, &Item::Done { more: false }, later),
                    Err(outcome) => push(&mut reply, &outcome.item(), later),
                },
            }
        }
        reply.finish();
        self.outbox.end(found.request.route, ends);
        let writes = found.steps().iter().filter(|step| step.operation.writes());
        let mut outcomes = Vec::new();
        writes.filter_map(|step| step.outcome).for_each(|outcome| outcome.encode(&mut outcomes));
        if !outcomes.is_empty() {
            let session = (header.session, found.request.route.client);
            self.sessions.finish(session, header.identifier, &outcomes);
        }
    }

    fn send_header(&mut self, header: &Header, route: Route) {
        self.outbox.bytes.extend_from_slice(&header.bytes());
        let end = self.outbox.bytes.len();
        self.outbox.end(route, [end]);
    }
}

/// Bytes of values after which no more ranges of a packet are read outside the batch: each reads at least one
/// value, however long it is.
const RANGE_BYTES_MAX: usize = 1 << 20;

/// Bytes of an item that contains a value, without the value.
const FOUND_BYTES: usize = 3;

/// The results of a packet.
struct PacketResults<'f> {
    requests: &'f PacketRequests<'f>,
    request: &'f PacketRequest<'f>,
    reads: &'f Reads,
    /// Bytes of the ranges that were read outside the batch.
    range_bytes: Cell<usize>,
}

impl<'f> PacketResults<'f> {
    fn steps(&self) -> &'f [Step<'f>] {
        &self.requests.steps[self.request.steps.clone()]
    }

    /// Returns the answer to an operation of a batch: the value of a get, the result of a reduction or a
    /// filter, or `None` for a successful write.
    #[inline]
    fn answer(&self, step: &Step<'_>) -> Result<Option<Cow<'f, [u8]>>, Outcome> {
        let value = self.value(step)?;
        let functions = self.requests.shared.databases.functions();
        let apply = |value: &[u8]| functions::apply(&step.operation, value, functions);
        match value.as_deref().and_then(apply) {
            None => Ok(value),
            Some(results) => Ok(Some(Cow::Owned(results?.answer))),
        }
    }

    /// Returns the value of a get, or `None` for a successful write.
    #[inline]
    fn value(&self, step: &Step<'_>) -> Result<Option<Cow<'f, [u8]>>, Outcome> {
        match step.outcome {
            Some(Outcome::Done) => return Ok(None),
            Some(outcome) => return Err(outcome),
            None => {}
        }
        let read = step.read.ok_or(Outcome::Absent)?;
        match self.reads.value(read) {
            Ok(pair) => Ok(Some(Cow::Borrowed(self.open(pair)?))),
            Err(Error::NoRoom) => {
                let table = self.request.table.ok_or(Outcome::Failed)?;
                let pair = beginning::read(table, step.operation.key(), self.data_bytes_max(step))?;
                Ok(Some(Cow::Owned(self.open(pair.as_deref())?.to_vec())))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the length of a value above which the answer to an operation is only that it is too large.
    fn data_bytes_max(&self, step: &Step<'_>) -> usize {
        match step.operation {
            Operation::Function { .. } => functions::VALUE_BYTES_MAX,
            _ => self.requests.shared.config().datagrams.reply_bytes_max(),
        }
    }

    /// Returns the data of a stored value that has not expired.
    #[inline]
    fn open<'p>(&self, pair: Option<&'p [u8]>) -> Result<&'p [u8], Outcome> {
        let envelope = Envelope::open(pair.ok_or(Outcome::Absent)?).ok_or(Outcome::Failed)?;
        if envelope.is_alive(self.requests.now) { Ok(envelope.data) } else { Err(Outcome::Absent) }
    }

    fn reply_range(&self, step: &Step<'_>, later: usize, reply: &mut ReplyWriter<'_>) {
        let last = match self.push_pairs(step, later, reply) {
            Ok(last) => last,
            Err(_) => Item::Failed,
        };
        push(reply, &last, later);
    }

    /// Replies the pairs of a range. Returns the item that ends them.
    fn push_pairs(
        &self,
        step: &Step<'_>,
        later: usize,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<Item<'f>, Failure> {
        let read = step.read.unwrap_or(usize::MAX);
        let now = self.requests.now;
        let alive = |pair| Envelope::open(pair).filter(|envelope| envelope.is_alive(now));
        let mut pairs = Pairs { reply, later, any: false, ended: None };
        let all_alive = match self.reads.pairs(read) {
            Ok(mut found) => found.all(|(_, pair)| alive(pair).is_some()),
            Err(Error::NoRoom) => false,
            Err(error) => return Err(error.into()),
        };
        let more = if all_alive {
            let found = self.reads.pairs(read)?;
            let mut found = found.filter_map(|(key, pair)| Some((key, alive(pair)?.data)));
            let _ = found.try_for_each(|(key, data)| pairs.push(key, data));
            self.reads.more(read)?
        } else {
            // The range needs more than one scan, because of expired pairs, or the batch had no space for it.
            let Some(table) = self.request.table.and_then(TableHandle::ordered) else {
                return Ok(Item::Failed);
            };
            let place = (&self.requests.shared.store, table);
            if self.range_bytes.get() > RANGE_BYTES_MAX {
                return Ok(Item::NoRoom);
            }
            for_each_pair(place, &range(&step.operation), now, |key, data| {
                self.range_bytes.set(self.range_bytes.get() + data.len());
                pairs.push(key, data)
            })?
        };
        Ok(pairs.ended.unwrap_or(Item::Done { more }))
    }
}

/// The pairs of a range while they are written to a reply.
struct Pairs<'p, 'r> {
    reply: &'p mut ReplyWriter<'r>,
    /// The number of later operations of the packet.
    later: usize,
    any: bool,
    /// The item that ends the pairs, if the reply had no space for all of them.
    ended: Option<Item<'static>>,
}

impl Pairs<'_, '_> {
    fn push(&mut self, key: &[u8], value: &[u8]) -> ControlFlow<()> {
        self.ended = match self.reply.push(&Item::Pair { key, value }, self.later + 1) {
            Room::Fits => None,
            Room::Full if self.any => Some(Item::Done { more: true }),
            Room::Full => Some(Item::NoRoom),
            Room::Never => Some(Item::TooLarge),
        };
        self.any = true;
        if self.ended.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// Adds the answer of a function over a range: its pairs, and the key after which it goes on.
fn push_answer(reply: &mut ReplyWriter<'_>, answer: &Answer, later: usize) {
    let (mut end, mut fitting) = (end_after(answer.last.as_deref()), None);
    for (key, value) in &answer.result {
        // Whichever pair is the last one, the item that ends the answer fits after it.
        let reserve = later + FOUND_BYTES + key.len().max(answer.last.as_ref().map_or(0, Vec::len));
        match (reply.push(&Item::Pair { key, value }, reserve), fitting) {
            (Room::Fits, _) => {
                fitting = Some(&key[..]);
                continue;
            }
            (_, Some(_)) => end = end_after(fitting),
            (Room::Full, None) => end = Item::NoRoom,
            (Room::Never, None) => end = Item::TooLarge,
        }
        break;
    }
    push(reply, &end, later);
}

/// Returns the item that ends an answer after a key, or at the end of the range.
fn end_after(last: Option<&[u8]>) -> Item<'_> {
    last.map_or(Item::Done { more: false }, Item::Found)
}

/// Adds an item to a reply, or the note that the reply has no space for it.
fn push(reply: &mut ReplyWriter<'_>, item: &Item<'_>, later: usize) {
    let instead = match reply.push(item, later) {
        Room::Fits => return,
        Room::Full => Item::NoRoom,
        Room::Never => Item::TooLarge,
    };
    let room = reply.push(&instead, later);
    debug_assert_eq!(room, Room::Fits, "the reply reserves a byte for it");
}

/// Returns the range of an operation.
pub(super) fn range<'a>(operation: &Operation<'a>) -> Range<'a> {
    let Operation::Range { from, pairs_max, floor_start, backward } = *operation else { return Range::all() };
    let bound = if from.is_empty() { Bound::Unbounded } else { Bound::Included(from) };
    let (lower, upper) = if backward { (Bound::Unbounded, bound) } else { (bound, Bound::Unbounded) };
    Range { lower, upper, backward, floor_start, limit: pairs_max.into() }
}
