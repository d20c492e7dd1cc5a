//! Keys of the examples that count instructions.

use honeycomb_workload::KeyKind;

use crate::index::scattered_key;

/// Bytes of memory for a pair besides its key and its value.
const OVERHEAD_BYTES: usize = 80;

/// Keys of a kind, or scattered numbers of 16 bytes.
#[derive(Debug, Clone, Copy)]
pub struct ExampleKeys(Option<KeyKind>);

impl ExampleKeys {
    /// Returns the keys of the kind with this name, or scattered numbers without a name.
    ///
    /// # Panics
    /// If there is no such kind.
    #[must_use]
    pub fn named(name: Option<&String>) -> Self {
        Self(name.map(|name| KeyKind::of_name(name).expect("a kind of keys")))
    }

    /// Returns the key of a pair.
    #[must_use]
    pub fn key(self, number: u64) -> Vec<u8> {
        let mut key = Vec::new();
        match self.0 {
            Some(kind) => kind.append(number, &mut key),
            None => key.extend(scattered_key(number)),
        }
        key
    }

    /// Returns the bytes of memory to plan for a pair, with a value that is no longer than its key.
    #[must_use]
    pub fn pair_bytes(self) -> usize {
        OVERHEAD_BYTES + 2 * self.0.map_or(16, |kind| kind.mean_bytes() as usize + 8)
    }
}

/// Returns the value of an example's pair: the last 16 bytes of its key, or all of a shorter key.
#[must_use]
pub fn example_value(key: &[u8]) -> &[u8] {
    &key[key.len().saturating_sub(16)..]
}
