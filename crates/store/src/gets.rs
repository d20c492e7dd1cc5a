//! Gets of a batch of reads, of the newest version.

use honeycomb_memory::short_bytes;

/// Gets in the order of their addition, each with what chooses its table.
#[derive(Debug, Clone)]
pub(crate) struct Gets<T> {
    gets: Vec<Get<T>>,
    /// The concatenated keys.
    keys: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Get<T> {
    /// The position of the read in its batch.
    read: usize,
    table: T,
    key_start: usize,
    key_end: usize,
}

impl<T> Default for Gets<T> {
    fn default() -> Self {
        Self { gets: Vec::new(), keys: Vec::new() }
    }
}

impl<T: Copy> Gets<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.gets.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.gets.len()
    }

    /// Removes all gets and keeps the buffers.
    pub(crate) fn clear(&mut self) {
        self.gets.clear();
        self.keys.clear();
    }

    /// Adds a get for the read at a position. The key has a valid length.
    #[inline(always)]
    pub(crate) fn push(&mut self, table: T, read: usize, key: &[u8]) {
        let key_start = self.keys.len();
        short_bytes::append(key, &mut self.keys);
        self.gets.push(Get { read, table, key_start, key_end: self.keys.len() });
    }

    /// Some of the gets, by their indexes: their tables and keys.
    #[inline]
    pub(crate) fn part(&self, first: usize, end: usize) -> impl Iterator<Item = (T, &[u8])> + Clone {
        self.gets[first..end].iter().map(|get| (get.table, &self.keys[get.key_start..get.key_end]))
    }

    /// The position of the read of a get.
    #[inline]
    pub(crate) fn read(&self, index: usize) -> usize {
        self.gets[index].read
    }
}
