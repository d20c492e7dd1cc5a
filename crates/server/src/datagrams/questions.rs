//! What the datagrams of a turn ask for: packets, and the operations in them as steps.

use std::ops::Range;

use honeycomb_protocol::batch::{Header, Kind, Known, Operation, Operations, Refusal};
use honeycomb_protocol::ocsm;
use honeycomb_store::{Reads, Table};

use crate::datagrams::answers::{Answers, range};
use crate::datagrams::outcome::Outcome;
use crate::datagrams::port::{Arrived, Protocol, Route};
use crate::datagrams::writes::{Write, Writes};
use crate::recency;
use crate::server_state::ServerState;

/// Operations that are carried out together, but for those of the packet with the last of them: what they
/// find has to be held until they are answered.
const TOGETHER: usize = 1024;

/// Packets with operations, that are carried out together.
pub(crate) struct Questions<'a> {
    pub(super) shared: &'a ServerState,
    pub(super) now: u64,
    pub(super) steps: Vec<Step<'a>>,
    questions: Vec<Question<'a>>,
}

/// A packet.
pub(super) struct Question<'a> {
    pub(super) route: Route,
    pub(super) form: Form<'a>,
    /// None if there is no such table: all has failed then.
    pub(super) table: Option<&'a Table>,
    /// Its operations.
    pub(super) steps: Range<usize>,
}

/// How a packet is answered.
pub(super) enum Form<'a> {
    Ocsm(ocsm::Packet<'a>),
    Batch(Header),
}

/// An operation.
pub(super) struct Step<'a> {
    pub(super) operation: Operation<'a>,
    /// Which of the reads is its own.
    pub(super) read: Option<usize>,
    /// What came of it, if it is decided.
    pub(super) outcome: Option<Outcome>,
}

