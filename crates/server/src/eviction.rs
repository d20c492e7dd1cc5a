//! Eviction: deletes pairs to free memory, as `maxmemory-policy` requires.

pub(crate) mod sampler;

use std::sync::PoisonError;
use std::thread;

use honeycomb_memory::sync::Ordering;

use crate::deadlines::{Deadlines, Due};
use crate::eviction::sampler::Sampler;
use crate::eviction_policy::{Eviction, Policy};
use crate::failure::Failure;
use crate::reaper::{self, Settled};
use crate::server_state::ServerState;

/// A pair that the policy may evict.
struct Candidate {
    due: Due,
    /// Its entry in the index of deadlines, if the entry led to the pair.
    entry: Option<sampler::Pair>,
    /// The pair with the highest number is evicted.
    dispensable: u64,
}

/// Evicts up to `count` pairs. Returns the number of evicted pairs, which is lower if no more pairs qualify.
pub(crate) fn evict(
    sampler: &mut Sampler,
    shared: &ServerState,
    eviction: Eviction,
    count: usize,
) -> Result<usize, Failure> {
    let mut evicted = 0;
    // Another core may change a pair between its choice and its deletion.
    for _ in 0..2 * count {
        if evicted == count || !eviction.policy.evicts() {
            break;
        }
        let Some(best) = choose(sampler, shared, eviction)? else { break };
        match delete(sampler, shared, &best)? {
            true => evicted += 1,
            // Another core may be about to put the pair of the entry.
            false => thread::yield_now(),
        }
    }
    shared.evicted.fetch_add(evicted as u64, Ordering::Relaxed);
    Ok(evicted)
}

/// Returns the best candidate of some samples.
fn choose(
    sampler: &mut Sampler,
    shared: &ServerState,
    eviction: Eviction,
) -> Result<Option<Candidate>, Failure> {
    let is_random = eviction.policy.usage().is_none();
    let mut best: Option<Candidate> = None;
    for _ in 0..if is_random { 1 } else { eviction.samples } {
        let Some(one) = candidate(sampler, shared, eviction.policy)? else { continue };
        if best.as_ref().is_none_or(|best| best.dispensable < one.dispensable) {
            best = Some(one);
        }
    }
    Ok(best)
}

/// Draws a pair that the policy may evict.
fn candidate(
    sampler: &mut Sampler,
    shared: &ServerState,
    policy: Policy,
) -> Result<Option<Candidate>, Failure> {
    let (tables, index) = (shared.deadlines.tables(), shared.deadlines.index());
    let drawn = if policy.is_volatile() {
        let entry = if policy == Policy::VolatileTtl { sampler.first(index)? } else { sampler.sample(index) };
        entry.and_then(|(key, value)| Some((Due::parse(&key, &value)?, Some((key, value)))))
    } else {
        let Some(slot) = sampler.weighted(tables) else { return Ok(None) };
        sampler.key(&tables[slot]).map(|key| (Due { deadline: 0, slot, key }, None))
    };
    let Some((due, entry)) = drawn else { return Ok(None) };
    let recency = policy.usage().and_then(|usage| shared.recencies.known(usage));
    let now = shared.time.milliseconds();
    let dispensable = match (recency, tables.get(due.slot)) {
        (Some(recency), Some(table)) => recency.dispensable(table, &due.key, now),
        _ => 0,
    };
    Ok(Some(Candidate { due, entry, dispensable }))
}

/// Deletes a pair and its entry. Returns whether the pair still existed.
fn delete(sampler: &mut Sampler, shared: &ServerState, candidate: &Candidate) -> Result<bool, Failure> {
    let Candidate { due, entry, .. } = candidate;
    if let Some((key, value)) = entry {
        let mut reaper = shared.reaper.lock().unwrap_or_else(PoisonError::into_inner);
        let settled = reaper.settle(shared, due, Some((key, value)), u64::MAX, &mut 0)?;
        return Ok(settled == Settled::Expired);
    }
    let table = &shared.deadlines.tables()[due.slot];
    let seen = sampler.glimpse.read(table, &due.key)?;
    if !sampler.glimpse.pair_exists() || !sampler.glimpse.delete(&shared.store, table, &due.key)? {
        return Ok(false);
    }
    reaper::notify(shared, reaper::EVICTED, (due.slot, &due.key));
    if let Some(deadline) = seen.flatten() {
        // The entry of the pair is stale now.
        Deadlines::record_expired(table, &due.key, deadline);
    }
    Ok(true)
}
