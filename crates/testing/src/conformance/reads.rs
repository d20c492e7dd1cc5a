//! Random reads.

use std::ops::Bound;

use honeycomb_accelerator::{Read, Request, Requests};
use honeycomb_btree::{Scan, Version};
use honeycomb_layout::KEY_BYTES_MAX;

use crate::conformance::world::World;

impl World {
    /// Creates random requests. Their identifiers are random too, so they differ.
    pub(super) fn requests(&mut self, count: usize) -> Requests {
        let mut requests = Requests::default();
        for _ in 0..count {
            self.push_request(&mut requests);
        }
        requests
    }

    pub(super) fn push_request(&mut self, requests: &mut Requests) {
        let table = if self.random.chance(2) { 77 } else { self.table() };
        let (identifier, version) = (self.random.next(), self.version());
        if self.random.chance(10) {
            return self.push_function(requests, (identifier, table, version));
        }
        let mut push = |read| {
            let request = Request { identifier, table, version, read };
            requests.push(&request).expect("the keys are not too long");
        };
        if self.random.chance(60) {
            return push(Read::Get(&self.any_key(table)));
        }
        let (lower, upper) = (self.bound(table), self.bound(table));
        let backward = self.random.chance(40);
        let scan = Scan {
            lower: lower.as_ref().map(Vec::as_slice),
            upper: upper.as_ref().map(Vec::as_slice),
            floor_start: !backward && self.random.chance(40),
            backward,
            keys_only: self.random.chance(20),
            limit: self.random.pick(&[0, 1, 3, 4, 10, 127, 128, 129, 256, u32::MAX as usize]),
        };
        let bytes_max = self.random.pick(&[0, 1, 100, 3_000, u32::MAX, u32::MAX, u32::MAX, u32::MAX]);
        push(Read::Scan { scan, bytes_max });
    }

    /// Picks mostly no version, sometimes a pinned version, seldom an arbitrary number.
    fn version(&mut self) -> Option<Version> {
        let pinned: Vec<Version> = self.pinned.keys().copied().filter(|version| *version > 0).collect();
        match self.random.below(20) {
            0 => Some(1 + self.random.next() % 1_000_000),
            1..7 if !pinned.is_empty() => Some(self.random.pick(&pinned)),
            _ => None,
        }
    }

    /// Picks mostly a key of the table, seldom random bytes.
    fn any_key(&mut self, table: u16) -> Vec<u8> {
        if self.random.chance(90) {
            return self.key(table);
        }
        let length = 1 + self.random.below(KEY_BYTES_MAX);
        self.random.bytes(length)
    }

    pub(super) fn bound(&mut self, table: u16) -> Bound<Vec<u8>> {
        match self.random.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(self.any_key(table)),
            _ => Bound::Excluded(self.any_key(table)),
        }
    }
}
