//! The execution of batches without functions. Their operations have no results to forward, so they need no
//! station: they execute in the order of their arrival.
//!
//! They execute in windows, in the three steps of `batch`. An operation whose key may be that of an earlier
//! one which waits for the third step also waits. So the operations on one key remain in order.

use honeycomb_memory::LineWords;
use honeycomb_memory::heads::{Vectorized, Vectors, vectorized};

use crate::access::Access;
use crate::batch::{Answers, WINDOW};
use crate::bucket::Bucket;
use crate::directory::{Directory, Numbering};
use crate::hash::HashedKey;
use crate::index::{Index, check_key};
use crate::operation::{Operation, Outcome, Request};
use crate::read::Pending;
use crate::waiting_keys::WaitingKeys;

/// An operation between its steps.
#[derive(Debug, Clone, Copy, Default)]
struct Step<'r> {
    key: HashedKey<'r>,
    /// Its bucket in the state of the directory at the beginning of the batch.
    bucket: Option<Bucket<LineWords<'r>>>,
    pending: Pending,
}

type Window<'r> = [Step<'r>; WINDOW];

/// Whether all requests are valid and have no functions.
#[inline]
pub(crate) fn need_no_station(requests: &[Request<'_>]) -> bool {
    requests.iter().all(|request| check_key(request.key).is_ok() && request.operation.is_plain())
}

/// The execution of operations. `state` is that of the directory at its beginning, `first` is the index of
/// the first one in the batch.
struct OrderedRun<'i, 'r> {
    index: &'i Index,
    access: Access<'i>,
    state: u64,
    numbering: Numbering,
    requests: &'i [Request<'i>],
    first: usize,
    answers: &'r mut Answers,
}

impl Index {
    /// Executes operations that need no station. The first one has the index `first` in the batch.
    pub(crate) fn execute_in_order<'i>(
        &'i self,
        access: Access<'i>,
        requests: &'i [Request<'i>],
        first: usize,
        answers: &mut Answers,
    ) {
        let state = self.directory.state();
        let numbering = Directory::numbering(state);
        vectorized(OrderedRun { index: self, access, state, numbering, requests, first, answers });
    }
}

impl Vectorized for OrderedRun<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, _: impl Vectors) {
        let (mut current, mut next) = (&mut Window::default(), &mut Window::default());
        let mut coming = self.requests.chunks(WINDOW);
        self.begin(current, coming.next());
        for requests in self.requests.chunks(WINDOW) {
            self.begin(next, coming.next());
            self.execute(current, requests);
            self.first += requests.len();
            std::mem::swap(&mut current, &mut next);
        }
    }
}

impl<'i> OrderedRun<'i, '_> {
    /// The first step.
    #[inline(always)]
    fn begin(&self, window: &mut Window<'i>, requests: Option<&[Request<'i>]>) {
        for (step, request) in window.iter_mut().zip(requests.unwrap_or_default()) {
            step.key = HashedKey::new(self.index.config.seed, request.key);
            step.bucket = self.index.choose(self.access, self.numbering, step.key.hash);
        }
    }

    /// The second and third step.
    #[inline(always)]
    fn execute(&mut self, window: &mut Window<'_>, requests: &[Request<'_>]) {
        // A bit for each operation that waits, by its place.
        let (mut keys, mut waiting) = (WaitingKeys::default(), 0_u32);
        for (at, (step, request)) in window.iter_mut().zip(requests).enumerate() {
            let may_execute = !keys.may_have(step.key.hash);
            match self.search(step, &request.operation, may_execute) {
                Ok(outcome) => self.answers.outcomes[self.first + at] = outcome,
                Err(pending) => {
                    step.pending = pending;
                    keys.add(step.key.hash);
                    waiting |= 1 << at;
                }
            }
        }
        while waiting != 0 {
            let at = waiting.trailing_zeros() as usize % WINDOW;
            waiting &= waiting - 1;
            self.finish(&window[at], &requests[at].operation, self.first + at);
        }
    }

    /// The second step of an operation.
    #[inline(always)]
    fn search(
        &mut self,
        Step { key, bucket, .. }: &Step<'_>,
        operation: &Operation<'_>,
        may_execute: bool,
    ) -> Result<Outcome, Pending> {
        let Answers { bytes, scratch, .. } = &mut *self.answers;
        if !may_execute {
            return Err(Pending::default());
        }
        let first = self.index.first_of(*bucket, self.state, key.hash);
        if matches!(operation, Operation::Get) {
            let found = self.index.begin_get(self.access, first, key, bytes)?;
            return Ok(found.map_or(Outcome::Absent, Outcome::Found));
        }
        self.index.write_in_place(self.access, first, key, operation, scratch, bytes)
    }

    /// The third step of an operation.
    fn finish(&mut self, step: &Step<'_>, operation: &Operation<'_>, index: usize) {
        let Answers { outcomes, bytes, .. } = &mut *self.answers;
        if matches!(operation, Operation::Get) {
            let found = self.index.finish_get(self.access, step.pending, &step.key, bytes);
            outcomes[index] = found.map_or(Outcome::Absent, Outcome::Found);
            return;
        }
        let result = self.index.finish_write(self.access, step.pending, &step.key, operation, self.answers);
        self.answers.set(index, result);
    }
}
