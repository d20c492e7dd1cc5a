//! A cursor over the pairs of one leaf at one version: the sorted block overlaid with the log block. The
//! overlay is built when the cursor first needs it.
//!
//! The cursor is between two pairs. `sorted` is the position of the first sorted item after it, `log` the
//! index of the first overlay entry after it. An entry precedes the sorted item at its back pointer, or
//! replaces it if it has the flag `replaces`. So combining the two blocks compares no keys.

use std::ops::Range;

use crate::node::item::Item;
use crate::node::key::SearchKey;
use crate::node::log::Overlay;
use crate::node::search::lower_bound_in;
use crate::node::view::View;
use crate::read::descent::Landing;

pub(crate) struct Cursor<'a> {
    view: View<'a>,
    read_version: u64,
    sorted: usize,
    /// The end of the sorted block.
    end: usize,
    /// The back pointer of the first overlay entry after the cursor; `usize::MAX` if there is none. It may be
    /// smaller until the cursor has an overlay.
    next_entry: usize,
    /// `None` until the cursor reaches an entry, which is rare in short scans. Until then, all entries whose
    /// back pointer is `sorted` come after the cursor.
    overlay: Option<Overlay<'a>>,
    log: usize,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor before the first pair.
    pub(crate) fn at_start(view: View<'a>, read_version: u64) -> Self {
        Self::at_position(view, read_version, 0)
    }

    /// Returns a cursor after the last pair.
    pub(crate) fn at_end(view: View<'a>, read_version: u64) -> Self {
        let mut cursor = Self::at_position(view, read_version, view.sorted_count());
        if cursor.next_entry == cursor.sorted {
            let overlay = Overlay::new(view, read_version);
            cursor.set_overlay(overlay.len(), overlay);
        }
        cursor
    }

    /// Returns a cursor before the first pair whose key is not smaller than `key`, or greater than `key` if
    /// `after` is set. `landing` is the result of the descent with this key.
    pub(crate) fn at_key(landing: &Landing<'a>, read_version: u64, key: &[u8], after: bool) -> Self {
        let view = landing.leaf;
        let sorted = start_in_leaf(landing, key, after);
        let mut cursor = Self::at_position(view, read_version, sorted);
        if cursor.next_entry == sorted {
            let overlay = Overlay::new(view, read_version);
            cursor.set_overlay(overlay.before(search_key(landing, key), after, sorted), overlay);
        }
        cursor
    }

    /// Returns a cursor before the sorted item at `sorted` and before all entries with this back pointer.
    fn at_position(view: View<'a>, read_version: u64, sorted: usize) -> Self {
        Self::new(view, read_version, sorted, next_back_pointer(view, read_version, sorted))
    }

    /// Returns a cursor before the sorted item at `sorted` and before all entries with this back pointer. No
    /// entry that the read version sees has a back pointer from `sorted` up to but not including
    /// `next_entry`.
    #[inline]
    pub(crate) fn new(view: View<'a>, read_version: u64, sorted: usize, next_entry: usize) -> Self {
        Self { view, read_version, sorted, end: view.sorted_count(), next_entry, overlay: None, log: 0 }
    }

    /// Sets the overlay. The cursor is before entry `log`.
    fn set_overlay(&mut self, log: usize, overlay: Overlay<'a>) {
        self.log = log;
        self.next_entry = overlay.back_pointer(log).unwrap_or(usize::MAX);
        self.overlay = Some(overlay);
    }

    /// Builds the overlay if there is none. The cursor is before the entries whose back pointer is `sorted`.
    fn ensure_overlay(&mut self) {
        if self.overlay.is_none() {
            let overlay = Overlay::new(self.view, self.read_version);
            self.set_overlay(overlay.first_from(self.sorted), overlay);
        }
    }

    /// Returns the position of the first sorted item after the cursor.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.sorted
    }

    /// Returns the sorted items before `end` and before the next overlay entry.
    #[inline]
    pub(crate) fn sorted_run(&self, end: usize) -> Range<usize> {
        self.sorted..end.min(self.next_entry)
    }

    /// Advances to a position in the range that [`Cursor::sorted_run`] has returned.
    #[inline]
    pub(crate) fn skip_to(&mut self, position: usize) {
        self.sorted = position;
    }

    /// Advances over the next pair and returns it.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Item<'a>> {
        if self.sorted >= self.next_entry
            && let Some(item) = self.next_in_log()
        {
            return Some(item);
        }
        (self.sorted < self.end).then(|| {
            let item = self.view.item(self.sorted);
            self.sorted += 1;
            item
        })
    }

    /// Advances over deleted pairs, and over the next pair if it is in the log block.
    fn next_in_log(&mut self) -> Option<Item<'a>> {
        // The overlay may show that the next entry comes later.
        self.ensure_overlay();
        while self.sorted >= self.next_entry {
            let overlay = self.overlay.as_ref()?;
            let item = overlay.item(self.log);
            self.log += 1;
            self.next_entry = overlay.back_pointer(self.log).unwrap_or(usize::MAX);
            if item.header.replaces() {
                self.sorted += 1;
            }
            if !item.header.tombstone() {
                return Some(item);
            }
        }
        None
    }

    /// Moves back over the previous pair and returns it.
    pub(crate) fn previous(&mut self) -> Option<Item<'a>> {
        loop {
            let before = self.sorted.checked_sub(1);
            let from = before.unwrap_or(self.sorted);
            if self.overlay.is_none() && next_back_pointer(self.view, self.read_version, from) >= self.sorted
            {
                return self.step_back_sorted(before);
            }
            self.ensure_overlay();
            let overlay = self.overlay.as_ref()?;
            let Some(last) = self.log.checked_sub(1) else { return self.step_back_sorted(before) };
            let (item, back_pointer) = (overlay.item(last), overlay.back_pointer(last)?);
            let replaces = item.header.replaces();
            let is_last = back_pointer >= self.sorted || replaces && Some(back_pointer) == before;
            if !is_last {
                return self.step_back_sorted(before);
            }
            (self.log, self.next_entry) = (last, back_pointer);
            if replaces {
                self.sorted = back_pointer;
            }
            if !item.header.tombstone() {
                return Some(item);
            }
        }
    }

    fn step_back_sorted(&mut self, before: Option<usize>) -> Option<Item<'a>> {
        self.sorted = before?;
        Some(self.view.item(self.sorted))
    }
}

/// Returns the search key of a leaf to which a descent with `key` has led.
#[inline]
fn search_key<'k>(landing: &Landing<'_>, key: &'k [u8]) -> SearchKey<'k> {
    SearchKey { suffix: &key[landing.leaf.prefix_length()..], head: landing.head }
}

/// Returns the position of the first sorted item whose key is not smaller than `key`, or greater than `key`
/// if `after` is set.
#[inline]
pub(crate) fn start_in_leaf(landing: &Landing<'_>, key: &[u8], after: bool) -> usize {
    let position = lower_bound_in(landing.leaf, search_key(landing, key), landing.near);
    position.position + usize::from(after && position.found)
}

/// Returns the smallest back pointer at or after `position` among the log entries that `read_version` sees;
/// `usize::MAX` if there is none.
#[inline]
pub(crate) fn next_back_pointer(view: View<'_>, read_version: u64, position: usize) -> usize {
    let seen = read_version - view.node_version().min(read_version);
    let mut next = usize::MAX;
    for place in view.log_places() {
        if place.version_delta > seen {
            break;
        }
        if place.back_pointer >= position {
            next = next.min(place.back_pointer);
        }
    }
    next
}
