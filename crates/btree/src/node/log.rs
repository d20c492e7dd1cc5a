//! The log block: recent writes in arrival order, and the order of their keys.
//!
//! Versions grow in arrival order, so what a read version sees of a log is a first part of it. Inserting the
//! entries of that part one after the other at their order hints gives them in key order, the newest of equal
//! keys first: no key is compared (section 3.1 of the Honeycomb paper).

use std::cmp::Ordering;
use std::ops::Range;

use honeycomb_layout::log_entry_header as header;
use smallvec::SmallVec;

use crate::node::item::{Item, ItemHeader};
use crate::node::key::SearchKey;
use crate::node::log_entry::{EntryWord, LogEntry};
use crate::node::view::View;

/// Where a key is in the order of a leaf's log.
pub(crate) struct InLog<'a> {
    /// Entries of smaller keys.
    pub(crate) rank: usize,
    /// The newest entry of the key.
    pub(crate) newest: Option<LogEntry<'a>>,
}

/// Looks a key up among all entries, whatever their versions. `back_pointer` is that of the key: entries with
/// another lie on the same side of it as their back pointers do, so few keys are compared.
#[inline]
pub(crate) fn find_in_log<'a>(view: View<'a>, search_key: &SearchKey<'_>, back_pointer: usize) -> InLog<'a> {
    let mut found = InLog { rank: 0, newest: None };
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

/// The entries of a log in key order, one for each key: what lies over the sorted block.
pub(crate) struct Overlay<'a> {
    view: View<'a>,
    order: SmallVec<[Laid; 16]>,
}

/// One entry of an overlay, by its place in the node.
#[derive(Clone, Copy)]
struct Laid {
    back_pointer: u16,
    item: u16,
}

impl<'a> Overlay<'a> {
    /// Sorts the part of a leaf's log that `read_version` sees, and keeps the newest entry of each key.
    #[inline]
    pub(crate) fn new(view: View<'a>, read_version: u64) -> Self {
        let mut overlay = Self { view, order: SmallVec::new() };
        if view.log_count() > 0 && overlay.sort(read_version) {
            overlay.keep_newest();
        }
        overlay
    }

    /// Puts the entries in key order; says whether any key repeats.
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
            self.order.insert(word.order_hint(), Laid { back_pointer: word.back_pointer() as u16, item });
            rest = &rest[header::SIZE + header.item_bytes()..];
        }
        repeats
    }

    /// Drops entries that a newer one of the same key precedes: after one that `repeats` comes an older one
    /// of its key.
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

    /// Offset of the first sorted item whose key is not smaller than that of an entry; none after the last
    /// entry.
    #[inline]
    pub(crate) fn back_pointer(&self, index: usize) -> Option<usize> {
        self.order.get(index).map(|laid| usize::from(laid.back_pointer))
    }

    #[inline]
    pub(crate) fn item(&self, index: usize) -> Item<'a> {
        self.view.item(usize::from(self.order[index].item))
    }

    /// How many entries have a smaller back pointer.
    #[inline]
    pub(crate) fn first_from(&self, offset: usize) -> usize {
        self.order.partition_point(|laid| usize::from(laid.back_pointer) < offset)
    }

    /// Some of the entries: their back pointers and items.
    pub(crate) fn entries(&self, range: Range<usize>) -> impl Iterator<Item = (usize, Item<'a>)> {
        self.order[range]
            .iter()
            .map(|laid| (usize::from(laid.back_pointer), self.view.item(usize::from(laid.item))))
    }

    /// How many entries come before `search_key`; with `after`, those of its own key as well.
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