impl Step<'_> {
    /// Adds what it has to read, unless it is decided; no more pairs than a reply can hold.
    fn read_ahead(&mut self, table: &Table, reply_bytes_max: usize, reads: &mut Reads) {
        if self.outcome.is_some() {
            return;
        }
        let (index, key) = (reads.len(), self.operation.key());
        if !matches!(self.operation, Operation::Range { .. }) {
            recency::note(table, key);
        }
        let added = match self.operation {
            Operation::Range { .. } => {
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

impl<'a> Questions<'a> {
    pub(super) fn new(shared: &'a ServerState, now: u64) -> Self {
        Self { shared, now, steps: Vec::new(), questions: Vec::new() }
    }

    /// Whether there is nothing to carry out.
    pub(crate) fn is_empty(&self) -> bool {
        self.questions.is_empty()
    }

    /// Whether there are enough.
    pub(super) fn is_full(&self) -> bool {
        self.steps.len() + self.questions.len() >= TOGETHER
    }

    /// Takes a datagram in. One that makes no sense is passed over, and one that needs no pairs answered.
    pub(super) fn take(&mut self, arrived: Arrived<'a>, answers: &mut Answers, reads: &mut Reads) {
        if self.steps.is_empty() {
            // At once, and not twice as much each time that it is full.
            self.steps.reserve(TOGETHER);
        }
        match arrived.protocol {
            Protocol::Ocsm => self.take_messages(arrived, reads),
            Protocol::Batch => self.take_batch(arrived, answers, reads),
        }
    }

    /// Carries out the writes, answers everything, and counts the operations; an empty packet counts as one.
    /// `read` says whether the reads were carried out.
    pub(crate) fn execute(mut self, reads: &Reads, read: bool, answers: &mut Answers) -> usize {
        if !read {
            let undecided = self.steps.iter_mut().filter(|step| step.outcome.is_none());
            undecided.for_each(|step| step.outcome = Some(Outcome::Failed));
        }
        self.write(reads);
        for question in &self.questions {
            answers.answer(&self, question, reads);
        }
        self.steps.len().max(self.questions.len())
    }

    fn take_messages(&mut self, arrived: Arrived<'a>, reads: &mut Reads) {
        let too_long = arrived.bytes.len() > self.shared.config().datagrams.payload_bytes;
        let Ok(packet) = ocsm::Packet::parse(arrived.bytes) else { return };
        // Who answers answers talks to itself for ever.
        if too_long || packet.header().answered {
            return;
        }
        let header = packet.header();
        let (table, start) = (self.table(header.table), self.steps.len());
        for message in packet.messages() {
            let (operation, outcome) = asked(&message, header.message_type);
            let mut step = Step { operation, read: None, outcome };
            match table {
                Some(table) => step.read_ahead(table, 0, reads),
                None => step.outcome = outcome.or(Some(Outcome::Failed)),
            }
            self.steps.push(step);
        }
        let steps = start..self.steps.len();
        self.questions.push(Question { route: arrived.route, form: Form::Ocsm(packet), table, steps });
    }

    fn take_batch(&mut self, arrived: Arrived<'a>, answers: &mut Answers, reads: &mut Reads) {
        let Ok((header, operations)) = Header::parse(arrived.bytes) else { return };
        match header.kind {
            Kind::Hello if operations.is_empty() => answers.welcome(&header, arrived.route, self.shared),
            Kind::Request => {
                if let Err(refusal) = self.take_request(&header, operations, arrived, answers, reads) {
                    answers.refuse(&header, refusal, arrived.route);
                }
            }
            _ => {}
        }
    }

    fn take_request(
        &mut self,
        header: &Header,
        operations: &'a [u8],
        arrived: Arrived<'a>,
        answers: &mut Answers,
        reads: &mut Reads,
    ) -> Result<(), Refusal> {
        let route = arrived.route;
        let window = answers.sessions.window(header.session, route.client).ok_or(Refusal::Session)?;
        if arrived.bytes.len() > self.shared.config().datagrams.payload_bytes {
            return Err(Refusal::Malformed);
        }
        let table = self.table(header.table).ok_or(Refusal::Table)?;
        let start = self.steps.len();
        let known = match self.parse(header.count, operations) {
            Ok(false) => Known::New,
            Ok(true) => window.begin(header.identifier),
            Err(refusal) => {
                self.steps.truncate(start);
                return Err(refusal);
            }
        };
        let outcomes = match known {
            Known::New => &[][..],
            Known::Done(outcomes) => outcomes,
            Known::Begun | Known::TooOld => {
                self.steps.truncate(start);
                return if known == Known::Begun { Ok(()) } else { Err(Refusal::Identifier) };
            }
        };
        let writes = self.steps[start..].iter_mut().filter(|step| step.operation.writes());
        writes.zip(outcomes).for_each(|(step, code)| step.outcome = Some(Outcome::of_code(*code)));
        let reply_bytes_max = self.shared.config().datagrams.reply_bytes_max();
        self.steps[start..].iter_mut().for_each(|step| step.read_ahead(table, reply_bytes_max, reads));
        let steps = start..self.steps.len();
        self.questions.push(Question { route, form: Form::Batch(*header), table: Some(table), steps });
        Ok(())
    }

    /// Takes the operations of a request as steps: whether one of them writes. All, or none if one is
    /// malformed: the caller forgets the others.
    fn parse(&mut self, count: u16, operations: &'a [u8]) -> Result<bool, Refusal> {
        let mut writes = false;
        for operation in Operations::new(count, operations) {
            let operation = operation.map_err(|_| Refusal::Malformed)?;
            writes |= operation.writes();
            self.steps.push(Step { operation, read: None, outcome: None });
        }
        Ok(writes)
    }

    fn table(&self, number: u16) -> Option<&'a Table> {
        let number = self.shared.database(i64::from(number)).ok()?;
        Some(self.shared.table(number))
    }

    /// Carries out the writes that are not decided.
    fn write(&mut self, reads: &Reads) {
        let mut writes = Writes::new(self.shared, self.now);
        let mut outcomes = Vec::new();
        let mut done = |index: usize, outcome| outcomes.push((index, outcome));
        for question in &self.questions {
            let Some(table) = question.table else { continue };
            for index in question.steps.clone() {
                let step = &self.steps[index];
                if step.outcome.is_none() && step.operation.writes() {
                    let seen = step.read.map_or(Ok(None), |read| reads.value(read));
                    writes.add(Write { table, operation: step.operation, index }, seen, &mut done);
                }
            }
        }
        writes.flush(&mut done);
        for (index, outcome) in outcomes {
            self.steps[index].outcome = Some(outcome);
        }
    }
}

/// What a message asks for. One that is not allowed is decided.
fn asked<'a>(
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
