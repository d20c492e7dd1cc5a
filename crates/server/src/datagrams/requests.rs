//! The requests in the datagrams of an iteration: packets, with their operations as steps.

use std::ops::Range;

use honeycomb_protocol::batch::{Header, Kind, Operation, Operations, Rejection, RequestState};
use honeycomb_protocol::ocsm;
use honeycomb_store::{Reads, SyncPolicy, TableHandle, Version};

use crate::datagrams::outcome::Outcome;
use crate::datagrams::port::{Arrived, Protocol, Route};
use crate::datagrams::range_functions::{self, Answer, PAGES_MAX};
use crate::datagrams::replies::{Replier, range};
use crate::datagrams::writes::{Write, Writes};
use crate::lost_writes::LostWrites;
use crate::notifications::events::EventNames;
use crate::recency;
use crate::server_state::ServerState;

/// Maximum number of operations that execute together, except for the rest of the last packet. Their results
/// stay in memory until the replies are written.
const OPERATIONS_MAX: usize = 1024;

/// Maximum bytes of the replies to these packets, except for the last one.
const REPLIES_BYTES_MAX: usize = 4 << 20;
/// Bytes of answers of functions over ranges after which no more of them execute together: each may have one
/// pair with a long value.
const ANSWERS_BYTES_MAX: usize = 1 << 20;

/// Packets that execute together.
pub(crate) struct PacketRequests<'a> {
    pub(super) shared: &'a ServerState,
    pub(super) now: u64,
    pub(super) steps: Vec<Step<'a>>,
    requests: Vec<PacketRequest<'a>>,
    /// Whether one of them has functions over ranges. These visit many pairs, so the next packet executes
    /// later.
    has_range_functions: bool,
    lost: Option<LostWrites>,
    /// Maximum bytes of a reply.
    reply_bytes_max: usize,
}

/// A packet.
pub(super) struct PacketRequest<'a> {
    pub(super) route: Route,
    pub(super) form: ReplyFormat<'a>,
    /// The table, or `None` if it does not exist. Then all operations fail.
    pub(super) table: Option<&'a TableHandle>,
    /// The number of the table.
    database: usize,
    /// The steps of its operations.
    pub(super) steps: Range<usize>,
}

/// The format of a reply.
pub(super) enum ReplyFormat<'a> {
    Ocsm(ocsm::Packet<'a>),
    Batch(Header),
}

/// An operation.
pub(super) struct Step<'a> {
    pub(super) operation: Operation<'a>,
    /// The position of its read in the batch.
    pub(super) read: Option<usize>,
    /// The outcome, once it is known.
    pub(super) outcome: Option<Outcome>,
    /// The answer of a function over a range, once it is known.
    pub(super) answer: Option<Answer>,
}

impl<'a> Step<'a> {
    fn new(operation: Operation<'a>, outcome: Option<Outcome>) -> Self {
        Self { operation, read: None, outcome, answer: None }
    }

    fn is_range_function(&self) -> bool {
        matches!(self.operation, Operation::RangeFunction { .. })
    }

    /// Adds the read of an undecided operation. A range reads at most as many pairs as a reply can contain.
    fn read_ahead(&mut self, table: &TableHandle, reply_bytes_max: usize, reads: &mut Reads) {
        if self.outcome.is_some() {
            return;
        }
        let (index, key) = (reads.len(), self.operation.key());
        if self.is_range_function() {
            self.outcome = table.ordered().is_none().then_some(Outcome::NotAllowed);
            return;
        }
        if !matches!(self.operation, Operation::Range { .. }) {
            recency::note(table, key);
        }
        let added = match self.operation {
            Operation::Range { .. } => {
                let Some(table) = table.ordered() else {
                    self.outcome = Some(Outcome::NotAllowed);
                    return;
                };
                let range = range(&self.operation);
                reads.scan(table, &range.scan(range.limit).bytes_max(reply_bytes_max))
            }
            Operation::Put { .. } if table.allows_key(key) => return,
            _ => reads.get(table, key),
        };
        match added {
            Ok(()) => self.read = Some(index),
            Err(error) => self.outcome = Some(error.into()),
        }
    }
}

