//! What maps that hold typed keys and values hold.

use std::borrow::Borrow;

use crate::map::Failure;

/// A key or value inside a map that is generic over them. Byte strings of one size that the map was compiled
/// for lie inline; all others lie in boxes, which costs their map an allocation and a step in memory each.
pub(super) trait Stored:
    Borrow<Self::Asked> + AsRef<[u8]> + Ord + Clone + Send + Sync + 'static
{
    /// What it is looked up by, without being made.
    type Asked: Ord + ?Sized;

    /// Made of bytes.
    fn stored(bytes: &[u8]) -> Result<Self, Failure>;

    /// What bytes are looked up by.
    fn asked(bytes: &[u8]) -> Result<&Self::Asked, Failure>;
}

impl<const BYTES: usize> Stored for [u8; BYTES] {
    type Asked = [u8; BYTES];

    fn stored(bytes: &[u8]) -> Result<Self, Failure> {
        Self::asked(bytes).copied()
    }

    fn asked(bytes: &[u8]) -> Result<&Self, Failure> {
        bytes
            .try_into()
            .map_err(|_| format!("{} bytes, this map was compiled for {BYTES}", bytes.len()).into())
    }
}

impl Stored for Box<[u8]> {
    type Asked = [u8];

    fn stored(bytes: &[u8]) -> Result<Self, Failure> {
        Ok(bytes.into())
    }

    fn asked(bytes: &[u8]) -> Result<&[u8], Failure> {
        Ok(bytes)
    }
}
