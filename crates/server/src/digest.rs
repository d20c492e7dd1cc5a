//! Digests of ranges, which show whether a watched range still has the same pairs.

use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::ops::ControlFlow;

/// A generator of digests with a secret key, so that no client can construct two ranges with equal digests.
#[derive(Debug, Default)]
pub(crate) struct Digests(RandomState);

/// The digest of the pairs of a range, in order.
#[derive(Clone)]
pub(crate) struct RangeDigest(DefaultHasher);

impl Digests {
    pub(crate) fn begin(&self) -> RangeDigest {
        RangeDigest(self.0.build_hasher())
    }
}

impl RangeDigest {
    /// Adds the next pair.
    pub(crate) fn add(&mut self, key: &[u8], data: &[u8]) -> ControlFlow<()> {
        // The lengths separate keys and values.
        for bytes in [key, data] {
            self.0.write_usize(bytes.len());
            self.0.write(bytes);
        }
        ControlFlow::Continue(())
    }

    pub(crate) fn end(&self) -> u64 {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_equal_if_the_pairs_are() {
        let digests = Digests::default();
        let of = |pairs: &[(&str, &str)]| {
            let mut digest = digests.begin();
            for (key, data) in pairs {
                let _ = digest.add(key.as_bytes(), data.as_bytes());
            }
            digest.end()
        };
        assert_eq!(of(&[("a", "b"), ("c", "d")]), of(&[("a", "b"), ("c", "d")]));
        for other in [&[("a", "bc"), ("", "d")][..], &[("a", "b")], &[("a", "b"), ("c", "e")], &[]] {
            assert_ne!(of(&[("a", "b"), ("c", "d")]), of(other));
        }
    }
}
