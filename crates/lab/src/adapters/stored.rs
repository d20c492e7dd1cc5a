//! The key and value types of generic maps.

use std::borrow::Borrow;

use crate::map::Failure;

/// A key or value of a generic map. Byte strings with a fixed size known at compile time are inline. All
/// others are boxed, which costs the map an allocation and a memory access for each.
pub(super) trait Stored:
    Borrow<Self::Lookup> + AsRef<[u8]> + Ord + Clone + Send + Sync + 'static
{
    /// The borrowed type for lookups, which needs no allocation.
    type Lookup: Ord + ?Sized;

    /// Copies bytes.
    ///
    /// # Errors
    /// Fails if the map was compiled for another size.
    fn from_bytes(bytes: &[u8]) -> Result<Self, Failure>;

    /// Borrows bytes for a lookup.
    ///
    /// # Errors
    /// Fails if the map was compiled for another size.
    fn lookup(bytes: &[u8]) -> Result<&Self::Lookup, Failure>;
}

impl<const BYTES: usize> Stored for [u8; BYTES] {
    type Lookup = [u8; BYTES];

    fn from_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        Self::lookup(bytes).copied()
    }

    fn lookup(bytes: &[u8]) -> Result<&Self, Failure> {
        bytes
            .try_into()
            .map_err(|_| format!("{} bytes, but this map was compiled for {BYTES}", bytes.len()).into())
    }
}

impl Stored for Box<[u8]> {
    type Lookup = [u8];

    fn from_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        Ok(bytes.into())
    }

    fn lookup(bytes: &[u8]) -> Result<&[u8], Failure> {
        Ok(bytes)
    }
}
