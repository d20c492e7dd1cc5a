//! Approximate times and frequencies of the uses of pairs, for eviction, `OBJECT IDLETIME` and `OBJECT FREQ`.
//!
//! Uses are recorded in an array of words. The hash of table and key selects the word of a pair; pairs with
//! the same word share their uses. A word is the time of the last use or, as in Redis, a logarithmic counter
//! of uses that decays by one per minute. All threads write the words with relaxed stores, because a lost use
//! does no harm.
//!
//! The server allocates the array and records uses only when the policy or the first `OBJECT IDLETIME`
//! requires it.

use std::cell::{Cell, RefCell};
use std::hash::Hasher;
use std::sync::{Arc, OnceLock};

use honeycomb_memory::sync::{AtomicBool, AtomicU32, Ordering};
use honeycomb_store::TableHandle;
use rustc_hash::FxHasher;

use crate::eviction_policy::{Policy, Usage};

/// Bytes of the store for each word if the policy uses the words: they take 3 % of the memory.
const BYTES_PER_WORD: usize = 128;
/// The number of words if only `OBJECT IDLETIME` uses them.
const WORDS_MIN: usize = 1 << 16;
/// The unit of time is 2^`TICK` milliseconds. A word can express a year.
const TICK: u32 = 3;
const MINUTE: u64 = 60_000;
/// The initial value of a counter, so that a new pair is not the first one to evict.
const COUNT_FIRST: u32 = 5;
/// A higher factor requires more uses to increase a counter.
const LOG_FACTOR: u32 = 10;
/// Maximum number of times that wait until a core records times: those of one iteration.
const WAITING_MAX: usize = 1 << 12;

/// The words of one kind of usage.
#[derive(Debug)]
pub(crate) struct Recency {
    usage: Usage,
    words: Box<[AtomicU32]>,
}

/// The arrays of a server.
#[derive(Debug, Default)]
pub(crate) struct Recencies {
    times: OnceLock<Arc<Recency>>,
    frequencies: OnceLock<Arc<Recency>>,
    /// Whether a client has used `OBJECT IDLETIME`.
    is_requested: AtomicBool,
}

thread_local! {
    /// Whether this core records uses.
    static RECORDS: Cell<bool> = const { Cell::new(false) };
    static NOW: Cell<u64> = const { Cell::new(0) };
    /// Start time of the server.
    static STARTED: Cell<u64> = const { Cell::new(0) };
    /// Whether a client of this core has requested an idle time.
    static REQUESTED: Cell<bool> = const { Cell::new(false) };
    static RANDOM: Cell<u32> = const { Cell::new(0x9e37_79b9) };
    static RECORDED: RefCell<Option<Arc<Recency>>> = const { RefCell::new(None) };
    /// Hashes of pairs and the times of their last use, until this core records times.
    static WAITING: RefCell<Vec<(u64, u32)>> = const { RefCell::new(Vec::new()) };
}

/// Usage of a pair that a client sets, independent of its actual uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// Seconds since the last use.
    IdleSeconds(u64),
    /// Logarithmic counter of uses.
    Frequency(u8),
}

/// Sets the usage of a pair if this core records that kind. A core that records nothing begins to record
/// times.
pub(crate) fn set(table: &TableHandle, key: &[u8], known: Known) {
    let now = NOW.get();
    let (usage, word) = match known {
        Known::IdleSeconds(seconds) => (Usage::Time, ticks_before(now, seconds)),
        Known::Frequency(count) => (Usage::Frequency, word_of_count(u32::from(count), now)),
    };
    RECORDED.with_borrow(|noted| match noted {
        Some(words) if words.usage == usage => words.word(table, key).store(word, Ordering::Relaxed),
        None if usage == Usage::Time => WAITING.with_borrow_mut(|waiting| {
            REQUESTED.set(true);
            if waiting.len() < WAITING_MAX {
                waiting.push((hash(table, key), word));
            }
        }),
        _ => {}
    });
}

/// Returns whether this core records uses.
#[inline]
pub(crate) fn is_recorded() -> bool {
    RECORDS.get()
}

/// Records the use of a pair.
#[inline]
pub(crate) fn note(table: &TableHandle, key: &[u8]) {
    if is_recorded() {
        note_in_words(table, key);
    }
}

#[cold]
fn note_in_words(table: &TableHandle, key: &[u8]) {
    RECORDED.with_borrow(|noted| noted.iter().for_each(|words| words.note(table, key, NOW.get())));
}

/// Makes this core record the usage that a policy needs. `memory_bytes` determines the size of a new array.
pub(crate) fn track(recencies: &Recencies, policy: Policy, memory_bytes: usize, (started, now): (u64, u64)) {
    if REQUESTED.take() {
        recencies.is_requested.store(true, Ordering::Relaxed);
    }
    let requested = recencies.is_requested.load(Ordering::Relaxed);
    NOW.set(now);
    STARTED.set(started);
    let Some(usage) = policy.usage().or(requested.then_some(Usage::Time)) else {
        RECORDS.set(false);
        RECORDED.set(None);
        return;
    };
    let known = RECORDED.with_borrow(|noted| noted.as_ref().is_some_and(|words| words.usage == usage));
    if !known {
        let words = recencies.of(usage, policy, memory_bytes).clone();
        for (hash, time) in WAITING.take().into_iter().filter(|_| usage == Usage::Time) {
            words.at(hash).store(time, Ordering::Relaxed);
        }
        RECORDED.set(Some(words));
    }
    RECORDS.set(true);
}

