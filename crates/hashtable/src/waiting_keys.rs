//! The set of the keys that wait for the third step of a window.

/// Words of the set: many more bits than keys, because another key with the same bit waits in vain.
const WORDS: usize = 16;

/// A bit for each key that waits, chosen by its hash.
#[derive(Debug, Default)]
pub(crate) struct WaitingKeys([u64; WORDS]);

impl WaitingKeys {
    /// Whether a key may be in the set. If false, it is not.
    #[inline(always)]
    pub(crate) fn may_have(&self, hash: u64) -> bool {
        self.0[word(hash)] & bit(hash) != 0
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, hash: u64) {
        self.0[word(hash)] |= bit(hash);
    }
}

#[inline(always)]
fn word(hash: u64) -> usize {
    (hash >> 38) as usize % WORDS
}

#[inline(always)]
fn bit(hash: u64) -> u64 {
    1 << (hash >> 32 & 63)
}
