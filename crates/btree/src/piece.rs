//! Pieces: the items of a node to be built, as runs of bytes in the nodes they come from.
//!
//! A merge or a split mostly moves items that do not change. A run of them is one copy as long as the node's
//! prefix stays the same; where it changes, each item is written anew.

use crate::item::{HEADER_BYTES, Item, ItemBytes};
use crate::key::KeyParts;
use crate::log::{LogEntry, Overlay};
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
    /// Whether that item has the key.
    pub(crate) replaces: bool,
    /// The new item, or a delete marker, encoded with the leaf's prefix.
    pub(crate) item: &'a ItemBytes,
}

/// The pieces of a leaf: its sorted block with its log and one more change merged in.
pub(crate) fn leaf_pieces<'a>(view: View<'a>, change: Option<&'a Change<'a>>) -> Vec<Piece<'a>> {
    let mut overlay = crate::log::overlay(view, u64::MAX);
    if let Some(change) = change {
        lay_over(&mut overlay, change);
    }
    let piece = |bytes| Piece { prefix: view.prefix(), bytes };
    let mut pieces = Vec::with_capacity(2 * overlay.len() + 1);
    let mut offset = view.items_start();
    let sorted = |from: usize, to: usize| &view.from(from)[..to - from];
    for entry in overlay {
        if entry.back_pointer > offset {
            pieces.push(piece(sorted(offset, entry.back_pointer)));
            offset = entry.back_pointer;
        }
        if entry.item.header.replaces() {
            offset += view.item(offset).bytes.len();
        }
        if !entry.item.header.delete_marker() {
            pieces.push(piece(entry.item.bytes));
        }
    }
    if offset < view.sorted_end() {
        pieces.push(piece(sorted(offset, view.sorted_end())));
    }
    pieces
}

fn lay_over<'a>(overlay: &mut Overlay<'a>, change: &'a Change<'a>) {
    let item = Item::read(change.item);
    let entry = LogEntry { back_pointer: change.back_pointer, order_hint: 0, version_delta: 0, item };
    match overlay.binary_search_by(|other| other.item.suffix().cmp(item.suffix())) {
        Ok(index) => overlay[index] = entry,
        Err(index) => overlay.insert(index, entry),
    }
    debug_assert_eq!(change.replaces, item.header.replaces());
}
