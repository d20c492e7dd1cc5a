//! What the tests of this crate share.
#![allow(dead_code, reason = "no test uses all of it")]

mod random;

#[allow(unused_imports, reason = "no test uses all of it")]
pub(crate) use random::{Random, seed};

use honeycomb_memory::{BusAddress, Lid, LockAndSize, Memory, MemoryConfig, MemoryError};

/// Bytes of an allocation unit.
pub(crate) const UNIT: usize = honeycomb_layout::ALLOCATION_UNIT_BYTES;

/// A memory of as many nodes of 8 KiB.
pub(crate) fn memory(nodes: usize) -> Memory {
    let config = MemoryConfig { arena_bytes: nodes * 8192, huge_pages: false, ..MemoryConfig::default() };
    Memory::new(config).expect("a small arena can be reserved")
}

/// A new LID, mapped to a node whose bytes from offset 64 on are `body`.
pub(crate) fn new_node(memory: &Memory, body: &[u8]) -> Lid {
    let lid = memory.reserve_lid().expect("a LID is left").keep();
    map_node(memory, lid, body, None);
    lid
}

/// Maps a LID to a new node with a body and a previous version.
pub(crate) fn map_node(memory: &Memory, lid: Lid, body: &[u8], previous: Option<BusAddress>) {
    try_map_node(memory, lid, body, previous).expect("there is room");
}

/// The same, where there may be no room.
pub(crate) fn try_map_node(
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

/// The address of the buffer that a LID is mapped to.
pub(crate) fn node_at(memory: &Memory, lid: Lid) -> BusAddress {
    memory.node(&memory.pin(), lid).address()
}
