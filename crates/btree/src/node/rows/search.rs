//! Searches in a leaf in rows. The heads of the shortcuts select a segment; the items of the segment
//! determine the position.

use std::cmp::Ordering;

use honeycomb_memory::heads as vector;

use crate::node::item::{HEADER_BYTES, Item, ItemHeader};
use crate::node::key::{SearchKey, head};
use crate::node::rows::{self, heads, segment};
use crate::node::suffix::HEAD_BYTES;
use crate::node::view::View;

/// Returns the last segment whose head is not greater than that of `search_key`, or the first segment if all
/// heads are greater. Also prefetches the lines of the segment: an item's offset depends on the lengths
/// before it, so without prefetching each line would be a separate cache miss.
#[inline(never)]
pub(crate) fn find_segment(view: View<'_>, search_key: &SearchKey<'_>) -> usize {
    let found = vector::count_not_greater(heads(view), search_key.head).saturating_sub(1);
    let bytes = rows::segment_range(view, found);
    view.prefetch(bytes.start, bytes.end);
    found
}

/// Returns the offset of the last segment, `found` or one before it, whose first key is not greater than
/// `search_key`; the first segment if all first keys are greater. Equal heads do not order the keys, so this
/// compares whole keys.
#[inline]
fn refine_segment(view: View<'_>, search_key: &SearchKey<'_>, found: usize) -> usize {
    let is_greater = |index| compare_item(search_key, view.from(segment(view, index))).0.is_gt();
    if found == 0 || rows::head(view, found) != search_key.head || !is_greater(found) {
        return found;
    }
    // No first key before `after` is greater; all first keys from `greater` on are.
    let (mut after, mut greater) = (vector::count_less(heads(view), search_key.head), found);
    while after < greater {
        let middle = usize::midpoint(after, greater);
        if is_greater(middle) {
            greater = middle;
        } else {
            after = middle + 1;
        }
    }
    after.saturating_sub(1)
}

/// Returns the offset of the first item whose key is not smaller than `search_key`, and whether it is equal.
/// `find_segment` returned `found`.
#[inline(never)]
pub(crate) fn lower_bound(view: View<'_>, search_key: &SearchKey<'_>, found: usize) -> (usize, bool) {
    let start = segment(view, refine_segment(view, search_key, found));
    let items = view.bytes(start..view.sorted_end());
    let mut at = skip_smaller(search_key, items);
    while at < items.len() {
        match compare_item(search_key, &items[at..]) {
            (Ordering::Less, bytes) => at += bytes,
            (order, _) => return (start + at, order.is_eq()),
        }
    }
    (view.sorted_end(), false)
}

/// Returns the item of a key, if its segment has it.
#[inline(never)]
pub(crate) fn find<'a>(view: View<'a>, search_key: &SearchKey<'_>, found: usize) -> Option<Item<'a>> {
    let (position, is_equal) = lower_bound(view, search_key, found);
    is_equal.then(|| view.item(position))
}

/// Compares the key of the item that starts `bytes` with a search key, and returns the bytes of the item. The
/// first eight bytes usually decide.
#[inline(always)]
fn compare_item(search_key: &SearchKey<'_>, bytes: &[u8]) -> (Ordering, usize) {
    let header = ItemHeader::read(bytes);
    let suffix = &bytes[HEADER_BYTES..][..header.suffix_bytes()];
    let rest = suffix.get(HEAD_BYTES..).unwrap_or(&[]);
    let order = head(suffix).cmp(&search_key.head);
    (order.then_with(|| search_key.compare_rest(suffix.len(), rest)), header.item_bytes())
}

/// Returns the offset of the first item whose head shows no longer that its key is smaller. Its key may still
/// be smaller.
#[inline(always)]
fn skip_smaller(search_key: &SearchKey<'_>, items: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) =
        items.get(at..).and_then(|rest| rest.first_chunk::<{ HEADER_BYTES + HEAD_BYTES }>())
    {
        let next = *chunk.last_chunk().expect("eight bytes");
        // Bytes after a short suffix can only increase the number, so it needs no mask.
        if u64::from_be_bytes(next) >= search_key.head {
            break;
        }
        at += ItemHeader::read(chunk).item_bytes();
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::item::encode;

    #[test]
    fn items_compare_as_their_keys_do() {
        let ends: Vec<Vec<u8>> = (0..=18).flat_map(|length| [vec![0; length], vec![7; length]]).collect();
        let beginnings: [&[u8]; 3] = [b"", b"user:12", b"user:123user:12"];
        let keys = || {
            let with =
                |beginning: &&[u8]| ends.iter().map(|end| [beginning, &end[..]].concat()).collect::<Vec<_>>();
            beginnings.iter().flat_map(with).collect::<Vec<Vec<u8>>>()
        };
        for suffix in keys() {
            let header = ItemHeader::new(suffix.len(), 1);
            let bytes = encode(header, &suffix, &[0xff]);
            for search_key in keys() {
                let expected = (suffix.cmp(&search_key), header.item_bytes());
                assert_eq!(compare_item(&SearchKey::new(&search_key), &bytes), expected);
            }
        }
    }
}
