//! The execution of batches without functions. Their operations have no results to forward, so they need no
//! station: they execute in the order of their arrival, one after the other. Other threads see their effects
//! in this order.
//!
//! They execute in windows, each in three steps:
//! 1. prefetch the buckets of a window;
//! 2. while those of the next window are on their way, search the buckets, note what they show, and prefetch
//!    the slabs and chained buckets;
//! 3. while those of the next window are on their way, execute the operations. What a bucket has shown holds
//!    if no writer has interfered since, another operation of the batch included.

use std::slice::Chunks;

use honeycomb_memory::heads::{Vectorized, Vectors, vectorized};

use crate::access::Access;
use crate::batch::{Answers, WINDOW};
use crate::directory::{Directory, Numbering};
use crate::hash::HashedKey;
use crate::index::{Index, check_key};
use crate::operation::{Operation, Outcome, Request};
use crate::read::Step;
use crate::windows::{self, Windows};

/// The operations of a window.
#[derive(Debug, Default)]
struct Stage<'r> {
    requests: &'r [Request<'r>],
    window: [Step<'r>; WINDOW],
}

/// Whether all requests are valid and have no functions.
#[inline]
pub(crate) fn need_no_station(requests: &[Request<'_>]) -> bool {
    requests.iter().all(|request| check_key(request.key).is_ok() && request.operation.is_plain())
}

/// The execution of operations. `state` is that of the directory at its beginning, `first` is the index in
/// the batch of the next one.
struct OrderedRun<'i, 'r> {
    index: &'i Index,
    access: Access<'i>,
    state: u64,
    numbering: Numbering,
    coming: Chunks<'i, Request<'i>>,
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
        let coming = requests.chunks(WINDOW);
        vectorized(OrderedRun { index: self, access, state, numbering, coming, first, answers });
    }
}

impl Vectorized for OrderedRun<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Vectors) {
        windows::run(self);
    }
}

impl<'i> Windows for OrderedRun<'i, '_> {
    type Stage = Stage<'i>;

    #[inline(always)]
    fn begin(&mut self, stage: &mut Stage<'i>) -> bool {
        stage.requests = self.coming.next().unwrap_or_default();
        for (step, request) in stage.window.iter_mut().zip(stage.requests) {
            step.key = HashedKey::new(self.index.config.seed, request.key);
            step.bucket = self.index.choose(self.access, self.numbering, step.key.hash);
        }
        !stage.requests.is_empty()
    }

    #[inline(always)]
    fn search(&mut self, Stage { requests, window }: &mut Stage<'i>) {
        for step in window.iter_mut().take(requests.len()) {
            step.pending = self.index.see(self.access, self.state, step);
        }
    }

    #[inline(always)]
    fn execute(&mut self, Stage { requests, window }: &Stage<'i>) {
        for (step, Request { operation, .. }) in window.iter().zip(*requests) {
            if matches!(operation, Operation::Get) {
                let found = self.index.get_seen(self.access, step, &mut self.answers.bytes);
                self.answers.outcomes[self.first] = found.map_or(Outcome::Absent, Outcome::Found);
            } else {
                let result = self.index.write_seen(self.access, step, operation, self.answers);
                self.answers.set(self.first, result);
            }
            self.first += 1;
        }
    }
}
