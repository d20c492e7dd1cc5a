//! When pairs were last used, and how often: about, for eviction and for `OBJECT IDLETIME` and `OBJECT FREQ`.
//!
//! An array of words, of which a pair has the one that the hash of its table and key says; pairs that share
//! one look as if all were used when one is. A word is the time of the last use, or, as Redis has it, a
//! logarithmic counter of uses that decays by one a minute. Any thread writes any word, with relaxed stores:
//! a use that is lost does not matter.
//!
//! Nothing is noted, and there is no array, until the policy or the first `OBJECT IDLETIME` asks for it.

use std::cell::{Cell, RefCell};
use std::hash::Hasher;
use std::sync::{Arc, OnceLock};

use honeycomb_memory::sync::{AtomicBool, AtomicU32, Ordering};
use honeycomb_store::Table;
use rustc_hash::FxHasher;

use crate::eviction_policy::{Policy, Usage};

/// Bytes of memory for each word if pairs are evicted by it: 3 % of it are for words.
const BYTES_A_WORD: usize = 128;
/// Words if only `OBJECT IDLETIME` asks.
const WORDS_MIN: usize = 1 << 16;
/// Milliseconds of a unit of time, as a power of two: a word has room for a year of them.
const TICK: u32 = 3;
const MINUTE: u64 = 60_000;
/// What the counter of a pair begins with, so that a new one is not the first to go.
const COUNT_FIRST: u32 = 5;
/// The greater, the more uses it takes to raise a counter.
const LOG_FACTOR: u32 = 10;
/// Pairs whose times wait until a core notes times: those of the commands of a turn.
const WAITING_MAX: usize = 1 << 12;

/// The words of a usage.
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
    /// `OBJECT IDLETIME` was asked for.
    is_asked: AtomicBool,
}

thread_local! {
    /// Whether this core notes what is used.
    static NOTES: Cell<bool> = const { Cell::new(false) };
    static NOW: Cell<u64> = const { Cell::new(0) };
    /// When the server was started.
    static STARTED: Cell<u64> = const { Cell::new(0) };
    /// This core was asked for an idle time.
    static ASKED: Cell<bool> = const { Cell::new(false) };
    static RANDOM: Cell<u32> = const { Cell::new(0x9e37_79b9) };
    static NOTED: RefCell<Option<Arc<Recency>>> = const { RefCell::new(None) };
    /// Hashes of pairs and the times of their last use, until this core notes times.
    static WAITING: RefCell<Vec<(u64, u32)>> = const { RefCell::new(Vec::new()) };
}

/// What a pair is to be known by, whatever uses it has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It was last used so many seconds ago.
    IdleSeconds(u64),
    /// Its logarithmic counter of uses.
    Frequency(u8),
}

/// Sets what is known of a pair, if that is what this core notes. It begins to note times for this if it
/// notes nothing.
pub(crate) fn set(table: &Table, key: &[u8], known: Known) {
    let now = NOW.get();
    let (usage, word) = match known {
        Known::IdleSeconds(seconds) => (Usage::Time, ticks_before(now, seconds)),
        Known::Frequency(count) => (Usage::Frequency, word_of_count(u32::from(count), now)),
    };
    NOTED.with_borrow(|noted| match noted {
        Some(words) if words.usage == usage => words.word(table, key).store(word, Ordering::Relaxed),
        None if usage == Usage::Time => WAITING.with_borrow_mut(|waiting| {
            ASKED.set(true);
            if waiting.len() < WAITING_MAX {
                waiting.push((hash(table, key), word));
            }
        }),
        _ => {}
    });
}

/// A pair is used.
#[inline]
pub(crate) fn note(table: &Table, key: &[u8]) {
    if NOTES.get() {
        note_in_words(table, key);
    }
}

#[cold]
fn note_in_words(table: &Table, key: &[u8]) {
    NOTED.with_borrow(|noted| noted.iter().for_each(|words| words.note(table, key, NOW.get())));
}

/// Has this core note what a policy asks for.
pub(crate) fn track(recencies: &Recencies, policy: Policy, memory_bytes: usize, (started, now): (u64, u64)) {
    if ASKED.take() {
        recencies.is_asked.store(true, Ordering::Relaxed);
    }
    let asked = recencies.is_asked.load(Ordering::Relaxed);
    NOW.set(now);
    STARTED.set(started);
    let Some(usage) = policy.usage().or(asked.then_some(Usage::Time)) else {
        NOTES.set(false);
        NOTED.set(None);
        return;
    };
    let known = NOTED.with_borrow(|noted| noted.as_ref().is_some_and(|words| words.usage == usage));
    if !known {
        let words = recencies.of(usage, policy, memory_bytes).clone();
        for (hash, time) in WAITING.take().into_iter().filter(|_| usage == Usage::Time) {
            words.at(hash).store(time, Ordering::Relaxed);
        }
        NOTED.set(Some(words));
    }
    NOTES.set(true);
}

