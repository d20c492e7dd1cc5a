//! The log block of a leaf, as a read version sees it.

use honeycomb_btree::Version;
use honeycomb_layout::log_entry_header as header;
use honeycomb_memory::crc32c;

use crate::device::model::node::{Item, Node};
use crate::device::model::{Fault, number};

#[derive(Clone, Copy)]
pub(super) struct Entry<'n> {
    /// Offset of the first sorted item whose key is not smaller.
    pub(super) back_pointer: usize,
    order_hint: usize,
    pub(super) version: Version,
    pub(super) item: Item<'n>,
}

/// The entries that a version sees, in the order of their arrival, which is that of their versions.
pub(super) fn visible(node: &Node, read_version: Version) -> Result<Vec<Entry<'_>>, Fault> {
    let (mut entries, mut offset) = (Vec::new(), node.sorted_end);
    for _ in 0..node.log_count() {
        let field = |at, bytes| number(node.bytes(), offset + at, bytes);
        let delta = field(header::VERSION_DELTA_OFFSET, header::VERSION_DELTA_BYTES)?;
        let entry = Entry {
            back_pointer: field(header::BACK_POINTER_OFFSET, header::BACK_POINTER_BYTES)? as usize,
            order_hint: field(header::ORDER_HINT_OFFSET, header::ORDER_HINT_BYTES)? as usize,
            version: node.version().checked_add(delta).ok_or(Fault)?,
            item: node.item(offset + header::SIZE, node.bytes().len())?,
        };
        if entry.version > read_version {
            break;
        }
        offset = entry.item.end;
        entries.push(entry);
    }
    Ok(entries)
}

/// The newest entry of a key. Entries with other tags are passed over.
pub(super) fn newest<'n>(node: &Node, entries: &[Entry<'n>], suffix: &[u8]) -> Option<Entry<'n>> {
    let tag = crc32c(suffix) as u8;
    let may_be = |index: usize| node.tag(index).is_none_or(|other| other == tag);
    let mut of_key = entries.iter().enumerate().filter(|(index, _)| may_be(*index));
    of_key.rfind(|(_, entry)| entry.item.suffix == suffix).map(|(_, entry)| *entry)
}

/// The entries in the order of their keys, of each key the newest alone.
pub(super) fn in_key_order(entries: Vec<Entry<'_>>) -> Result<Vec<Entry<'_>>, Fault> {
    let mut order: Vec<Entry<'_>> = Vec::new();
    for entry in entries {
        if entry.order_hint > order.len() {
            return Err(Fault);
        }
        order.insert(entry.order_hint, entry);
    }
    // After one that repeats a key stands an older one of it.
    let mut is_older = false;
    order.retain(|entry| !std::mem::replace(&mut is_older, entry.item.repeats()));
    Ok(order)
}
