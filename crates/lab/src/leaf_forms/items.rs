//! A column of heads of eight bytes, and items of one length after it: of all forms but the short heads.

use super::form::{Key, Leaf, PAIRS, VALUE_BYTES};

/// Bytes of a head.
pub(super) const HEAD_BYTES: usize = 8;
/// The rest of the key and the value.
pub(super) const ITEM_BYTES: usize = 8 + VALUE_BYTES;

/// Appends the heads and the items of a leaf.
pub(super) fn append(keys: &[Key], body: &mut Vec<u8>) {
    body.extend(keys.iter().flat_map(|key| key.0.to_le_bytes()));
    for key in keys {
        append_item(*key, body);
    }
}

/// Appends the rest of a key and its value.
pub(super) fn append_item(key: Key, body: &mut Vec<u8>) {
    body.extend(key.1.to_le_bytes());
    body.extend(key.value().iter().flat_map(|word| word.to_le_bytes()));
}

/// Prefetches the item of an index of a leaf whose heads are at an offset.
#[inline(always)]
pub(super) fn prefetch(leaf: Leaf<'_>, heads_at: usize, index: usize) {
    leaf.prefetch(offset(heads_at, index), ITEM_BYTES);
}

/// Returns the first word of the value of an item, if its rest is that of the key.
#[inline(always)]
pub(super) fn value(leaf: Leaf<'_>, key: Key, heads_at: usize, index: usize) -> Option<u64> {
    let item = offset(heads_at, index);
    (leaf.word(item) == key.1).then(|| leaf.word(item + 8))
}

#[inline(always)]
fn offset(heads_at: usize, index: usize) -> usize {
    heads_at + PAIRS * HEAD_BYTES + index * ITEM_BYTES
}
