//! The contents of a memory: the pages that were written. All other bytes are zero.

use std::collections::HashMap;

use super::LINE_BYTES;

/// The bytes of a line.
pub(super) type Line = [u8; LINE_BYTES];

/// Pages by number.
#[derive(Debug, Default)]
pub(super) struct Pages(HashMap<u64, Box<[u8; PAGE_BYTES]>>);

const PAGE_BYTES: usize = 4096;

impl Pages {
    /// Returns the line at an address.
    pub(super) fn line(&self, address: u64) -> Line {
        let within = address as usize % PAGE_BYTES;
        let page = self.0.get(&(address / PAGE_BYTES as u64));
        page.map_or([0; LINE_BYTES], |page| {
            let mut line = [0; LINE_BYTES];
            line.copy_from_slice(&page[within..within + LINE_BYTES]);
            line
        })
    }

    /// Returns the line at an address, to change it.
    pub(super) fn line_mut(&mut self, address: u64) -> &mut [u8] {
        let within = address as usize % PAGE_BYTES;
        let page = self.0.entry(address / PAGE_BYTES as u64).or_insert_with(|| Box::new([0; PAGE_BYTES]));
        &mut page[within..within + LINE_BYTES]
    }
}

/// Returns the address of the line with a byte.
pub(super) fn line_address(address: u64) -> u64 {
    address - address % LINE_BYTES as u64
}