impl Recencies {
    /// The words of a usage, if any core notes it.
    pub(crate) fn known(&self, usage: Usage) -> Option<&Arc<Recency>> {
        if usage == Usage::Time { self.times.get() } else { self.frequencies.get() }
    }

    fn of(&self, usage: Usage, policy: Policy, memory_bytes: usize) -> &Arc<Recency> {
        let place = if usage == Usage::Time { &self.times } else { &self.frequencies };
        place.get_or_init(|| {
            let wanted = if policy.evicts() { memory_bytes / BYTES_A_WORD } else { 0 };
            let count = wanted.max(WORDS_MIN).next_power_of_two();
            Arc::new(Recency { usage, words: (0..count).map(|_| AtomicU32::new(0)).collect() })
        })
    }
}

impl Recency {
    fn note(&self, table: &Table, key: &[u8], now: u64) {
        let word = self.word(table, key);
        let after = match self.usage {
            Usage::Time => ticks(now),
            Usage::Frequency => used(word.load(Ordering::Relaxed), now),
        };
        word.store(after, Ordering::Relaxed);
    }

    /// How well a pair can be done without.
    pub(crate) fn dispensable(&self, table: &Table, key: &[u8], now: u64) -> u64 {
        match (self.usage, self.word(table, key).load(Ordering::Relaxed)) {
            (_, 0) => u64::MAX,
            (Usage::Time, word) => u64::from(ticks(now).wrapping_sub(word)),
            (Usage::Frequency, word) => u64::from(u8::MAX) - u64::from(decayed(word, now)),
        }
    }

    fn word(&self, table: &Table, key: &[u8]) -> &AtomicU32 {
        self.at(hash(table, key))
    }

    fn at(&self, hash: u64) -> &AtomicU32 {
        // The high bits are those that all bytes have gone into.
        &self.words[(hash >> 32) as usize & (self.words.len() - 1)]
    }
}

fn hash(table: &Table, key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(table.name().as_bytes());
    hasher.write(key);
    hasher.finish()
}

/// Seconds since a pair was used, as far as that is known: at most those since the server was started.
pub(crate) fn idle_seconds(table: &Table, key: &[u8]) -> u64 {
    ASKED.set(true);
    let (now, started) = (NOW.get(), STARTED.get());
    let known = NOTED.with_borrow(|noted| {
        let words = noted.as_ref().filter(|words| words.usage == Usage::Time)?;
        let word = words.word(table, key).load(Ordering::Relaxed);
        (word != 0).then(|| u64::from(ticks(now).wrapping_sub(word)) << TICK)
    });
    known.unwrap_or_else(|| now.saturating_sub(started)) / 1000
}

/// The logarithmic counter of a pair's uses; none unless uses are counted.
pub(crate) fn frequency(table: &Table, key: &[u8]) -> Option<u32> {
    NOTED.with_borrow(|noted| {
        let words = noted.as_ref().filter(|words| words.usage == Usage::Frequency)?;
        Some(decayed(words.word(table, key).load(Ordering::Relaxed), NOW.get()))
    })
}

fn ticks(now: u64) -> u32 {
    // Never zero: that is a word that nobody has written.
    ((now >> TICK) as u32).max(1)
}

/// The time so many seconds ago, as far as a word reaches back.
fn ticks_before(now: u64, seconds: u64) -> u32 {
    let ago = (seconds.saturating_mul(1000) >> TICK).min(u64::from(u32::MAX / 2)) as u32;
    ticks(now).wrapping_sub(ago).max(1)
}

fn minutes(now: u64) -> u32 {
    (now / MINUTE) as u32 & 0xffff
}

/// The counter of a word: the low byte, less one for each minute since the one in the high bytes.
fn decayed(word: u32, now: u64) -> u32 {
    let passed = minutes(now).wrapping_sub(word >> 16) & 0xffff;
    (word & 0xff).saturating_sub(passed)
}

/// A word after a use. The greater the counter, the rarer it grows.
fn used(word: u32, now: u64) -> u32 {
    let count = if word == 0 { COUNT_FIRST } else { decayed(word, now) };
    let steps = count.saturating_sub(COUNT_FIRST) * LOG_FACTOR + 1;
    let grows = count < 0xff && random().is_multiple_of(steps);
    word_of_count(count + u32::from(grows), now)
}

/// A word with a counter. It is not zero, whatever the counter is.
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
        // What redis.conf says of a factor of 10: about 10 after 100 uses, 18 after 1000.
        assert!((8..=12).contains(&counts[2]) && (15..=22).contains(&counts[3]), "{counts:?}");
        assert!((40..=70).contains(&counts[4]), "{counts:?}");
        assert_eq!(decayed(word, 3 * MINUTE + 1), decayed(word, 0) - 3);
        assert_eq!(decayed(word, 1000 * MINUTE), 0);
    }
}
