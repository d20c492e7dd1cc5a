//! The free units of the arena: a buddy system with trimmed tails.
//!
//! Free space consists of blocks of 2^k units that begin at multiples of 2^k. A bitmap for each k contains
//! the free blocks, so free units are not written. An allocation of n units takes the lowest of the smallest
//! sufficient blocks and frees all units after the nth. So no allocation is rounded up.

use honeycomb_layout as layout;

use crate::bitmap::Bitmap;
use crate::error::MemoryError;

/// Number of block sizes. The largest block has room for the longest value.
const ORDERS: usize = (layout::VALUE_BYTES_MAX / layout::ALLOCATION_UNIT_BYTES).ilog2() as usize + 1;

/// The free units of an arena. Unit 0 is never free.
#[derive(Debug)]
pub(crate) struct Buddy {
    orders: Vec<Bitmap>,
    free: usize,
    /// The end of all units that have ever been allocated.
    end: usize,
}

impl Buddy {
    /// Creates a buddy system in which all units except unit 0 are free.
    pub(crate) fn new(units: usize) -> Result<Self, MemoryError> {
        let orders = (0..ORDERS).map(|order| Bitmap::new(units >> order)).collect::<Result<_, _>>()?;
        let mut buddy = Self { orders, free: 0, end: 0 };
        buddy.free(1, units - 1);
        Ok(buddy)
    }

    /// Allocates `units` consecutive units. Returns the first, which is a multiple of their number rounded up
    /// to a power of two.
    pub(crate) fn allocate(&mut self, units: usize) -> Option<usize> {
        let smallest = units.next_power_of_two().ilog2() as usize;
        let mut fitting = (smallest..ORDERS).map(|order| (order, self.orders[order].first()));
        let (order, block) = fitting.find_map(|(order, block)| Some((order, block?)))?;
        self.orders[order].remove(block);
        let start = block << order;
        self.free -= 1 << order;
        self.free(start + units, (1 << order) - units);
        self.end = self.end.max(start + units);
        Some(start)
    }

    /// Frees `units` units from `start` on. They can be a part of an allocation, or several allocations.
    pub(crate) fn free(&mut self, mut start: usize, mut units: usize) {
        self.free += units;
        while units > 0 {
            let order = (start.trailing_zeros().min(units.ilog2()) as usize).min(ORDERS - 1);
            self.insert(start >> order, order);
            start += 1 << order;
            units -= 1 << order;
        }
    }

    /// Inserts a free block, and merges it with its buddy as long as the buddy is free too.
    fn insert(&mut self, mut block: usize, mut order: usize) {
        while order + 1 < ORDERS && self.orders[order].contains(block ^ 1) {
            self.orders[order].remove(block ^ 1);
            block /= 2;
            order += 1;
        }
        self.orders[order].insert(block);
    }

    pub(crate) fn free_units(&self) -> usize {
        self.free
    }

    /// The end of all units that have ever been allocated.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// Bytes of the bitmaps.
    pub(crate) fn overhead_bytes(&self) -> usize {
        self.orders.iter().map(Bitmap::bytes).sum()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use honeycomb_testing::{Random, seed};

    /// A model of the allocator with a flag for each unit.
    struct Model {
        allocated: Vec<bool>,
        extents: Vec<(usize, usize)>,
    }

    impl Model {
        fn allocate(&mut self, start: usize, units: usize) {
            assert!(start.is_multiple_of(units.next_power_of_two()), "{units} units at {start}");
            let range = &mut self.allocated[start..start + units];
            assert!(range.iter().all(|allocated| !allocated), "{units} units at {start} overlap others");
            range.fill(true);
            self.extents.push((start, units));
        }

        fn free(&mut self, index: usize) -> (usize, usize) {
            let (start, units) = self.extents.swap_remove(index);
            self.allocated[start..start + units].fill(false);
            (start, units)
        }

        /// Whether a block of `units` units, which is a power of two, is free.
        fn has_block(&self, units: usize) -> bool {
            self.allocated.chunks_exact(units).any(|block| block.iter().all(|allocated| !allocated))
        }

        fn free_units(&self) -> usize {
            self.allocated.iter().filter(|allocated| !**allocated).count()
        }
    }

    fn blocks(buddy: &Buddy, units: usize) -> Vec<(usize, usize)> {
        let all = (0..ORDERS).flat_map(|order| (0..=units >> order).map(move |block| (order, block)));
        all.filter(|&(order, block)| buddy.orders[order].contains(block)).collect()
    }

    fn run(units: usize, largest: usize, steps: usize, random: &mut Random) {
        let mut buddy = Buddy::new(units).unwrap();
        let fresh = blocks(&buddy, units);
        let mut model = Model { allocated: vec![false; units], extents: Vec::new() };
        model.allocated[0] = true;
        for step in 0..steps {
            // Phases of mostly allocations alternate with phases of mostly frees.
            let filling = (step * 8 / steps).is_multiple_of(2);
            if random.below(4) < if filling { 3 } else { 1 } {
                // Small and large allocations are equally frequent.
                let requested = 1 + random.below(largest) % (1 << random.below(largest.ilog2() as usize + 1));
                match buddy.allocate(requested) {
                    Some(start) => model.allocate(start, requested),
                    None => {
                        assert!(!model.has_block(requested.next_power_of_two()), "{requested} units fit");
                    }
                }
            } else if !model.extents.is_empty() {
                let (start, units) = model.free(random.below(model.extents.len()));
                buddy.free(start, units);
            }
            if step % 64 == 0 {
                assert_eq!(buddy.free_units(), model.free_units());
            }
        }
        while !model.extents.is_empty() {
            let (start, units) = model.free(random.below(model.extents.len()));
            buddy.free(start, units);
        }
        assert_eq!(buddy.free_units(), units - 1);
        assert_eq!(blocks(&buddy, units), fresh, "all blocks are merged again");
    }

    #[test]
    fn agrees_with_a_model() {
        let mut random = Random::new(seed());
        for units in [2, 3, 64, 1000, 1024, 4097] {
            run(units, units.min(128), 4000, &mut random);
        }
        // Extents up to the longest value, in an arena with room for a few of these.
        run(5 * (1 << (ORDERS - 1)) + 77, 1 << (ORDERS - 1), 2000, &mut random);
    }

    #[test]
    fn allocates_the_lowest_of_the_smallest_blocks() {
        let mut buddy = Buddy::new(64).unwrap();
        assert_eq!(buddy.allocate(16), Some(16), "unit 0 is not free");
        assert_eq!(buddy.allocate(3), Some(4));
        assert_eq!(buddy.allocate(1), Some(1));
        assert_eq!(buddy.allocate(1), Some(7), "the tail of the three");
        assert_eq!(buddy.allocate(32), Some(32));
        assert_eq!(buddy.allocate(16), None);
        buddy.free(16, 16);
        assert_eq!(buddy.allocate(9), Some(16));
        assert_eq!(buddy.free_units(), 63 - 16 + 16 - 3 - 1 - 1 - 32 - 9);
    }
}
