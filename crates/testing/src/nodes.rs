//! Memories and nodes for tests without a tree.

use honeycomb_memory::{BusAddress, Lid, LockAndSize, Memory, MemoryConfig, MemoryError};

/// Bytes of an allocation unit.
pub const UNIT: usize = honeycomb_layout::ALLOCATION_UNIT_BYTES;

/// Creates a memory with room for `nodes` nodes of 8 KiB.
///
/// # Panics
/// If the system provides no memory.
#[must_use]
pub fn memory(nodes: usize) -> Memory {
    let config = MemoryConfig { arena_bytes: nodes * 8192, huge_pages: false, ..MemoryConfig::default() };
    Memory::new(config).expect("a small arena can be reserved")
}

/// Maps a new LID to a node whose bytes from offset 64 on are `body`.
///
/// # Panics
/// If there is no room.
pub fn new_node(memory: &Memory, body: &[u8]) -> Lid {
    let lid = memory.reserve_lid().expect("a LID is free").keep();
    map_node(memory, lid, body, None);
    lid
}

/// Maps a LID to a new node with a body and a previous version.
///
/// # Panics
/// If there is no room.
pub fn map_node(memory: &Memory, lid: Lid, body: &[u8], previous: Option<BusAddress>) {
    try_map_node(memory, lid, body, previous).expect("there is room");
}

/// Like [`map_node`], but returns an error if there is no room.
///
/// # Errors
/// [`MemoryError::Exhausted`] if there is no room.
pub fn try_map_node(
    memory: &Memory,
    lid: Lid,
    body: &[u8],
    previous: Option<BusAddress>,
) -> Result<(), MemoryError> {
    let mut buffer = memory.allocate_node()?;
    let word = LockAndSize::new(64 + body.len(), 0);
    buffer[..8].copy_from_slice(&u64::from(word).to_le_bytes());
    buffer[16..24].copy_from_slice(&previous.map_or(0, BusAddress::get).to_le_bytes());
    buffer[64..64 + body.len()].copy_from_slice(body);
    memory.map(lid, buffer);
    Ok(())
}

/// Returns the address of the current buffer of a LID.
#[must_use]
pub fn node_at(memory: &Memory, lid: Lid) -> BusAddress {
    memory.node(&memory.pin(), lid).address()
}
