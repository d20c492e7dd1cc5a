//! The log block of a leaf at a read version.

use honeycomb_btree::Version;
use honeycomb_layout::log_word;
use honeycomb_memory::crc32c;

use crate::device_model::Fault;
use crate::device_model::node::{Item, Node};

#[derive(Clone, Copy)]
pub(super) struct Entry<'n> {
    /// Index of the first sorted item whose key is not smaller.
    pub(super) back_pointer: usize,
    order_hint: usize,
    pub(super) version: Version,
    pub(super) item: Item<'n>,
}

/// Returns the entries at or below a version in order of arrival, which is the order of their versions.
pub(super) fn visible(node: &Node, read_version: Version) -> Result<Vec<Entry<'_>>, Fault> {
    let mut entries = Vec::new();
    for index in 0..node.log_count() {
        let word = node.log_word(index)?;
        let entry = Entry {
            back_pointer: log_word::back_pointer(word) as usize,
            order_hint: log_word::order_hint(word) as usize,
            version: node.version().checked_add(log_word::version_delta(word)).ok_or(Fault)?,
            item: node.entry(4 * log_word::entry_offset(word) as usize)?,
        };
        if entry.version > read_version {
            break;
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Returns the newest entry of a key. Skips entries with other fingerprints.
pub(super) fn newest<'n>(node: &Node, entries: &[Entry<'n>], suffix: &[u8]) -> Option<Entry<'n>> {
    let fingerprint = crc32c(suffix) as u8;
    let may_match = |index: usize| node.fingerprint(index).is_none_or(|other| other == fingerprint);
    let mut candidates = entries.iter().enumerate().filter(|(index, _)| may_match(*index));
    candidates.rfind(|(_, entry)| entry.item.suffix() == suffix).map(|(_, entry)| *entry)
}

/// Sorts the entries by key and keeps only the newest entry of each key.
pub(super) fn in_key_order(entries: Vec<Entry<'_>>) -> Result<Vec<Entry<'_>>, Fault> {
    let mut order: Vec<Entry<'_>> = Vec::new();
    for entry in entries {
        if entry.order_hint > order.len() {
            return Err(Fault);
        }
        order.insert(entry.order_hint, entry);
    }
    // An older entry of the same key follows an entry that repeats its key.
    let mut is_older = false;
    order.retain(|entry| !std::mem::replace(&mut is_older, entry.item.repeats()));
    Ok(order)
}
