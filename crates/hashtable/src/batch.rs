//! The execution of batches: the paper's out-of-order engine as code (KV-Direct, section 3.3.3).
//!
//! The operations are grouped by key. The groups execute in windows, each in three steps:
//! 1. prefetch the buckets of the next window;
//! 2. search the buckets of this window; a get of an inline pair and a write of an inline value of the same
//!    length end here, others prefetch the slab;
//! 3. execute the other operations of this window.
//!
//! So the memory responds to 16 to 32 groups at once.
//!
//! The operations of a group execute on a copy of the value (see `forwarding`).

use crate::access::Access;
use crate::directory::Directory;
use crate::error::Error;
use crate::hash::HashedKey;
use crate::in_order::need_no_station;
use crate::index::{Index, check_key};
use crate::operation::{Operation, Outcome, Request, Scratch};
use crate::read::prefetch_next;
use crate::station::{Group, STATION, Station};

/// Groups of a window.
pub(crate) const WINDOW: usize = 16;

/// The answers to a batch. Reuse one for many batches: it keeps its memory.
#[derive(Debug, Default)]
pub struct Answers {
    /// The outcome of each operation, or `Absent` if it has failed.
    pub(crate) outcomes: Vec<Outcome>,
    /// The errors of the operations that have failed, with their indices.
    errors: Vec<(usize, Error)>,
    /// The values that outcomes refer to.
    pub(crate) bytes: Vec<u8>,
    pub(crate) station: Station,
    pub(crate) scratch: Scratch,
}

impl Answers {
    /// Number of operations of the batch.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "the length of a batch, not of a collection")]
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// The outcome of an operation, by its index in the batch.
    ///
    /// # Errors
    /// Why the operation has failed.
    ///
    /// # Panics
    /// If the batch has no such operation.
    pub fn outcome(&self, index: usize) -> Result<Outcome, &Error> {
        let failed = self.errors.binary_search_by_key(&index, |(failed, _)| *failed);
        failed.map_or(Ok(self.outcomes[index]), |at| Err(&self.errors[at].1))
    }

    /// The outcomes of a batch of which no operation has failed.
    ///
    /// # Errors
    /// Why the first operation that has failed did so.
    pub fn outcomes(&self) -> Result<&[Outcome], &Error> {
        self.errors.first().map_or(Ok(&self.outcomes), |(_, error)| Err(error))
    }

    /// Removes and returns the errors of the operations that have failed, in the order of their indices. The
    /// outcomes of these operations are `Absent` afterwards.
    pub fn take_errors(&mut self) -> Vec<(usize, Error)> {
        std::mem::take(&mut self.errors)
    }

    /// The bytes of all values.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The value of a span of an outcome.
    ///
    /// # Panics
    /// If the span is not of the latest batch.
    #[must_use]
    pub fn value(&self, span: crate::Span) -> &[u8] {
        &self.bytes[span.start..span.end]
    }

    pub(crate) fn set(&mut self, index: usize, result: Result<Outcome, Error>) {
        match result {
            Ok(outcome) => self.outcomes[index] = outcome,
            Err(error) => self.errors.push((index, error)),
        }
    }

    fn clear(&mut self) {
        self.outcomes.clear();
        self.errors.clear();
        self.bytes.clear();
    }
}

impl Index {
    /// Executes a batch, a station of operations at a time.
    pub(crate) fn execute(&self, access: Access<'_>, requests: &[Request<'_>], answers: &mut Answers) {
        answers.clear();
        answers.outcomes.resize(requests.len(), Outcome::Absent);
        for (number, requests) in requests.chunks(STATION).enumerate() {
            let first = number * STATION;
            if need_no_station(requests) {
                self.execute_in_order(access, requests, first, answers);
            } else {
                StationRun { index: self, access, requests, first }.execute(answers);
            }
        }
        answers.errors.sort_unstable_by_key(|(index, _)| *index);
    }
}

/// The execution of the operations in the station.
pub(crate) struct StationRun<'r> {
    pub(crate) index: &'r Index,
    pub(crate) access: Access<'r>,
    pub(crate) requests: &'r [Request<'r>],
    /// The index in the batch of the first operation.
    pub(crate) first: usize,
}

impl<'r> StationRun<'r> {
    fn execute(&self, answers: &mut Answers) {
        let state = self.index.directory.state();
        let mut groups = self.group(state, answers);
        let mut windows = groups.chunks_mut(WINDOW);
        let mut window = windows.next();
        prefetch(window.as_deref());
        while let Some(current) = window {
            window = windows.next();
            prefetch(window.as_deref());
            // A bit for each group that waits for the third step.
            let mut waiting = 0_u32;
            for (at, group) in current.iter_mut().enumerate() {
                waiting |= u32::from(!self.search(state, group, answers)) << at;
            }
            while waiting != 0 {
                self.execute_group(&current[waiting.trailing_zeros() as usize], answers);
                waiting &= waiting - 1;
            }
        }
    }

