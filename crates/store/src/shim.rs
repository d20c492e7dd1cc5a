//! Temporary.
#![allow(missing_docs)]
use crate::Reads;
impl Reads {
    pub fn with_limits(bytes_max: usize, _v: usize) -> Self {
        Self::with_bytes_max(bytes_max)
    }
}
