//! The log block: recent writes in order of arrival, and the order of their keys.
//!
//! Versions increase in order of arrival, so a read version sees a first part of a log block. Inserting the
//! entries of that part one after the other at their order hints yields key order, with the newest of equal
//! keys first. This compares no keys (section 3.1 of the Honeycomb paper).

use std::cmp::Ordering;
use std::ops::Range;

use smallvec::SmallVec;

use crate::node::item::Item;
use crate::node::key::SearchKey;
use crate::node::log_entry::{self, EntryPlace, LogEntry, entry_head};
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
#[inline(always)]
pub(crate) fn find_in_log<'a>(
    view: View<'a>,
    search_key: SearchKey<'_>,
    back_pointer: usize,
) -> LogPosition<'a> {
    let (mut rank, mut newest) = (0, None);
    for place in view.log_places() {
        rank += usize::from(place.back_pointer < back_pointer);
        if place.back_pointer == back_pointer {
            let order = compare(view.from(place.at), search_key);
            rank += usize::from(order.is_lt());
            if order.is_eq() {
                newest = Some(place);
            }
        }
    }
    LogPosition { rank, newest: newest.map(|place| LogEntry { place, item: view.item_at(place) }) }
}

/// Compares the key of the entry that starts `bytes` with a search key.
#[inline]
fn compare(bytes: &[u8], search_key: SearchKey<'_>) -> Ordering {
    match entry_head(bytes).cmp(&search_key.head) {
        Ordering::Equal => log_entry::item(bytes).suffix().compare(search_key.suffix),
        decided => decided,
    }
}

/// The entries of a log block in key order, one for each key. They override the sorted block.
pub(crate) struct Overlay<'a> {
    view: View<'a>,
    order: SmallVec<[OverlayEntry; 32]>,
}

/// One entry of an overlay.
#[derive(Clone, Copy)]
struct OverlayEntry {
    back_pointer: u16,
    /// Offset of the entry in the node.
    at: u16,
    /// Whether an earlier entry has the same key.
    repeats: bool,
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
        let mut repeats = false;
        for place in self.view.log_places() {
            if node_version + place.version_delta > read_version {
                break;
            }
            repeats |= place.repeats;
            let EntryPlace { back_pointer, order_hint, at, repeats, .. } = place;
            let entry = OverlayEntry { back_pointer: back_pointer as u16, at: at as u16, repeats };
            self.order.insert(order_hint, entry);
        }
        repeats
    }

    /// Removes superseded entries: an entry with the flag `repeats` is followed by an older one of its key.
    fn keep_newest(&mut self) {
        let mut older = false;
        self.order.retain(|laid| !std::mem::replace(&mut older, laid.repeats));
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns the position of the first sorted item whose key is not smaller than that of an entry; `None`
    /// after the last entry.
    #[inline]
    pub(crate) fn back_pointer(&self, index: usize) -> Option<usize> {
        self.order.get(index).map(|laid| usize::from(laid.back_pointer))
    }

    #[inline]
    pub(crate) fn item(&self, index: usize) -> Item<'a> {
        self.item_of(self.order[index])
    }

    #[inline]
    fn item_of(&self, laid: OverlayEntry) -> Item<'a> {
        log_entry::item(self.view.from(usize::from(laid.at)))
    }

    /// Returns the number of entries with a smaller back pointer.
    #[inline]
    pub(crate) fn first_from(&self, position: usize) -> usize {
        self.order.partition_point(|laid| usize::from(laid.back_pointer) < position)
    }

    /// Returns the back pointers of some entries, and their offsets in the node.
    pub(crate) fn offsets(&self, range: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        self.order[range].iter().map(|laid| (usize::from(laid.back_pointer), usize::from(laid.at)))
    }

    /// Returns the back pointers and items of some entries.
    pub(crate) fn entries(&self, range: Range<usize>) -> impl Iterator<Item = (usize, Item<'a>)> {
        self.order[range].iter().map(|&laid| (usize::from(laid.back_pointer), self.item_of(laid)))
    }

    /// Returns the number of entries before `search_key`, including those of this key if `after` is set.
    /// `position` is that of the first sorted item which is not before it either. An entry with another back
    /// pointer is ordered by it, so few keys are compared.
    #[inline]
    pub(crate) fn before(&self, search_key: SearchKey<'_>, after: bool, position: usize) -> usize {
        let first = self.first_from(position);
        let is_before = |laid: &&OverlayEntry| {
            usize::from(laid.back_pointer) == position
                && match compare(self.view.from(usize::from(laid.at)), search_key) {
                    Ordering::Less => true,
                    Ordering::Equal => after,
                    Ordering::Greater => false,
                }
        };
        first + self.order[first..].iter().take_while(is_before).count()
    }
}