    /// Groups the valid operations by key. Invalid operations end here.
    fn group(&self, state: u64, answers: &mut Answers) -> Vec<Group<'r>> {
        let mut groups = Vec::with_capacity(self.requests.len());
        let slots = answers.station.clear(self.requests.len());
        let numbering = Directory::numbering(state);
        let mut checked = None;
        for (index, request) in self.requests.iter().enumerate() {
            match self.check(request, &mut checked) {
                Ok(()) => {
                    let key = HashedKey::new(self.index.config.seed, request.key);
                    let bucket =
                        || self.access.try_bucket(self.index.directory.address_in(numbering, key.hash));
                    answers.station.add(&mut groups, slots, key, bucket, index, &request.operation);
                }
                Err(error) => answers.set(self.first + index, Err(error)),
            }
        }
        groups
    }

    /// Checks a request. `checked` has the function and the length of the operands of the last valid update
    /// of scalars: most updates of a batch have the same ones.
    #[inline]
    fn check(&self, request: &Request<'_>, checked: &mut Option<(u32, usize)>) -> Result<(), Error> {
        check_key(request.key)?;
        match request.operation {
            Operation::Get => Ok(()),
            Operation::UpdateScalar { function, operands }
            | Operation::UpdateVectorWithScalar { function, operands } => {
                let update = Some((function, operands.len()));
                if *checked != update {
                    request.operation.check(&self.index.functions)?;
                    *checked = update;
                }
                Ok(())
            }
            operation => operation.check(&self.index.functions),
        }
    }

    /// Searches the bucket of a group. Executes a get of an inline pair; otherwise prefetches the slab.
    /// Returns whether it has executed the group.
    #[inline]
    fn search(&self, state: u64, group: &mut Group<'_>, answers: &mut Answers) -> bool {
        if !group.is_get {
            return self.begin_write(state, group, answers);
        }
        let Answers { outcomes, bytes, .. } = answers;
        let first = self.index.first_of(group.bucket, state, group.key.hash);
        match self.index.begin_get(self.access, first, &group.key, bytes) {
            Ok(found) => {
                let index = self.first + usize::from(group.first);
                outcomes[index] = found.map_or(Outcome::Absent, Outcome::Found);
                true
            }
            Err(pending) => {
                group.pending = pending;
                false
            }
        }
    }

    /// Executes a single write of an inline pair. Otherwise prefetches what the third step reads. Returns
    /// whether it has executed the group.
    #[inline]
    fn begin_write(&self, state: u64, group: &mut Group<'_>, answers: &mut Answers) -> bool {
        let operation = &self.requests[usize::from(group.first)].operation;
        if group.count > 1 || !group.writes {
            group.bucket.map(|bucket| prefetch_next(self.access, 0, &bucket, &group.key));
            return false;
        }
        let Answers { outcomes, bytes, scratch, .. } = answers;
        let first = self.index.first_of(group.bucket, state, group.key.hash);
        match self.index.write_in_place(self.access, first, &group.key, operation, scratch, bytes) {
            Ok(outcome) => {
                outcomes[self.first + usize::from(group.first)] = outcome;
                true
            }
            Err(pending) => {
                group.pending = pending;
                false
            }
        }
    }

    /// Executes a single operation, of which the second step has found the place.
    fn finish_one(&self, group: &Group<'_>, answers: &mut Answers) {
        let index = usize::from(group.first);
        let operation = &self.requests[index].operation;
        let result = self.index.finish_write(self.access, group.pending, &group.key, operation, answers);
        answers.set(self.first + index, result);
    }

    fn execute_group(&self, group: &Group<'_>, answers: &mut Answers) {
        if group.is_get {
            let Answers { outcomes, bytes, .. } = answers;
            let found = self.index.finish_get(self.access, group.pending, &group.key, bytes);
            let index = self.first + usize::from(group.first);
            outcomes[index] = found.map_or(Outcome::Absent, Outcome::Found);
            return;
        }
        if group.count == 1 {
            return self.finish_one(group, answers);
        }
        let start = answers.bytes.len();
        if self.forward(group, answers).is_err() {
            // There is no room for the last value. Perhaps there is room for some of the others.
            answers.bytes.truncate(start);
            let members: Vec<usize> = answers.station.members(group).collect();
            members.into_iter().for_each(|index| self.execute_one(&group.key, index, answers));
        }
    }

    fn execute_one(&self, key: &HashedKey<'_>, index: usize, answers: &mut Answers) {
        let Answers { bytes, scratch, .. } = answers;
        let result = match &self.requests[index].operation {
            Operation::Get => {
                Ok(self.index.get(self.access, key, bytes).map_or(Outcome::Absent, Outcome::Found))
            }
            operation => self.index.apply(self.access, key, operation, scratch, bytes),
        };
        answers.set(self.first + index, result);
    }
}

/// Prefetches the buckets of groups.
#[inline]
fn prefetch(groups: Option<&[Group<'_>]>) {
    groups.into_iter().flatten().filter_map(|group| group.bucket).for_each(|bucket| bucket.0.prefetch());
}
