//! The log block: recent writes in order of arrival, and the order of their keys.
//!
//! Versions increase in order of arrival, so a read version sees a first part of a log block. Inserting the
//! entries of that part one after the other at their order hints yields key order, with the newest of equal
//! keys first. This compares no keys (section 3.1 of the Honeycomb paper).

use std::cmp::Ordering;
use std::ops::Range;

use honeycomb_layout::log_entry_header as header;
use smallvec::SmallVec;

use crate::node::item::{Item, ItemHeader};
use crate::node::key::SearchKey;
use crate::node::log_entry::{EntryWord, LogEntry};
use crate::node::view::View;

/// The position of a key in the order of a leaf's log block.
pub(crate) struct LogPosition<'a> {
    /// Number of entries with smaller keys.
    pub(crate) rank: usize,
    /// The newest entry of the key.
    pub(crate) newest: Option<LogEntry<'a>>,
}

/// Searches for a key among all entries, regardless of their versions. `back_pointer` is that of the key. An
/// entry with another back pointer is ordered by it, so few keys are compared.
#[inline]
pub(crate) fn find_in_log<'a>(
    view: View<'a>,
    search_key: &SearchKey<'_>,
    back_pointer: usize,
) -> LogPosition<'a> {
    let mut found = LogPosition { rank: 0, newest: None };
    let mut rest = view.from(view.sorted_end());
    for _ in 0..view.log_count() {
        let (word, item) = (EntryWord::read(rest), &rest[header::SIZE..]);
        let order = match word.back_pointer().cmp(&back_pointer) {
            Ordering::Equal => search_key.compare_item(item).0,
            decided => decided,
        };
        found.rank += usize::from(order.is_lt());
        if order.is_eq() {
            found.newest = Some(LogEntry::read(rest));
        }
        rest = &item[ItemHeader::read(item).item_bytes()..];
    }
    found
}

/// The entries of a log block in key order, one for each key. They override the sorted block.
pub(crate) struct Overlay<'a> {
    view: View<'a>,
    order: SmallVec<[OverlayEntry; 16]>,
}

/// One entry of an overlay, by its offset in the node.
#[derive(Clone, Copy)]
struct OverlayEntry {
    back_pointer: u16,
    item: u16,
}

impl<'a> Overlay<'a> {
    /// Sorts the part of a leaf's log block that `read_version` sees, and keeps the newest entry of each key.
    #[inline]
    pub(crate) fn new(view: View<'a>, read_version: u64) -> Self {
        let mut overlay = Self { view, order: SmallVec::new() };
        if view.log_count() > 0 && overlay.sort(read_version) {
            overlay.keep_newest();
        }
        overlay
    }

    /// Sorts the entries by key. Returns whether any key repeats.
    fn sort(&mut self, read_version: u64) -> bool {
        let node_version = self.view.node_version();
        let mut rest = self.view.from(self.view.sorted_end());
        let mut repeats = false;
        for _ in 0..self.view.log_count() {
            let word = EntryWord::read(rest);
            if node_version + word.version_delta() > read_version {
                break;
            }
            let header = ItemHeader::read(&rest[header::SIZE..]);
            repeats |= header.repeats();
            let item = (self.view.size() - rest.len() + header::SIZE) as u16;
            self.order
                .insert(word.order_hint(), OverlayEntry { back_pointer: word.back_pointer() as u16, item });
            rest = &rest[header::SIZE + header.item_bytes()..];
        }
        repeats
    }

    /// Removes superseded entries: an entry with the flag `repeats` is followed by an older one of its key.
    fn keep_newest(&mut self) {
        let (view, mut older) = (self.view, false);
        self.order.retain(|laid| {
            let keep = !older;
            older = view.item(usize::from(laid.item)).header.repeats();
            keep
        });
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns the offset of the first sorted item whose key is not smaller than that of an entry; `None`
    /// after the last entry.
    #[inline]
    pub(crate) fn back_pointer(&self, index: usize) -> Option<usize> {
        self.order.get(index).map(|laid| usize::from(laid.back_pointer))
    }

    #[inline]
    pub(crate) fn item(&self, index: usize) -> Item<'a> {
        self.view.item(usize::from(self.order[index].item))
    }

    /// Returns the number of entries with a smaller back pointer.
    #[inline]
    pub(crate) fn first_from(&self, offset: usize) -> usize {
        self.order.partition_point(|laid| usize::from(laid.back_pointer) < offset)
    }

    /// Returns the back pointers and items of some entries.
    pub(crate) fn entries(&self, range: Range<usize>) -> impl Iterator<Item = (usize, Item<'a>)> {
        self.order[range]
            .iter()
            .map(|laid| (usize::from(laid.back_pointer), self.view.item(usize::from(laid.item))))
    }

    /// Returns the number of entries before `search_key`, including those of this key if `after` is set.
    #[inline]
    pub(crate) fn before(&self, search_key: &SearchKey<'_>, after: bool) -> usize {
        self.order.partition_point(|laid| {
            match search_key.compare_item(self.view.from(usize::from(laid.item))).0 {
                Ordering::Less => true,
                Ordering::Equal => after,
                Ordering::Greater => false,
            }
        })
    }
}
