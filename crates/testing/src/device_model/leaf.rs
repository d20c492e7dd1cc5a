//! The contents of a leaf at a read version.

use honeycomb_btree::Version;

use crate::device_model::Fault;
use crate::device_model::log::{in_key_order, newest, visible};
use crate::device_model::node::{Item, Node, Value};

/// The part of a leaf that a scan needs.
pub(super) struct Leaf {
    /// In key order.
    pub(super) pairs: Vec<Pair>,
    pub(super) low_fence: Vec<u8>,
    pub(super) high_fence: Option<Vec<u8>>,
    /// LIDs of the siblings; 0 at the edges of the tree.
    pub(super) left: u64,
    pub(super) right: u64,
}

pub(super) struct Pair {
    pub(super) key: Vec<u8>,
    pub(super) value: Value,
}

impl Leaf {
    pub(super) fn read(node: &Node, read_version: Version) -> Result<Self, Fault> {
        Ok(Self {
            pairs: pairs(node, read_version)?,
            low_fence: node.low_fence()?.to_vec(),
            high_fence: node.high_fence()?,
            left: node.left(),
            right: node.right(),
        })
    }
}

/// Merges the sorted block and the log block: an entry precedes the sorted item at its back pointer, or
/// replaces it.
fn pairs(node: &Node, read_version: Version) -> Result<Vec<Pair>, Fault> {
    let prefix = node.prefix()?;
    let pair = |item: &Item<'_>| {
        let key = [prefix, &item.suffix()].concat();
        item.value().map(|value| Pair { key, value })
    };
    let mut log = in_key_order(visible(node, read_version)?)?.into_iter().peekable();
    let mut pairs = Vec::new();
    for index in 0..=node.count() {
        let mut item = (index < node.count()).then(|| node.item(index)).transpose()?;
        while let Some(entry) = log.next_if(|entry| entry.back_pointer == index) {
            if entry.item.replaces() {
                item = None;
            }
            if !entry.item.is_tombstone() {
                pairs.push(pair(&entry.item)?);
            }
        }
        pairs.extend(item.map(|item| pair(&item)).transpose()?);
    }
    // The back pointer of a remaining entry is not the index of an item.
    if log.next().is_some() { Err(Fault) } else { Ok(pairs) }
}

/// Returns the value of a key and the version of the pair.
pub(super) fn get(node: &Node, read_version: Version, key: &[u8]) -> Result<Option<(Value, Version)>, Fault> {
    let suffix = key.strip_prefix(node.prefix()?).ok_or(Fault)?;
    if let Some(entry) = newest(node, &visible(node, read_version)?, suffix) {
        let value = (!entry.item.is_tombstone()).then(|| entry.item.value()).transpose()?;
        return Ok(value.map(|value| (value, entry.version)));
    }
    for index in node.first_with_head(suffix)?..node.count() {
        let item = node.item(index)?;
        if *item.suffix() >= *suffix {
            let is_key = item.suffix() == suffix;
            return is_key.then(|| item.value().map(|value| (value, node.version()))).transpose();
        }
    }
    Ok(None)
}
