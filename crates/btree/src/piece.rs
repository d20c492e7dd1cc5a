//! Pieces: the items of a node to be built, as runs of bytes in the nodes they come from.
//!
//! A merge or a split mostly moves items that do not change. A run of them is one copy as long as the node's
//! prefix stays the same; where it changes, each item is written anew.

use crate::item::{HEADER_BYTES, Item, ItemBytes};
use crate::key::{KeyParts, Wanted};
use crate::log::Overlay;
use crate::view::View;

/// Whole items, one after the other, whose keys lack `prefix`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) prefix: &'a [u8],
    pub(crate) bytes: &'a [u8],
}

impl<'a> Piece<'a> {
    pub(crate) fn items(self) -> impl Iterator<Item = Item<'a>> {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            (!rest.is_empty()).then(|| {
                let item = Item::read(rest);
                rest = &rest[item.bytes.len()..];
                item
            })
        })
    }

    pub(crate) fn key(self, item: Item<'a>) -> KeyParts<'a> {
        KeyParts { prefix: self.prefix, suffix: item.suffix() }
    }

    /// Bytes that the items take in a node with a prefix of `prefix_length` bytes.
    pub(crate) fn bytes_with_prefix(self, prefix_length: usize) -> usize {
        if prefix_length == self.prefix.len() {
            return self.bytes.len();
        }
        self.items().map(|item| item_bytes_with_prefix(self.key(item), item, prefix_length)).sum()
    }

    /// Writes the items for a node with a prefix of `prefix_length` bytes, and says how many bytes they took.
    pub(crate) fn write(self, out: &mut [u8], prefix_length: usize) -> usize {
        if prefix_length == self.prefix.len() {
            out[..self.bytes.len()].copy_from_slice(self.bytes);
            clear_log_flags(out, self.bytes);
            return self.bytes.len();
        }
        let mut at = 0;
        for item in self.items() {
            at += write_item(&mut out[at..], self.key(item), item, prefix_length);
        }
        at
    }
}

/// Only the first item of a piece can come from a log: an entry's item is a piece of its own.
fn clear_log_flags(out: &mut [u8], bytes: &[u8]) {
    if !bytes.is_empty() {
        Item::read(bytes).header.without_log_flags().write(out);
    }
}

/// Bytes of `item`, whose key is `key`, in a node with a prefix of `prefix_length` bytes.
pub(crate) fn item_bytes_with_prefix(key: KeyParts<'_>, item: Item<'_>, prefix_length: usize) -> usize {
    HEADER_BYTES + key.len() - prefix_length + item.value().len()
}

fn write_item(out: &mut [u8], key: KeyParts<'_>, item: Item<'_>, prefix_length: usize) -> usize {
    let (first, second) = key.skip(prefix_length);
    let suffix_bytes = first.len() + second.len();
    item.header.without_log_flags().with_suffix_bytes(suffix_bytes).write(out);
    let mut at = HEADER_BYTES;
    for part in [first, second, item.value()] {
        out[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    at
}

/// A change to one key of a leaf that is being merged.
pub(crate) struct Change<'a> {
    /// Whether the key is greater than every other in the leaf.
    pub(crate) is_last: bool,
    /// Offset of the first sorted item whose key is not smaller.
    pub(crate) back_pointer: usize,
    /// The new item, or a delete marker, encoded with the leaf's prefix.
    pub(crate) item: &'a ItemBytes,
}

/// The pieces of a leaf: its sorted block with its log and one more change merged in.
pub(crate) fn leaf_pieces<'a>(view: View<'a>, change: Option<&'a Change<'a>>) -> Vec<Piece<'a>> {
    let overlay = Overlay::new(view, u64::MAX);
    let mut merge =
        Merge { view, offset: view.items_start(), pieces: Vec::with_capacity(2 * overlay.len() + 4) };
    let lay = |merge: &mut Merge<'a>, from: usize, to: usize| {
        for index in from..to {
            merge.lay(overlay.back_pointer(index).expect("below its length"), overlay.item(index));
        }
    };
    match change {
        None => lay(&mut merge, 0, overlay.len()),
        Some(change) => {
            let item = Item::read(change.item);
            let wanted = Wanted::new(item.suffix());
            lay(&mut merge, 0, overlay.before(&wanted, false));
            merge.lay(change.back_pointer, item);
            lay(&mut merge, overlay.before(&wanted, true), overlay.len());
        }
    }
    merge.finish()
}

/// A sorted block into which changes are merged in key order.
struct Merge<'a> {
    view: View<'a>,
    /// Where the sorted items begin that are not merged yet.
    offset: usize,
    pieces: Vec<Piece<'a>>,
}

impl<'a> Merge<'a> {
    fn lay(&mut self, back_pointer: usize, item: Item<'a>) {
        self.sorted_up_to(back_pointer);
        if item.header.replaces() {
            self.offset += self.view.item(self.offset).bytes.len();
        }
        if !item.header.delete_marker() {
            self.pieces.push(Piece { prefix: self.view.prefix(), bytes: item.bytes });
        }
    }

    fn sorted_up_to(&mut self, offset: usize) {
        if offset > self.offset {
            let bytes = &self.view.from(self.offset)[..offset - self.offset];
            self.pieces.push(Piece { prefix: self.view.prefix(), bytes });
            self.offset = offset;
        }
    }

    fn finish(mut self) -> Vec<Piece<'a>> {
        self.sorted_up_to(self.view.sorted_end());
        self.pieces
    }
}
