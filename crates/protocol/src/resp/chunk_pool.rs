//! A pool of chunks for long replies.
//!
//! Mapping memory and clearing its pages takes the system far longer than filling the pages takes the server,
//! so replies reuse chunks. A pool has a limited number of chunks, and its owner frees them while no reply
//! needs any.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a chunk.
pub(super) const CHUNK_CAPACITY: usize = 384 << 10;

/// Chunks that no reply uses, for any threads.
#[derive(Debug)]
pub struct ChunkPool {
    pooled: Mutex<Pooled>,
    chunks_max: usize,
}

#[derive(Debug, Default)]
struct Pooled {
    chunks: Vec<Vec<u8>>,
    /// Whether a reply took a chunk since the last call of [`ChunkPool::shrink`].
    is_used: bool,
}

impl ChunkPool {
    /// Creates an empty pool of at most `bytes_max` bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { pooled: Mutex::default(), chunks_max: bytes_max / CHUNK_CAPACITY }
    }

    /// Returns the bytes of all chunks in the pool.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pooled().chunks.len() * CHUNK_CAPACITY
    }

    /// Frees at most `chunks` chunks, unless a reply took one since the last call. Returns whether the pool
    /// still has chunks.
    pub fn shrink(&self, chunks: usize) -> bool {
        let mut pooled = self.pooled();
        if std::mem::take(&mut pooled.is_used) {
            return !pooled.chunks.is_empty();
        }
        let left = pooled.chunks.len().saturating_sub(chunks);
        let freed = pooled.chunks.split_off(left);
        drop(pooled);
        drop(freed);
        left > 0
    }

    pub(super) fn take(&self) -> Vec<u8> {
        let mut pooled = self.pooled();
        pooled.is_used = true;
        let chunk = pooled.chunks.pop();
        drop(pooled);
        chunk.unwrap_or_else(|| Vec::with_capacity(CHUNK_CAPACITY))
    }

    /// Returns a chunk to the pool, or frees it if it has another capacity or the pool is full.
    pub(super) fn put(&self, mut chunk: Vec<u8>) {
        let mut pooled = self.pooled();
        if chunk.capacity() == CHUNK_CAPACITY && pooled.chunks.len() < self.chunks_max {
            chunk.clear();
            pooled.chunks.push(chunk);
        }
    }

    fn pooled(&self) -> MutexGuard<'_, Pooled> {
        self.pooled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_reused_up_to_the_limit_and_freed_while_unused() {
        let pool = ChunkPool::new(2 * CHUNK_CAPACITY);
        let mut chunks: Vec<_> = (0..3).map(|_| pool.take()).collect();
        chunks[2].push(7);
        let first = chunks[2].as_ptr();
        for chunk in chunks.into_iter().rev() {
            pool.put(chunk);
        }
        pool.put(vec![1, 2, 3]);
        assert_eq!(pool.bytes(), 2 * CHUNK_CAPACITY);
        assert!(pool.shrink(1), "a chunk was taken just now");
        assert!(pool.shrink(1));
        let chunk = pool.take();
        assert_eq!((chunk.as_ptr(), chunk.len()), (first, 0));
        assert!(!pool.shrink(1) && !pool.shrink(1));
        assert_eq!(pool.bytes(), 0);
    }
}
