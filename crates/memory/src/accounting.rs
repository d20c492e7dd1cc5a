//! Where the bytes of the arena are.

/// Bytes and counts of everything in a memory. Every byte of the arena is in exactly one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accounting {
    /// Bytes of the arena.
    pub arena_bytes: usize,
    /// Bytes that are never allocated: the first unit, so that bus address 0 is no buffer.
    pub reserved_bytes: usize,
    /// Bytes that any allocation may take.
    pub free_bytes: usize,
    /// Bytes of node buffers in free lists.
    pub free_list_bytes: usize,
    /// Node buffers in free lists.
    pub free_list_nodes: usize,
    /// Bytes of node buffers that are being built.
    pub private_node_bytes: usize,
    /// Node buffers that are being built.
    pub private_nodes: usize,
    /// Bytes of the buffers of published nodes.
    pub live_node_bytes: usize,
    /// Published nodes.
    pub live_nodes: usize,
    /// Bytes of node buffers that wait to be reclaimed.
    pub retired_node_bytes: usize,
    /// Node buffers that wait to be reclaimed.
    pub retired_nodes: usize,
    /// Bytes of value buffers that nothing names yet.
    pub private_value_bytes: usize,
    /// Value buffers that nothing names yet.
    pub private_values: usize,
    /// Bytes of the buffers of values, whole allocation units.
    pub live_value_bytes: usize,
    /// Values in buffers of their own.
    pub live_values: usize,
    /// Bytes of value buffers that wait to be reclaimed.
    pub retired_value_bytes: usize,
    /// Value buffers that wait to be reclaimed.
    pub retired_values: usize,
    /// LIDs that can be reserved.
    pub free_lids: usize,
    /// LIDs that are reserved and not kept.
    pub reserved_lids: usize,
    /// LIDs in use.
    pub live_lids: usize,
    /// LIDs that wait to be reclaimed.
    pub retired_lids: usize,
    /// Bytes of the page table that were ever in use.
    pub page_table_bytes: usize,
    /// Bytes beside arena and page table: bitmaps, links, kinds. Most are untouched where the arena is.
    pub overhead_bytes: usize,
}

impl Accounting {
    /// Checks that every byte of the arena is in one place. Holds whenever nothing is in flight in any
    /// thread.
    ///
    /// # Panics
    /// If bytes are lost, or counted twice.
    pub fn assert_complete(&self) {
        let places = [
            self.reserved_bytes,
            self.free_bytes,
            self.free_list_bytes,
            self.private_node_bytes,
            self.live_node_bytes,
            self.retired_node_bytes,
            self.private_value_bytes,
            self.live_value_bytes,
            self.retired_value_bytes,
        ];
        let sum: usize = places.iter().sum();
        assert_eq!(sum, self.arena_bytes, "the bytes of the arena do not add up: {self:#?}");
    }
}
