//! The limits of a scan.

/// Limits on the result of a scan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) pairs: usize,
    pub(crate) bytes: usize,
}

impl Limits {
    #[inline]
    pub(crate) fn are_reached(self) -> bool {
        self.pairs == 0 || self.bytes == 0
    }

    /// Subtracts a pair.
    #[inline]
    pub(crate) fn count(&mut self, key_bytes: usize, value_bytes: usize) {
        self.pairs = self.pairs.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(key_bytes + value_bytes);
    }
}
