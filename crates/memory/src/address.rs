//! The two ways to name a buffer: where it is, and which node it is.

use std::num::NonZeroU64;

use honeycomb_layout as layout;

/// Bus address of a buffer: its offset in the arena, in bytes. Never 0, at most 48 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BusAddress(u64);

impl BusAddress {
    /// None for 0, which names no buffer, and for what is wider than 48 bits.
    #[must_use]
    #[inline]
    pub const fn new(address: u64) -> Option<Self> {
        if address == 0 || address >> layout::BUS_ADDRESS_BITS != 0 { None } else { Some(Self(address)) }
    }

    /// The offset, in bytes.
    #[must_use]
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The address of a unit; the first one holds no buffer.
    pub(crate) fn of_unit(unit: usize) -> Self {
        Self::new((unit * layout::ALLOCATION_UNIT_BYTES) as u64).expect("unit 0 is never allocated")
    }

    /// The unit a buffer begins at.
    ///
    /// # Panics
    /// If no buffer begins here.
    pub(crate) fn unit(self) -> usize {
        let address = self.0 as usize;
        assert!(
            address.is_multiple_of(layout::ALLOCATION_UNIT_BYTES),
            "bus address {address:#x} is not the start of a buffer"
        );
        address / layout::ALLOCATION_UNIT_BYTES
    }
}

/// Logical identifier of a node. Never 0, at most 48 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lid(NonZeroU64);

impl Lid {
    /// None for 0, which names no node, and for what is wider than 48 bits.
    #[must_use]
    #[inline]
    pub const fn new(lid: u64) -> Option<Self> {
        match NonZeroU64::new(lid) {
            Some(number) if lid >> layout::LID_BITS == 0 => Some(Self(number)),
            _ => None,
        }
    }

    /// The number.
    #[must_use]
    #[inline]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0.get() as usize
    }
}