impl<'a> PacketRequests<'a> {
    pub(super) fn new(shared: &'a ServerState, now: u64, lost: Option<LostWrites>) -> Self {
        let (steps, requests, has_range_functions) = (Vec::new(), Vec::new(), false);
        let reply_bytes_max = shared.config().datagrams.reply_bytes_max();
        Self { shared, now, steps, requests, has_range_functions, lost, reply_bytes_max }
    }

    /// Returns whether there are no packets.
    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Returns whether the batch has enough operations.
    pub(super) fn is_full(&self) -> bool {
        let is_long = self.requests.len() * self.reply_bytes_max >= REPLIES_BYTES_MAX;
        is_long || self.steps.len() + self.requests.len() >= OPERATIONS_MAX || self.has_range_functions
    }

    /// Adds a datagram. Ignores a malformed one, and replies at once to one that needs no pairs.
    pub(super) fn add(&mut self, arrived: Arrived<'a>, replier: &mut Replier, reads: &mut Reads) {
        if self.steps.is_empty() {
            // Reserve at once instead of doubling repeatedly.
            self.steps.reserve(OPERATIONS_MAX);
        }
        match arrived.protocol {
            Protocol::Ocsm => self.add_messages(arrived, reads),
            Protocol::Batch => self.add_batch(arrived, replier, reads),
        }
    }

    /// Executes the writes and replies to all packets. `read` is true if the reads were executed. Returns the
    /// number of operations, where an empty packet counts as one, and the version that must be durable before
    /// the replies leave; `None`: the read version.
    pub(crate) fn execute(
        mut self,
        reads: &Reads,
        read: bool,
        replier: &mut Replier,
    ) -> (usize, Option<Version>) {
        if !read {
            let undecided = self.steps.iter_mut().filter(|step| step.outcome.is_none());
            undecided.for_each(|step| step.outcome = Some(Outcome::Failed));
        }
        self.refuse_lost();
        self.apply_to_ranges();
        self.write(reads);
        for request in &self.requests {
            replier.reply_to(&self, request, reads);
        }
        (self.steps.len().max(self.requests.len()), self.needed_version())
    }

    fn add_messages(&mut self, arrived: Arrived<'a>, reads: &mut Reads) {
        let too_long = arrived.bytes.len() > self.shared.config().datagrams.payload_bytes;
        let Ok(packet) = ocsm::Packet::parse(arrived.bytes) else { return };
        // A reply to a reply could loop forever.
        if too_long || packet.header().is_reply {
            return;
        }
        let header = packet.header();
        let database = self.shared.config().ocsm_database() + usize::from(header.table);
        let (table, start) = (self.table(database), self.steps.len());
        for message in packet.messages() {
            let (operation, outcome) = operation_of(&message, header.message_type);
            let mut step = Step::new(operation, outcome);
            match table {
                Some(table) => step.read_ahead(table, 0, reads),
                None => step.outcome = outcome.or(Some(Outcome::Failed)),
            }
            self.steps.push(step);
        }
        let steps = start..self.steps.len();
        self.requests.push(PacketRequest {
            route: arrived.route,
            form: ReplyFormat::Ocsm(packet),
            table,
            database,
            steps,
        });
    }

    fn add_batch(&mut self, arrived: Arrived<'a>, replier: &mut Replier, reads: &mut Reads) {
        let Ok((header, operations)) = Header::parse(arrived.bytes) else { return };
        match header.kind {
            Kind::Hello if operations.is_empty() => replier.reply_hello(&header, arrived.route, self.shared),
            Kind::Request => {
                if let Err(rejection) = self.add_request(&header, operations, arrived, replier, reads) {
                    replier.reject(&header, rejection, arrived.route);
                }
            }
            _ => {}
        }
    }

