//! Bytes of memory that count towards a total as soon as a thread allocates them, and until it frees them.
//!
//! The core of a client counts most of its memory at the end of an iteration. Memory that grows by much
//! within an iteration, or on another thread, has a charge.

use std::sync::Arc;

use honeycomb_memory::sync::{AtomicUsize, Ordering};

/// A total of bytes that all threads change. All accesses are relaxed: a slightly old total does no harm.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByteTotal(Arc<AtomicUsize>);

/// Bytes in a total. Dropping the charge subtracts them.
#[derive(Debug, Default)]
pub(crate) struct Charge {
    total: Option<ByteTotal>,
    bytes: usize,
}

impl ByteTotal {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Charge {
    /// Adds bytes to a total.
    pub(crate) fn new(total: &ByteTotal, bytes: usize) -> Self {
        total.add(bytes);
        Self { total: Some(total.clone()), bytes }
    }

    /// Changes the number of bytes. A charge without a total has none.
    pub(crate) fn set(&mut self, bytes: usize) {
        let Some(total) = &self.total else { return };
        match bytes.checked_sub(self.bytes) {
            Some(0) => {}
            Some(more) => total.add(more),
            None => total.subtract(self.bytes - bytes),
        }
        self.bytes = bytes;
    }

    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_the_sum_of_its_charges() {
        let total = ByteTotal::default();
        let (first, mut second) = (Charge::new(&total, 10), Charge::new(&total, 5));
        assert_eq!(total.get(), 15);
        second.set(50);
        assert_eq!((total.get(), second.bytes()), (60, 50));
        drop(first);
        second.set(7);
        assert_eq!(total.get(), 7);
        drop(second);
        assert_eq!(total.get(), 0);
        let mut none = Charge::default();
        none.set(9);
        assert_eq!(none.bytes(), 0);
    }
}
