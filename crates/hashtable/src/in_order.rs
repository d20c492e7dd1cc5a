//! The execution of batches without functions. Their operations have no results to forward, so they need no
//! station: they execute in the order of their arrival, one after the other. Other threads see their effects
//! in this order.
//!
//! They execute in windows. While a window executes, the buckets of the next one are on their way. The first
//! operation of a window that does not end in its bucket looks ahead for all later ones: the memory responds
//! to them together.

use honeycomb_memory::heads::{Vectorized, Vectors, vectorized};

use crate::access::Access;
use crate::batch::{Answers, WINDOW};
use crate::directory::{Directory, Numbering};
use crate::hash::HashedKey;
use crate::index::{Index, check_key};
use crate::operation::{Operation, Outcome, Request};
use crate::read::{Pending, Step};

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
    /// Prefetches the buckets of a window.
    #[inline(always)]
    fn begin(&self, window: &mut Window<'i>, requests: Option<&[Request<'i>]>) {
        for (step, request) in window.iter_mut().zip(requests.unwrap_or_default()) {
            step.key = HashedKey::new(self.index.config.seed, request.key);
            step.bucket = self.index.choose(self.access, self.numbering, step.key.hash);
        }
    }

    /// Executes the operations of a window.
    #[inline(always)]
    fn execute(&mut self, window: &Window<'_>, requests: &[Request<'_>]) {
        let mut has_looked_ahead = false;
        for (at, (step, request)) in window.iter().zip(requests).enumerate() {
            match self.search(step, &request.operation) {
                Ok(outcome) => self.answers.outcomes[self.first + at] = outcome,
                Err(pending) => {
                    if !has_looked_ahead {
                        self.index.look_ahead(self.access, &window[at + 1..requests.len()]);
                        has_looked_ahead = true;
                    }
                    self.finish(step, pending, &request.operation, self.first + at);
                }
            }
        }
    }

    /// Executes an operation if it ends in its bucket. Otherwise returns where it goes on.
    #[inline(always)]
    fn search(
        &mut self,
        Step { key, bucket }: &Step<'_>,
        operation: &Operation<'_>,
    ) -> Result<Outcome, Pending> {
        let Answers { bytes, scratch, .. } = &mut *self.answers;
        let first = self.index.first_of(*bucket, self.state, key.hash);
        if matches!(operation, Operation::Get) {
            let found = self.index.begin_get(self.access, first, key, bytes)?;
            return Ok(found.map_or(Outcome::Absent, Outcome::Found));
        }
        self.index.write_in_place(self.access, first, key, operation, scratch, bytes)
    }

    /// Executes the rest of an operation.
    fn finish(&mut self, step: &Step<'_>, pending: Pending, operation: &Operation<'_>, index: usize) {
        let Answers { outcomes, bytes, .. } = &mut *self.answers;
        if matches!(operation, Operation::Get) {
            let found = self.index.finish_get(self.access, pending, &step.key, bytes);
            outcomes[index] = found.map_or(Outcome::Absent, Outcome::Found);
            return;
        }
        let result = self.index.finish_write(self.access, pending, &step.key, operation, self.answers);
        self.answers.set(index, result);
    }
}