    fn add_request(
        &mut self,
        header: &Header,
        operations: &'a [u8],
        arrived: Arrived<'a>,
        replier: &mut Replier,
        reads: &mut Reads,
    ) -> Result<(), Rejection> {
        let route = arrived.route;
        let window = replier.sessions.window(header.session, route.client).ok_or(Rejection::Session)?;
        if arrived.bytes.len() > self.shared.config().datagrams.payload_bytes {
            return Err(Rejection::Malformed);
        }
        let database = usize::from(header.table);
        let table = self.table(database).ok_or(Rejection::Table)?;
        let start = self.steps.len();
        let known = match self.parse(header.count, operations) {
            Ok(false) => RequestState::New,
            Ok(true) => window.begin(header.identifier),
            Err(rejection) => {
                self.steps.truncate(start);
                return Err(rejection);
            }
        };
        let mut codes = match known {
            RequestState::New => &[][..],
            RequestState::Executed(codes) => codes,
            RequestState::Executing | RequestState::TooOld => {
                self.steps.truncate(start);
                return if known == RequestState::Executing { Ok(()) } else { Err(Rejection::Identifier) };
            }
        };
        if !codes.is_empty() && self.lost.is_some() {
            // Nobody can know whether the writes of the first attempt are durable.
            self.steps.truncate(start);
            return Ok(());
        }
        let writes = self.steps[start..].iter_mut().filter(|step| step.operation.writes());
        writes.for_each(|step| step.outcome = Outcome::decode(&mut codes));
        let reply_bytes_max = self.shared.config().datagrams.reply_bytes_max();
        self.steps[start..].iter_mut().for_each(|step| step.read_ahead(table, reply_bytes_max, reads));
        let steps = start..self.steps.len();
        self.has_range_functions |= self.steps[start..].iter().any(Step::is_range_function);
        self.requests.push(PacketRequest {
            route,
            form: ReplyFormat::Batch(*header),
            table: Some(table),
            database,
            steps,
        });
        Ok(())
    }

    /// Parses the operations of a request into steps. Returns whether one of them writes. On an error the
    /// caller removes the steps.
    fn parse(&mut self, count: u16, operations: &'a [u8]) -> Result<bool, Rejection> {
        let mut writes = false;
        for operation in Operations::new(count, operations) {
            let operation = operation.map_err(|_| Rejection::Malformed)?;
            writes |= operation.writes();
            self.steps.push(Step::new(operation, None));
        }
        Ok(writes)
    }

