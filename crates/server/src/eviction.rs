//! Which pairs go when there is no memory left, and how many.

use std::sync::PoisonError;
use std::thread;

use honeycomb_layout::KEY_BYTES_MAX;
use honeycomb_memory::sync::Ordering;
use honeycomb_store::{Pairs, Scan, Table};

use crate::deadlines::{Deadlines, Due};
use crate::failure::Failure;
use crate::glimpse::Glimpse;
use crate::reaper::Settled;
use crate::recency::Kind;
use crate::server_state::ServerState;

/// The parameters of eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eviction {
    /// Which pairs go. Default: none.
    pub policy: Policy,
    /// Pairs of which the best to go is taken. Default: 5.
    pub samples: usize,
}

/// Which pairs go for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// None: writes are refused.
    NoEviction,
    /// The one that was not used for longest, of a few.
    AllKeysLru,
    /// The one that is used least often, of a few.
    AllKeysLfu,
    /// Any.
    AllKeysRandom,
    /// As `AllKeysLru`, of those that expire.
    VolatileLru,
    /// As `AllKeysLfu`, of those that expire.
    VolatileLfu,
    /// Any that expires.
    VolatileRandom,
    /// The one that expires first.
    VolatileTtl,
}

/// The names of the policies, which are those of Redis.
pub(crate) const POLICIES: &[(&str, Policy)] = &[
    ("noeviction", Policy::NoEviction),
    ("allkeys-lru", Policy::AllKeysLru),
    ("allkeys-lfu", Policy::AllKeysLfu),
    ("allkeys-random", Policy::AllKeysRandom),
    ("volatile-lru", Policy::VolatileLru),
    ("volatile-lfu", Policy::VolatileLfu),
    ("volatile-random", Policy::VolatileRandom),
    ("volatile-ttl", Policy::VolatileTtl),
];

impl Default for Eviction {
    fn default() -> Self {
        Self { policy: Policy::NoEviction, samples: 5 }
    }
}

impl Policy {
    /// Whether pairs go at all.
    pub(crate) fn evicts(self) -> bool {
        self != Self::NoEviction
    }

    /// What is to be noted of pairs that are used.
    pub(crate) fn notes(self) -> Option<Kind> {
        match self {
            Self::AllKeysLru | Self::VolatileLru => Some(Kind::Time),
            Self::AllKeysLfu | Self::VolatileLfu => Some(Kind::Frequency),
            _ => None,
        }
    }

    /// Whether only pairs that expire go.
    fn is_volatile(self) -> bool {
        use Policy::{VolatileLfu, VolatileLru, VolatileRandom, VolatileTtl};
        matches!(self, VolatileLru | VolatileLfu | VolatileRandom | VolatileTtl)
    }
}

/// Chooses pairs and deletes them.
#[derive(Debug)]
pub(crate) struct Evictor {
    random: u64,
    found: Pairs,
    glimpse: Glimpse,
}

/// A key and a value.
type Pair = (Vec<u8>, Vec<u8>);

/// A pair that may go.
struct Candidate {
    due: Due,
    /// Its entry in the index of deadlines, if that is where it was found.
    entry: Option<Pair>,
    /// How well it can be done without.
    dispensable: u64,
}

impl Default for Evictor {
    fn default() -> Self {
        Self { random: 0x9e37_79b9_7f4a_7c15, found: Pairs::default(), glimpse: Glimpse::default() }
    }
}

impl Evictor {
    /// Has so many pairs go: how many did. Fewer if there are none that may.
    pub(crate) fn evict(
        &mut self,
        shared: &ServerState,
        how: Eviction,
        count: usize,
    ) -> Result<usize, Failure> {
        let mut evicted = 0;
        // Some may be another by the time that they are to go.
        for _ in 0..2 * count {
            if evicted == count || !how.policy.evicts() {
                break;
            }
            let Some(best) = self.choose(shared, how)? else { break };
            match self.delete(shared, &best)? {
                true => evicted += 1,
                // Another core may be about to put it.
                false => thread::yield_now(),
            }
        }
        shared.evicted.fetch_add(evicted as u64, Ordering::Relaxed);
        Ok(evicted)
    }

