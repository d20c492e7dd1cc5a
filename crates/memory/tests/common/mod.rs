//! What the tests of this crate share.
#![allow(dead_code, reason = "no test uses all of it")]

use honeycomb_memory::{BusAddress, Lid, LockAndSize, Memory, MemoryConfig};

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
    let mut buffer = memory.allocate_node().expect("there is room");
    let word = LockAndSize::new(64 + body.len(), 0);
    buffer[..8].copy_from_slice(&u64::from(word).to_le_bytes());
    buffer[16..24].copy_from_slice(&previous.map_or(0, BusAddress::get).to_le_bytes());
    buffer[64..64 + body.len()].copy_from_slice(body);
    memory.map(lid, buffer);
}

/// The address of the buffer that a LID is mapped to.
pub(crate) fn node_at(memory: &Memory, lid: Lid) -> BusAddress {
    memory.node(&memory.pin(), lid).address()
}

/// Reproducible numbers; the seed is to be printed where a test fails.
pub(crate) struct Random(u64);

impl Random {
    /// Any seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number (splitmix64).
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// A seed that differs from run to run, or the one in `HONEYCOMB_SEED`.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("HONEYCOMB_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = given.unwrap_or_else(|| now.map_or(1, |now| now.as_nanos() as u64));
    println!("HONEYCOMB_SEED={seed}");
    seed
}
