//! The two names of a buffer: its address, and the identifier of its node.

use std::num::NonZeroU64;

use honeycomb_layout as layout;

/// Bus address of a buffer: its offset in the arena, in bytes. Never 0, at most 48 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BusAddress(u64);

impl BusAddress {
    /// Returns `None` for 0, where no buffer begins, and for numbers of more than 48 bits.
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

    /// The address of a unit. Unit 0 has no address.
    pub(crate) fn of_unit(unit: usize) -> Self {
        Self::new((unit * layout::ALLOCATION_UNIT_BYTES) as u64).expect("unit 0 is never allocated")
    }

    /// The first unit of the buffer at this address.
    ///
    /// # Panics
    /// If the address is not a multiple of a unit, so that no buffer begins there.
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
    /// Returns `None` for 0, which identifies no node, and for numbers of more than 48 bits.
    #[must_use]
    #[inline]
    pub const fn new(lid: u64) -> Option<Self> {
        match NonZeroU64::new(lid) {
            Some(number) if lid >> layout::LID_BITS == 0 => Some(Self(number)),
            _ => None,
        }
    }

    /// The identifier as a number.
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