    /// The best to go of some samples.
    fn choose(&mut self, shared: &ServerState, how: Eviction) -> Result<Option<Candidate>, Failure> {
        let is_random = how.policy.notes().is_none();
        let mut best: Option<Candidate> = None;
        for _ in 0..if is_random { 1 } else { how.samples } {
            let Some(one) = self.candidate(shared, how.policy)? else { continue };
            if best.as_ref().is_none_or(|best| best.dispensable < one.dispensable) {
                best = Some(one);
            }
        }
        Ok(best)
    }

    /// A pair that the policy lets go.
    fn candidate(&mut self, shared: &ServerState, policy: Policy) -> Result<Option<Candidate>, Failure> {
        let (tables, index) = (shared.deadlines.tables(), shared.deadlines.index());
        let found = if policy.is_volatile() {
            let entry = if policy == Policy::VolatileTtl {
                index.scan_into(&Scan::all().limit(1), &mut self.found)?;
                self.found.first().map(|(key, value)| (key.to_vec(), value.to_vec()))
            } else {
                self.sample(index)
            };
            entry.and_then(|(key, value)| Some((Due::parse(&key, &value)?, Some((key, value)))))
        } else {
            let Some(slot) = self.weighted(tables) else { return Ok(None) };
            self.sample(&tables[slot]).map(|(key, _)| (Due { deadline: 0, slot, key }, None))
        };
        let Some((due, entry)) = found else { return Ok(None) };
        let words = policy.notes().and_then(|kind| shared.recencies.known(kind));
        let now = shared.time.milliseconds();
        let dispensable = match (words, tables.get(due.slot)) {
            (Some(words), Some(table)) => words.dispensable(table, &due.key, now),
            _ => 0,
        };
        Ok(Some(Candidate { due, entry, dispensable }))
    }

    /// A table, as likely as it has pairs.
    fn weighted(&mut self, tables: &[Table]) -> Option<usize> {
        let all: u64 = tables.iter().map(Table::pair_count).sum();
        let mut place = self.draw().checked_rem(all)?;
        tables.iter().position(|table| {
            let pairs = table.pair_count();
            let is_here = place < pairs;
            place = place.saturating_sub(pairs);
            is_here
        })
    }

    /// A pair drawn at random. Of a value only the beginning, which is all of that of an entry.
    fn sample(&mut self, table: &Table) -> Option<Pair> {
        let mut found = None;
        let mut take = |key: &[u8], value: &[u8]| {
            found = Some((key.to_vec(), value[..value.len().min(KEY_BYTES_MAX)].to_vec()));
        };
        table.sample_some(1, &mut |below| (self.draw() % below as u64) as usize, &mut take);
        found
    }

    /// Deletes a pair, and its entry if it has one: whether it was there still.
    fn delete(&mut self, shared: &ServerState, one: &Candidate) -> Result<bool, Failure> {
        let Candidate { due, entry, .. } = one;
        if let Some((key, value)) = entry {
            let mut reaper = shared.reaper.lock().unwrap_or_else(PoisonError::into_inner);
            let settled = reaper.settle(shared, due, Some((key, value)), u64::MAX, &mut 0)?;
            return Ok(settled == Settled::Expired);
        }
        let table = &shared.deadlines.tables()[due.slot];
        let seen = self.glimpse.look(table, &due.key)?;
        if !self.glimpse.is_of_pair() || !self.glimpse.delete(shared, table, &due.key)? {
            return Ok(false);
        }
        if let Some(deadline) = seen.flatten() {
            // Its entry is stale now.
            Deadlines::found_expired(table, &due.key, deadline);
        }
        Ok(true)
    }

    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
