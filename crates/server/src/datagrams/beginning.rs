//! Reads of pairs whose values may be longer than a reply.
//!
//! A packet contains hundreds of operations, and a value has up to 16 MiB. An operation that only finds that
//! a value is too long copies no more of it than shows that.

use honeycomb_store::{Error, TableHandle};

use crate::envelope::HEADER_BYTES_MAX;

/// Reads a pair. Of a pair with more than `data_bytes_max` bytes of data it reads only so much that the data
/// is still longer than that.
pub(super) fn read(table: &TableHandle, key: &[u8], data_bytes_max: usize) -> Result<Option<Vec<u8>>, Error> {
    let mut pair = Vec::new();
    let found = table.get_beginning(key, data_bytes_max + HEADER_BYTES_MAX + 1, &mut pair)?;
    Ok(found.then_some(pair))
}

/// Returns whether the pair that was read may continue.
pub(super) fn may_continue(pair: &[u8], data_bytes_max: usize) -> bool {
    pair.len() > data_bytes_max + HEADER_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use honeycomb_store::UnorderedConfig;

    use super::*;
    use crate::Config;
    use crate::envelope::Envelope;

    const MAX: usize = 4000;

    #[test]
    fn a_long_pair_is_read_as_far_as_its_data_is_too_long() {
        let store = Config { memory_bytes: 16 << 20, ..Config::default() }.open_store().unwrap();
        let unordered = store.unordered_table("unordered", UnorderedConfig::default()).unwrap();
        let tables = [TableHandle::Ordered(store.table("0").unwrap()), TableHandle::Unordered(unordered)];
        for table in &tables {
            assert_eq!(read(table, b"key", MAX).unwrap(), None);
            for (bytes, expires_at) in
                [0, 1, MAX - 1, MAX, MAX + 1, 1 << 20].into_iter().flat_map(|it| [(it, None), (it, Some(7))])
            {
                let sealed = Envelope { data: &vec![b'v'; bytes], expires_at }.seal();
                table.put(b"key", &sealed).unwrap();
                let pair = read(table, b"key", MAX).unwrap().unwrap();
                assert!(sealed.starts_with(&pair) && pair.len() <= MAX + HEADER_BYTES_MAX + 1);
                assert!(pair == sealed || may_continue(&pair, MAX), "{bytes}");
                let data = Envelope::open(&pair).unwrap().data;
                assert_eq!(data.len() > MAX, bytes > MAX, "{bytes}");
                assert!(bytes > MAX || pair == sealed, "{bytes}");
            }
        }
    }
}
