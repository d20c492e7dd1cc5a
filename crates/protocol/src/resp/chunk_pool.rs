//! A pool of chunks for long replies.
//!
//! The system takes far longer to map memory and to clear its pages than a server takes to fill it, so chunks
//! are used again. A pool holds a limited number of chunks, and its owner frees them while nobody takes any.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a chunk.
pub(super) const CHUNK_CAPACITY: usize = 384 << 10;

/// Chunks that no reply uses, for any threads.
#[derive(Debug)]
pub struct ChunkPool {
    chunks: Mutex<Vec<Vec<u8>>>,
    chunks_max: usize,
    /// A chunk was taken since [`ChunkPool::shrink`] last looked.
    is_used: AtomicBool,
}

impl ChunkPool {
    /// An empty pool that holds at most so many bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        let chunks_max = bytes_max / CHUNK_CAPACITY;
        Self { chunks: Mutex::default(), chunks_max, is_used: AtomicBool::new(false) }
    }

    /// Bytes of the chunks in the pool.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.chunks().len() * CHUNK_CAPACITY
    }

    /// Frees at most so many chunks, unless one was taken since the last call. Returns whether chunks are left.
    pub fn shrink(&self, chunks: usize) -> bool {
        let mut pooled = self.chunks();
        if self.is_used.swap(false, Ordering::Relaxed) {
            return !pooled.is_empty();
        }
        let left = pooled.len().saturating_sub(chunks);
        let freed = pooled.split_off(left);
        drop(pooled);
        drop(freed);
        left > 0
    }

    pub(super) fn take(&self) -> Vec<u8> {
        self.is_used.store(true, Ordering::Relaxed);
        let pooled = self.chunks().pop();
        pooled.unwrap_or_else(|| Vec::with_capacity(CHUNK_CAPACITY))
    }

    /// Takes a buffer back, if it is a chunk and there is room for it. Frees it otherwise.
    pub(super) fn put(&self, mut chunk: Vec<u8>) {
        let mut pooled = self.chunks();
        if chunk.capacity() == CHUNK_CAPACITY && pooled.len() < self.chunks_max {
            chunk.clear();
            pooled.push(chunk);
        }
    }

    fn chunks(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_used_again_up_to_the_limit_and_freed_while_none_is_taken() {
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
