//! Temporary.
#![allow(missing_docs)]
use crate::{Error, Reads, Snapshot, Table};
impl Reads {
    pub fn with_limits(bytes_max: usize, _v: usize) -> Self {
        Self::with_bytes_max(bytes_max)
    }
}
impl Snapshot {
    pub fn get_part(
        &self,
        table: &Table,
        key: &[u8],
        offset: usize,
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, Error> {
        Ok(self.get(table, key)?.map(|v| {
            out.extend_from_slice(&v[offset.min(v.len())..(offset + length).min(v.len())]);
            v.len()
        }))
    }
}