impl Recencies {
    /// Returns the words of a kind of usage if any core records it.
    pub(crate) fn known(&self, usage: Usage) -> Option<&Arc<Recency>> {
        if usage == Usage::Time { self.times.get() } else { self.frequencies.get() }
    }

    fn of(&self, usage: Usage, policy: Policy, memory_bytes: usize) -> &Arc<Recency> {
        let place = if usage == Usage::Time { &self.times } else { &self.frequencies };
        place.get_or_init(|| {
            let wanted = if policy.evicts() { memory_bytes / BYTES_PER_WORD } else { 0 };
            let count = wanted.max(WORDS_MIN).next_power_of_two();
            Arc::new(Recency { usage, words: (0..count).map(|_| AtomicU32::new(0)).collect() })
        })
    }
}

impl Recency {
    fn note(&self, table: &TableHandle, key: &[u8], now: u64) {
        let word = self.word(table, key);
        let after = match self.usage {
            Usage::Time => ticks(now),
            Usage::Frequency => used(word.load(Ordering::Relaxed), now),
        };
        word.store(after, Ordering::Relaxed);
    }

    /// Returns the rank of a pair for eviction: the least used pair has the highest number.
    pub(crate) fn dispensable(&self, table: &TableHandle, key: &[u8], now: u64) -> u64 {
        match (self.usage, self.word(table, key).load(Ordering::Relaxed)) {
            (_, 0) => u64::MAX,
            (Usage::Time, word) => u64::from(ticks(now).wrapping_sub(word)),
            (Usage::Frequency, word) => u64::from(u8::MAX) - u64::from(decayed(word, now)),
        }
    }

    fn word(&self, table: &TableHandle, key: &[u8]) -> &AtomicU32 {
        self.at(hash(table, key))
    }

    fn at(&self, hash: u64) -> &AtomicU32 {
        // All input bytes affect the high bits of the hash.
        &self.words[(hash >> 32) as usize & (self.words.len() - 1)]
    }
}

fn hash(table: &TableHandle, key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(table.name().as_bytes());
    hasher.write(key);
    hasher.finish()
}

/// Returns the seconds since the last known use of a pair, at most those since the start of the server.
pub(crate) fn idle_seconds(table: &TableHandle, key: &[u8]) -> u64 {
    REQUESTED.set(true);
    let (now, started) = (NOW.get(), STARTED.get());
    let known = RECORDED.with_borrow(|noted| {
        let words = noted.as_ref().filter(|words| words.usage == Usage::Time)?;
        let word = words.word(table, key).load(Ordering::Relaxed);
        (word != 0).then(|| u64::from(ticks(now).wrapping_sub(word)) << TICK)
    });
    known.unwrap_or_else(|| now.saturating_sub(started)) / 1000
}

/// Returns the logarithmic counter of uses of a pair, or `None` if the server does not count uses.
pub(crate) fn frequency(table: &TableHandle, key: &[u8]) -> Option<u32> {
    RECORDED.with_borrow(|noted| {
        let words = noted.as_ref().filter(|words| words.usage == Usage::Frequency)?;
        Some(decayed(words.word(table, key).load(Ordering::Relaxed), NOW.get()))
    })
}

fn ticks(now: u64) -> u32 {
    // Zero denotes a word that was never written.
    ((now >> TICK) as u32).max(1)
}

/// Returns the time `seconds` ago, limited by the range of a word.
fn ticks_before(now: u64, seconds: u64) -> u32 {
    let ago = (seconds.saturating_mul(1000) >> TICK).min(u64::from(u32::MAX / 2)) as u32;
    ticks(now).wrapping_sub(ago).max(1)
}

fn minutes(now: u64) -> u32 {
    (now / MINUTE) as u32 & 0xffff
}

/// Returns the counter of a word: the low byte, minus one for each minute since the time in the high bytes.
fn decayed(word: u32, now: u64) -> u32 {
    let passed = minutes(now).wrapping_sub(word >> 16) & 0xffff;
    (word & 0xff).saturating_sub(passed)
}

/// Returns a word after one more use. A higher counter grows more slowly.
fn used(word: u32, now: u64) -> u32 {
    let count = if word == 0 { COUNT_FIRST } else { decayed(word, now) };
    let steps = count.saturating_sub(COUNT_FIRST) * LOG_FACTOR + 1;
    let grows = count < 0xff && random().is_multiple_of(steps);
    word_of_count(count + u32::from(grows), now)
}

/// Returns a word with a counter. It is never zero.
fn word_of_count(count: u32, now: u64) -> u32 {
    minutes(now) << 16 | 0x100 | count
}

fn random() -> u32 {
    let mut word = RANDOM.get();
    word ^= word << 13;
    word ^= word >> 17;
    word ^= word << 5;
    RANDOM.set(word);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_grows_with_the_logarithm_of_uses_and_decays_with_minutes() {
        let mut word = 0;
        let counts: Vec<_> = [1, 9, 90, 900, 9000]
            .map(|uses| {
                (0..uses).for_each(|_| word = used(word, 0));
                decayed(word, 0)
            })
            .to_vec();
        assert_eq!(counts[0], COUNT_FIRST + 1);
        // From redis.conf for a factor of 10: about 10 after 100 uses, 18 after 1000.
        assert!((8..=12).contains(&counts[2]) && (15..=22).contains(&counts[3]), "{counts:?}");
        assert!((40..=70).contains(&counts[4]), "{counts:?}");
        assert_eq!(decayed(word, 3 * MINUTE + 1), decayed(word, 0) - 3);
        assert_eq!(decayed(word, 1000 * MINUTE), 0);
    }
}
