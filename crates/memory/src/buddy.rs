//! The free units of the arena: a buddy system with trimmed tails.
//!
//! Free space is kept as blocks of 2^k units that begin at multiples of 2^k, in a bitmap for each k: nothing is
//! written into free units. An allocation of n units takes the lowest of the smallest blocks that hold it and gives
//! back all behind the nth unit, so that no allocation is rounded up.

use honeycomb_layout as layout;

use crate::bitmap::Bitmap;
use crate::error::MemoryError;

/// The largest block holds the longest value.
const ORDERS: usize = (layout::VALUE_BYTES_MAX / layout::ALLOCATION_UNIT_BYTES).ilog2() as usize + 1;

/// The free units of an arena. Unit 0 is never free.
#[derive(Debug)]
pub(crate) struct Buddy {
    orders: Vec<Bitmap>,
    free: usize,
}

impl Buddy {
    /// All units free, but for unit 0.
    pub(crate) fn new(units: usize) -> Result<Self, MemoryError> {
        let orders = (0..ORDERS).map(|order| Bitmap::new(units >> order)).collect::<Result<_, _>>()?;
        let mut buddy = Self { orders, free: 0 };
        buddy.free(1, units - 1);
        Ok(buddy)
    }

    /// The first of `units` units in a row, at a multiple of their number rounded up to a power of two.
    pub(crate) fn allocate(&mut self, units: usize) -> Option<usize> {
        let smallest = units.next_power_of_two().ilog2() as usize;
        let mut fitting = (smallest..ORDERS).map(|order| (order, self.orders[order].first()));
        let (order, block) = fitting.find_map(|(order, block)| Some((order, block?)))?;
        self.orders[order].remove(block);
        let start = block << order;
        self.free -= 1 << order;
        self.free(start + units, (1 << order) - units);
        Some(start)
    }

    /// Gives back `units` units from `start` on, whether they were allocated at once or not.
    pub(crate) fn free(&mut self, mut start: usize, mut units: usize) {
        self.free += units;
        while units > 0 {
            let order = (start.trailing_zeros().min(units.ilog2()) as usize).min(ORDERS - 1);
            self.insert(start >> order, order);
            start += 1 << order;
            units -= 1 << order;
        }
    }

    /// Makes a block free, joined with its buddy as long as that one is free too.
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

    /// Bytes of the bitmaps.
    pub(crate) fn overhead_bytes(&self) -> usize {
        self.orders.iter().map(Bitmap::bytes).sum()
    }
}
