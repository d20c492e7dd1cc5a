//! The execution of batches: the paper's out-of-order engine as code (KV-Direct, section 3.3.3).
//!
//! The operations are grouped by key. Each group takes three steps, and the steps of up to 24 groups are
//! interleaved, so that the memory responds to many of them at once:
//! 1. prefetch the bucket;
//! 2. search the bucket; a get of an inline pair ends here, others prefetch the slab;
//! 3. execute the operations.
//!
//! The operations of a group execute on a copy of the value, each on the result of the previous one (data
//! forwarding), and the last result is stored once. So a thousand increments of one counter load and store
//! its bucket once.

use crate::access::Access;
use crate::error::Error;
use crate::hash::HashedKey;
use crate::index::{Index, check_key};
use crate::operation::{Effect, Operation, Outcome, Request, decide};
use crate::station::{Group, STATION, Station};

/// Groups between the first and the second step.
const TO_SEARCH: usize = 16;
/// Groups between the first and the third step.
const TO_EXECUTE: usize = 24;

/// The answers to a batch. Reuse one for many batches: it keeps its memory.
#[derive(Debug, Default)]
pub struct Answers {
    /// The outcome of each operation, in the order of the batch.
    pub outcomes: Vec<Result<Outcome, Error>>,
    /// The values that outcomes refer to.
    pub bytes: Vec<u8>,
    station: Station,
    current: Vec<u8>,
    computed: Vec<u8>,
}

impl Answers {
    /// The value of a span of an outcome.
    ///
    /// # Panics
    /// If the span is not of the latest batch.
    #[must_use]
    pub fn value(&self, span: crate::Span) -> &[u8] {
        &self.bytes[span.start..span.end]
    }

    fn clear(&mut self) {
        self.outcomes.clear();
        self.bytes.clear();
    }
}

impl Index {
    /// Executes a batch, a station of operations at a time.
    pub(crate) fn execute(&self, access: Access<'_>, requests: &[Request<'_>], answers: &mut Answers) {
        answers.clear();
        for requests in requests.chunks(STATION) {
            self.execute_station(access, requests, answers);
        }
    }

    fn execute_station(&self, access: Access<'_>, requests: &[Request<'_>], answers: &mut Answers) {
        let first = answers.outcomes.len();
        let mut groups = Vec::with_capacity(requests.len());
        self.group(access, requests, &mut groups, answers);
        for at in 0..groups.len() + TO_EXECUTE {
            if let Some(group) = groups.get(at + TO_SEARCH) {
                access.memory.prefetch_slab(self.directory.address_of(group.key.hash));
            }
            if let Some(group) = groups.get_mut(at) {
                self.search(access, requests, group, first, answers);
            }
            if let Some(group) = at.checked_sub(TO_EXECUTE - TO_SEARCH).and_then(|at| groups.get(at))
                && !group.done
            {
                self.execute_group(access, requests, group, first, answers);
            }
        }
    }

    /// Groups the valid operations by key, and prefetches the first buckets. Invalid operations end here.
    fn group<'r>(
        &self,
        access: Access<'_>,
        requests: &[Request<'r>],
        groups: &mut Vec<Group<'r>>,
        answers: &mut Answers,
    ) {
        let slots = answers.station.clear(requests.len());
        for (index, request) in requests.iter().enumerate() {
            let checked = check_key(request.key).and_then(|()| request.operation.check(&self.functions));
            if checked.is_ok() {
                let key = HashedKey::new(self.config.seed, request.key);
                answers.station.add(groups, slots, key, index, request);
            }
            answers.outcomes.push(checked.map(|()| Outcome::Absent));
        }
        for group in groups.iter().take(TO_SEARCH) {
            access.memory.prefetch_slab(self.directory.address_of(group.key.hash));
        }
    }

    /// Searches the bucket of a group. Executes a get of an inline pair; otherwise prefetches the slab.
    #[inline]
    fn search(
        &self,
        access: Access<'_>,
        requests: &[Request<'_>],
        group: &mut Group<'_>,
        first: usize,
        answers: &mut Answers,
    ) {
        let index = usize::from(group.first);
        let is_get = group.count == 1 && requests[index].operation == Operation::Get;
        if is_get && let Some(found) = self.get_inline(access, &group.key, &mut answers.bytes) {
            answers.outcomes[first + index] = Ok(found.map_or(Outcome::Absent, Outcome::Found));
            group.done = true;
        } else if !is_get {
            self.prefetch_slab(access, &group.key);
        }
    }

    fn execute_group(
        &self,
        access: Access<'_>,
        requests: &[Request<'_>],
        group: &Group<'_>,
        first: usize,
        answers: &mut Answers,
    ) {
        if group.count == 1 {
            let index = usize::from(group.first);
            answers.outcomes[first + index] =
                self.execute_one(access, &group.key, &requests[index], &mut answers.bytes);
            return;
        }
        let start = answers.bytes.len();
        if self.forward(access, requests, group, first, answers).is_err() {
            // There is no room for the last value. Perhaps there is room for some of the others.
            answers.bytes.truncate(start);
            let Answers { station, outcomes, bytes, .. } = answers;
            for index in station.members(group) {
                outcomes[first + index] = self.execute_one(access, &group.key, &requests[index], bytes);
            }
        }
    }

    fn execute_one(
        &self,
        access: Access<'_>,
        key: &HashedKey<'_>,
        request: &Request<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, Error> {
        match request.operation {
            Operation::Get => Ok(self.get(access, key, out).map_or(Outcome::Absent, Outcome::Found)),
            operation => self.apply(access, key, &operation, out),
        }
    }

    /// Executes the operations of a group on a copy of the value, and stores the last result.
    fn forward(
        &self,
        access: Access<'_>,
        requests: &[Request<'_>],
        group: &Group<'_>,
        first: usize,
        answers: &mut Answers,
    ) -> Result<(), Error> {
        let Answers { outcomes, bytes, station, current, computed } = answers;
        current.clear();
        let stripe = self.stripe(group.key.hash);
        let guard = group.writes.then(|| stripe.lock.lock());
        let (found, existed) = if group.writes {
            let found = self.find(access, &group.key, Some(current));
            (found, found.is_some())
        } else {
            (None, self.get(access, &group.key, current).is_some())
        };
        let (mut exists, mut changed) = (existed, false);
        for index in station.members(group) {
            let value = exists.then_some(&current[..]);
            let (effect, outcome) =
                decide(&requests[index].operation, value, &self.functions, computed, bytes);
            outcomes[first + index] = Ok(outcome);
            match effect {
                Effect::Nothing => continue,
                Effect::Store(value) => {
                    current.clear();
                    current.extend_from_slice(value);
                }
                Effect::StoreComputed => std::mem::swap(current, computed),
                Effect::Delete => current.clear(),
            }
            (exists, changed) = (effect != Effect::Delete, true);
        }
        match found {
            _ if !changed => {}
            Some(found) if !exists => self.remove(access, &group.key, &found),
            found if exists => self.store(access, &group.key, found, current)?,
            _ => {}
        }
        drop(guard);
        if exists && !existed {
            self.grow_if_full(access, stripe);
        }
        Ok(())
    }
}