    fn table(&self, number: usize) -> Option<&'a TableHandle> {
        let number = self.shared.database(number as i64).ok()?;
        Some(self.shared.table(number))
    }

    /// Refuses all operations but the gets that depend on no lost write.
    fn refuse_lost(&mut self) {
        let Some(lost) = self.lost else { return };
        for request in &self.requests {
            for step in &mut self.steps[request.steps.clone()] {
                let needed = newest_write(self.shared, request.database, step);
                if !needed.is_some_and(|version| lost.allows(version)) {
                    step.outcome = Some(Outcome::Failed);
                }
            }
        }
    }

    /// Returns the version that must be durable before the replies leave; `None`: the read version.
    fn needed_version(&self) -> Option<Version> {
        if self.shared.store.sync_policy() != Some(SyncPolicy::Always) {
            return None;
        }
        let mut newest = 0;
        for request in &self.requests {
            for step in &self.steps[request.steps.clone()] {
                newest = newest.max(newest_write(self.shared, request.database, step)?);
            }
        }
        Some(newest)
    }

    /// Applies functions to ranges, as all reads before the writes.
    fn apply_to_ranges(&mut self) {
        let (bytes_max, mut bytes) = (self.reply_bytes_max, 0);
        for request in &self.requests {
            let Some(table) = request.table.and_then(TableHandle::ordered) else { continue };
            let steps = self.steps[request.steps.clone()].iter_mut();
            let steps: Vec<_> =
                steps.filter(|step| step.is_range_function() && step.outcome.is_none()).collect();
            let pages = (PAGES_MAX / steps.len().max(1)).max(1);
            for (index, step) in steps.into_iter().enumerate() {
                let limits = (self.now, pages, bytes_max);
                let apply = || range_functions::apply(&step.operation, table, limits);
                let has_room = index < PAGES_MAX && bytes < ANSWERS_BYTES_MAX;
                match if has_room { apply() } else { Err(Outcome::NoRoom) } {
                    Ok(answer) => {
                        bytes +=
                            answer.result.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
                        step.answer = Some(answer);
                    }
                    Err(outcome) => step.outcome = Some(outcome),
                }
            }
        }
    }

    /// Executes the undecided writes.
    fn write(&mut self, reads: &Reads) {
        let mut writes = Writes::new(self.shared, self.now);
        let mut outcomes = Vec::new();
        let mut done = |index: usize, outcome| outcomes.push((index, outcome));
        for request in &self.requests {
            let Some(table) = request.table else { continue };
            for index in request.steps.clone() {
                let step = &self.steps[index];
                if step.outcome.is_none() && step.operation.writes() {
                    let seen = step.read.map_or(Ok(None), |read| reads.value(read));
                    writes.add(Write { table, operation: step.operation, index }, seen, &mut done);
                }
            }
        }
        writes.flush(&mut done);
        if self.shared.notifies() {
            self.notify(&outcomes);
        }
        for (index, outcome) in outcomes {
            self.steps[index].outcome = Some(outcome);
        }
    }

    /// Reports the pairs that were written, in order.
    #[cold]
    fn notify(&self, outcomes: &[(usize, Outcome)]) {
        let names = EventNames::of(b"set");
        let event = |index| {
            let request = self.requests.iter().find(|request| request.steps.contains(&index))?;
            let (database, operation) = (request.database, self.steps[index].operation);
            match operation {
                Operation::Delete(key) => Some(names.delete(database, key)),
                _ => names.put(database, operation.key(), false).next(),
            }
        };
        let done = outcomes.iter().filter(|(_, outcome)| outcome.is_done());
        let events: Vec<_> = done.filter_map(|&(index, _)| event(index)).collect();
        self.shared.notify(&events);
    }
}

/// Returns the version of the newest write that the reply to a read of one key depends on; 0 if the step has
/// failed, `None` if it depends on further pairs.
fn newest_write(shared: &ServerState, number: usize, step: &Step<'_>) -> Option<Version> {
    if step.outcome == Some(Outcome::Failed) {
        return Some(0);
    }
    let reads_range = step.is_range_function() || matches!(step.operation, Operation::Range { .. });
    let reads_key = !reads_range && !step.operation.writes();
    reads_key.then(|| shared.databases.newest_write(number, step.operation.key()))
}

/// Returns the operation of a message. A message that is not allowed is decided at once.
fn operation_of<'a>(
    message: &ocsm::Message<'a>,
    message_type: ocsm::MessageType,
) -> (Operation<'a>, Option<Outcome>) {
    let (key, value) = (message.key(), message.value());
    let operation = message.operation().filter(|operation| operation.message_type() == message_type);
    match (operation, value) {
        (Some(ocsm::Operation::Search), _) => (Operation::Get(key), None),
        (Some(ocsm::Operation::Insert), Some(value)) => (Operation::Insert { key, value }, None),
        (Some(ocsm::Operation::Modify), Some(value)) => (Operation::Update { key, value }, None),
        (Some(ocsm::Operation::Delete), _) => (Operation::Delete(key), None),
        _ => (Operation::Get(key), Some(Outcome::NotAllowed)),
    }
}
