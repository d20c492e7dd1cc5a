//! The execution of batches that consist of gets. No operation waits for another one, so they need no
//! station.
//!
//! The gets execute in windows, in the three steps of `batch`. Gets of one key return values in the order of
//! their arrival: a get whose key may be that of an earlier one which waits for the third step also waits.

use crate::access::Access;
use crate::batch::WINDOW;
use crate::hash::HashedKey;
use crate::index::{Index, check_key};
use crate::operation::{Operation, Outcome, Request};
use crate::read::Pending;

/// A get between its steps.
#[derive(Debug, Clone, Copy, Default)]
struct Get<'r> {
    key: HashedKey<'r>,
    /// The address of its bucket in the state of the directory at the beginning of the batch.
    bucket: u32,
    pending: Pending,
}

type Window<'r> = [Get<'r>; WINDOW];

/// Whether all requests are gets, with valid keys.
#[inline]
pub(crate) fn are_gets(requests: &[Request<'_>]) -> bool {
    requests.iter().all(|it| matches!(it.operation, Operation::Get) && check_key(it.key).is_ok())
}

/// The execution of gets. `state` is that of the directory at its beginning.
struct GetRun<'i> {
    index: &'i Index,
    access: Access<'i>,
    state: u64,
}

impl Index {
    /// Executes gets, whose keys are valid.
    pub(crate) fn execute_gets(
        &self,
        access: Access<'_>,
        requests: &[Request<'_>],
        outcomes: &mut [Outcome],
        answers: &mut Vec<u8>,
    ) {
        let run = GetRun { index: self, access, state: self.directory.state() };
        let (mut current, mut next) = (&mut Window::default(), &mut Window::default());
        let mut coming = requests.chunks(WINDOW);
        run.begin(current, coming.next());
        for outcomes in outcomes.chunks_mut(WINDOW) {
            run.begin(next, coming.next());
            run.execute(current, outcomes, answers);
            std::mem::swap(&mut current, &mut next);
        }
    }
}

impl GetRun<'_> {
    /// The first step.
    #[inline]
    fn begin<'k>(&self, window: &mut Window<'k>, requests: Option<&[Request<'k>]>) {
        for (get, request) in window.iter_mut().zip(requests.unwrap_or_default()) {
            get.key = HashedKey::new(self.index.config.seed, request.key);
            get.bucket = self.index.directory.address_in(self.state, get.key.hash);
            self.access.memory.prefetch_slab(get.bucket);
        }
    }

    /// The second and third step.
    fn execute(&self, window: &mut Window<'_>, outcomes: &mut [Outcome], bytes: &mut Vec<u8>) {
        // A bit for each get that waits, chosen by its hash; and a bit for each of them by its place.
        let (mut keys, mut waiting) = (0_u64, 0_u32);
        for (at, (get, outcome)) in window.iter_mut().zip(&mut *outcomes).enumerate() {
            let key = 1 << (get.key.hash >> 32 & 63);
            let place = (get.bucket, self.state);
            let result = if keys & key == 0 {
                self.index.begin_get(self.access, place, &get.key, bytes)
            } else {
                Err(Pending::default())
            };
            match result {
                Ok(found) => *outcome = found.map_or(Outcome::Absent, Outcome::Found),
                Err(pending) => {
                    get.pending = pending;
                    (keys, waiting) = (keys | key, waiting | 1 << at);
                }
            }
        }
        while waiting != 0 {
            let at = waiting.trailing_zeros() as usize % WINDOW;
            waiting &= waiting - 1;
            let Get { pending, ref key, .. } = window[at];
            let found = self.index.finish_get(self.access, pending, key, bytes);
            outcomes[at] = found.map_or(Outcome::Absent, Outcome::Found);
        }
    }
}
