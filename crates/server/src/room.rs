//! Room for writes: what is done before one is refused for want of memory.
//!
//! First pairs that have expired are deleted, then entries of the index of deadlines that are stale, then
//! pairs are [evicted](crate::eviction), as `maxmemory-policy` says. Between two turns a core sees to it that
//! some memory is free, so that writes rarely have to wait for that.

use std::sync::PoisonError;

use crate::config::Config;
use crate::eviction;
use crate::failure::Failure;
use crate::recency;
use crate::server_state::ServerState;

/// How often a write is tried again.
const ATTEMPTS_MAX: usize = 1000;
/// Entries of the index of deadlines that are looked at before a write is tried again.
const ENTRIES_AN_ATTEMPT: u64 = 512;
/// How often room is made for a write beyond the limit. If it is still beyond it then, the write goes on:
/// there are pairs to evict, and the core goes on evicting them between two turns.
const ATTEMPTS_WITHIN_LIMIT: usize = 4;
/// Pairs that are evicted before a write is tried again, and between two turns.
const EVICTED_AN_ATTEMPT: usize = 128;
const EVICTED_AN_ITERATION: usize = 32;
/// Leaves that are looked at between two turns, to join those that are sparse.
const LEAVES_AN_ITERATION: usize = 64;
/// The part of what is to be free that may be held back while pairs are evicted.
const RETIRED_FRACTION: usize = 2;
/// The part of the memory that is kept free if pairs may be evicted, and how much it is at most.
const FREE_FRACTION: usize = 32;
const FREE_BYTES_MAX: usize = 64 << 20;

/// Carries out a write, which finds no memory only if none can be freed for it.
pub(crate) fn with_room<T>(
    shared: &ServerState,
    mut write: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    match write() {
        Err(Failure::OutOfMemory) => again(shared, write),
        outcome => outcome,
    }
}

/// Carries out a write that has found no memory, if some can be freed for it.
#[cold]
pub(crate) fn again<T>(
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

/// Whether writes that take memory are to be refused: the store uses more than `maxmemory`, and nothing may
/// go.
#[inline]
pub(crate) fn is_full(shared: &ServerState, config: &Config) -> bool {
    // Without a limit of its own it is the arena that refuses writes.
    config.memory_limit_bytes() < config.memory_bytes
        && is_above_limit(shared, config)
        && stays_above(shared, config)
}

/// What is retired does not count: it comes back by itself.
#[cold]
fn is_above_limit(shared: &ServerState, config: &Config) -> bool {
    let (free, retired) = shared.store.spare_bytes();
    config.memory_bytes.saturating_sub(free + retired) > config.memory_limit_bytes()
}

#[cold]
fn stays_above(shared: &ServerState, config: &Config) -> bool {
    for _ in 0..ATTEMPTS_WITHIN_LIMIT {
        let has_freed = make_room(shared);
        shared.store.maintain(LEAVES_AN_ITERATION);
        let is_above = is_above_limit(shared, config);
        if !has_freed || !is_above {
            return is_above;
        }
    }
    false
}

/// Frees some memory, or has pairs go that may free some: whether it did.
fn make_room(shared: &ServerState) -> bool {
    let now = shared.time.milliseconds();
    let mut reaper = shared.reaper.lock().unwrap_or_else(PoisonError::into_inner);
    let mut room = ENTRIES_AN_ATTEMPT;
    let gone = reaper.make_room(shared, now, &mut room);
    drop(reaper);
    gone.unwrap_or(0) > 0 || evict(shared, EVICTED_AN_ATTEMPT) > 0
}

/// Sees to it between two turns that some memory is free, and that this core notes which pairs are used if
/// the policy asks for that. Whether there is more to do at once.
pub(crate) fn tend(shared: &ServerState, now: u64) -> bool {
    let config = shared.config();
    let policy = config.eviction.policy;
    recency::track(&shared.recencies, policy, config.memory_bytes, (shared.started, now));
    if !policy.evicts() {
        return false;
    }
    let limit = config.memory_limit_bytes();
    let spare = (limit / FREE_FRACTION).min(FREE_BYTES_MAX);
    let wanted = config.memory_bytes.saturating_sub(limit) + spare;
    if shared.store.spare_bytes().0 >= wanted {
        return false;
    }
    shared.store.maintain(LEAVES_AN_ITERATION);
    let (free, retired) = shared.store.spare_bytes();
    // What a snapshot holds back comes back by itself. While it does, deleting takes memory and frees none.
    free + retired < wanted && retired < spare / RETIRED_FRACTION && evict(shared, EVICTED_AN_ITERATION) > 0
}

fn evict(shared: &ServerState, count: usize) -> usize {
    let eviction = shared.config().eviction;
    let mut sampler = shared.sampler.lock().unwrap_or_else(PoisonError::into_inner);
    match eviction::evict(&mut sampler, shared, eviction, count) {
        Ok(evicted) => evicted,
        Err(failure) => {
            tracing::warn!(%failure, "pairs were not evicted");
            0
        }
    }
}
