//! The accounting of a memory.

/// The bytes and objects of a memory by their use. Every byte of the arena has exactly one use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accounting {
    /// Bytes of the arena.
    pub arena_bytes: usize,
    /// Bytes that are never allocated: the first unit, so that no buffer has bus address 0.
    pub reserved_bytes: usize,
    /// Bytes that are free for any allocation.
    pub free_bytes: usize,
    /// Bytes of node buffers in free lists.
    pub free_list_bytes: usize,
    /// Node buffers in free lists.
    pub free_list_nodes: usize,
    /// Bytes of unpublished node buffers.
    pub private_node_bytes: usize,
    /// Unpublished node buffers.
    pub private_nodes: usize,
    /// Bytes of the buffers of published nodes.
    pub live_node_bytes: usize,
    /// Published nodes.
    pub live_nodes: usize,
    /// Bytes of retired node buffers.
    pub retired_node_bytes: usize,
    /// Retired node buffers.
    pub retired_nodes: usize,
    /// Bytes of unpublished value buffers.
    pub private_value_bytes: usize,
    /// Unpublished value buffers.
    pub private_values: usize,
    /// Bytes of the buffers of overflow values, in whole allocation units.
    pub live_value_bytes: usize,
    /// Overflow values.
    pub live_values: usize,
    /// Bytes of retired value buffers.
    pub retired_value_bytes: usize,
    /// Retired value buffers.
    pub retired_values: usize,
    /// Bytes of the pages of unordered tables.
    pub live_table_page_bytes: usize,
    /// Bytes of retired pages of unordered tables.
    pub retired_table_page_bytes: usize,
    /// LIDs that can be reserved.
    pub free_lids: usize,
    /// Reserved LIDs that are not live yet.
    pub reserved_lids: usize,
    /// LIDs in use.
    pub live_lids: usize,
    /// Retired LIDs.
    pub retired_lids: usize,
    /// Bytes of the page table that have ever been in use.
    pub page_table_bytes: usize,
    /// The end of the bytes of the arena that [`Memory::commit_ahead`](crate::Memory::commit_ahead) has
    /// committed.
    pub committed_bytes: usize,
    /// Bytes of bitmaps, links and kinds, in addition to arena and page table. Pages of them are committed
    /// only for used parts of the arena.
    pub overhead_bytes: usize,
}

impl Accounting {
    /// Checks that every byte of the arena has one use. This is true whenever no thread allocates or frees
    /// memory.
    ///
    /// # Panics
    /// If bytes are lost, or counted twice.
    pub fn assert_complete(&self) {
        let uses = [
            self.reserved_bytes,
            self.free_bytes,
            self.free_list_bytes,
            self.private_node_bytes,
            self.live_node_bytes,
            self.retired_node_bytes,
            self.private_value_bytes,
            self.live_value_bytes,
            self.retired_value_bytes,
            self.live_table_page_bytes,
            self.retired_table_page_bytes,
        ];
        let sum: usize = uses.iter().sum();
        assert_eq!(sum, self.arena_bytes, "the sum of all uses is not the size of the arena: {self:#?}");
    }
}
