//! A map without content.

use std::hint::black_box;

use crate::map::{Copied, Failure, OrderedMap};

/// A map that does no work and reports success for every operation. It shows the overhead of the benchmark.
pub struct Nothing;

impl OrderedMap for Nothing {
    type Items = Copied;

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        black_box((key, value));
        Ok(())
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        black_box((key, value));
        Ok(true)
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        black_box((key, value));
        Ok(true)
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut Copied) -> Result<usize, Failure> {
        black_box((from, items));
        Ok(limit)
    }
}
