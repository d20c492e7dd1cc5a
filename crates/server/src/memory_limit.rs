//! Frees memory for writes before the server rejects one.
//!
//! The server first deletes expired pairs, then stale entries of the index of deadlines, and then
//! [evicts](crate::eviction) pairs as `maxmemory-policy` requires. Between two iterations a core keeps some
//! memory free, so that writes rarely wait.

use std::sync::PoisonError;

use crate::config::Config;
use crate::failure::Failure;
use crate::server_state::ServerState;
use crate::{eviction, recency};

/// Maximum number of retries of a write.
const ATTEMPTS_MAX: usize = 1000;
/// Entries of the index of deadlines that are checked before each retry.
const ENTRIES_PER_ATTEMPT: u64 = 512;
/// Attempts to free memory for a write above the limit. If the memory is still above the limit afterwards,
/// the write proceeds: evictable pairs exist, and the core continues to evict them between iterations.
const ATTEMPTS_WITHIN_LIMIT: usize = 4;
/// Pairs that are evicted before each retry, and between two iterations.
const EVICTED_PER_ATTEMPT: usize = 128;
const EVICTED_PER_ITERATION: usize = 32;
/// Leaves that the store examines between two iterations, to merge sparse ones.
const LEAVES_PER_ITERATION: usize = 64;
/// Eviction pauses while retired memory exceeds this fraction of the memory to keep free.
const RETIRED_FRACTION: usize = 2;
/// The fraction of the memory that stays free if the policy evicts pairs, and its maximum.
const FREE_FRACTION: usize = 32;
const FREE_BYTES_MAX: usize = 64 << 20;

/// Executes a write. It fails for lack of memory only if none can be freed.
pub(crate) fn with_retries<T>(
    shared: &ServerState,
    mut write: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    match write() {
        Err(Failure::OutOfMemory) => retry(shared, write),
        outcome => outcome,
    }
}

/// Retries a write that failed for lack of memory.
#[cold]
pub(crate) fn retry<T>(
    shared: &ServerState,
    mut write: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    for _ in 0..ATTEMPTS_MAX {
        if !make_room(shared) {
            break;
        }
        match write() {
            Err(Failure::OutOfMemory) => {}
            outcome => return outcome,
        }
    }
    Err(Failure::OutOfMemory)
}

/// Returns the free and the retired bytes. Memory that unordered tables reuse is free: an eviction from such
/// a table returns no buckets to the store.
fn free_and_retired(shared: &ServerState) -> (usize, usize) {
    let (free, retired) = shared.store.free_and_retired_bytes();
    let reusable = if shared.databases.has_unordered() { shared.store.reusable_bytes() } else { 0 };
    (free + reusable, retired)
}

/// Returns whether the server must reject writes that allocate memory: the store uses more than `maxmemory`,
/// and no pairs can be evicted.
#[inline]
pub(crate) fn is_full(shared: &ServerState, config: &Config) -> bool {
    // Without a limit only the arena limits writes.
    config.memory_limit_bytes() < config.memory_bytes
        && is_above_limit(shared, config)
        && stays_above(shared, config)
}

/// Retired memory does not count, because it becomes free soon.
#[cold]
fn is_above_limit(shared: &ServerState, config: &Config) -> bool {
    let (free, retired) = free_and_retired(shared);
    config.memory_bytes.saturating_sub(free + retired) > config.memory_limit_bytes()
}

#[cold]
fn stays_above(shared: &ServerState, config: &Config) -> bool {
    for _ in 0..ATTEMPTS_WITHIN_LIMIT {
        let has_freed = make_room(shared);
        shared.store.maintain(LEAVES_PER_ITERATION);
        let is_above = is_above_limit(shared, config);
        if !has_freed || !is_above {
            return is_above;
        }
    }
    false
}

/// Frees memory or deletes pairs whose memory becomes free later. Returns whether it did.
fn make_room(shared: &ServerState) -> bool {
    let now = shared.time.milliseconds();
    let mut reaper = shared.reaper.lock().unwrap_or_else(PoisonError::into_inner);
    let mut room = ENTRIES_PER_ATTEMPT;
    let gone = reaper.make_room(shared, now, &mut room);
    drop(reaper);
    gone.unwrap_or(0) > 0 || evict(shared, EVICTED_PER_ATTEMPT) > 0
}

/// Keeps some memory free between two iterations, and makes this core record the uses of pairs that the
/// policy needs. Returns whether more work remains.
pub(crate) fn keep_free(shared: &ServerState, now: u64) -> bool {
    let config = shared.config();
    let policy = config.eviction.policy;
    recency::track(&shared.recencies, policy, config.memory_bytes, (shared.started, now));
    if !policy.evicts() {
        return false;
    }
    let limit = config.memory_limit_bytes();
    let spare = (limit / FREE_FRACTION).min(FREE_BYTES_MAX);
    let wanted = config.memory_bytes.saturating_sub(limit) + spare;
    if free_and_retired(shared).0 >= wanted {
        return false;
    }
    shared.store.maintain(LEAVES_PER_ITERATION);
    let (free, retired) = free_and_retired(shared);
    // A snapshot only delays the return of retired memory. In the meantime deletes would allocate memory and
    // free none.
    free + retired < wanted && retired < spare / RETIRED_FRACTION && evict(shared, EVICTED_PER_ITERATION) > 0
}

fn evict(shared: &ServerState, count: usize) -> usize {
    let eviction = shared.config().eviction;
    let mut sampler = shared.sampler.lock().unwrap_or_else(PoisonError::into_inner);
    match eviction::evict(&mut sampler, shared, eviction, count) {
        Ok(evicted) => evicted,
        Err(failure) => {
            tracing::warn!(%failure, "cannot evict pairs");
            0
        }
    }
}
