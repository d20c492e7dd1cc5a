//! A cursor over the pairs of one leaf at one version: its sorted block, with its log laid over it once that
//! matters.
//!
//! The cursor stands between two pairs. `sorted` is the offset of the first sorted item after it, `log` the
//! index of the first overlay entry after it. An entry comes before the sorted item at its back pointer, and
//! instead of it if it `replaces` it, so merging compares no keys.

use crate::node::item::Item;
use crate::node::key::SearchKey;
use crate::node::log::Overlay;
use crate::node::view::View;
use crate::read::descent::Landing;
use crate::read::search::{item_before, lower_bound_in};

pub(crate) struct Cursor<'a> {
    view: View<'a>,
    read_version: u64,
    sorted: usize,
    /// Where the sorted block ends.
    end: usize,
    /// The back pointer of the first overlay entry after the cursor; none if it is above all offsets.
    next_entry: usize,
    /// None before the cursor meets an entry, which short scans seldom do. Until then no entry has the back
    /// pointer `sorted`, or all that have it come after the cursor.
    overlay: Option<Overlay<'a>>,
    log: usize,
}

impl<'a> Cursor<'a> {
    /// Before the first pair.
    pub(crate) fn at_start(view: View<'a>, read_version: u64) -> Self {
        Self::new(view, read_version, view.items_start())
    }

    /// After the last pair.
    pub(crate) fn at_end(view: View<'a>, read_version: u64) -> Self {
        let mut cursor = Self::new(view, read_version, view.sorted_end());
        if cursor.next_entry == cursor.sorted {
            let overlay = Overlay::new(view, read_version);
            cursor.set_overlay(overlay.len(), overlay);
        }
        cursor
    }

    /// Before the first pair whose key is not smaller than `key`, which has led here; with `after`, whose key
    /// is greater.
    pub(crate) fn at_key(landing: Landing<'a>, read_version: u64, key: &[u8], after: bool) -> Self {
        let view = landing.leaf;
        let search_key = SearchKey::new(&key[view.prefix_length()..]);
        let place = lower_bound_in(view, &search_key, landing.segment);
        let mut sorted = place.offset;
        if after && place.found {
            sorted += view.item(sorted).bytes.len();
        }
        let mut cursor = Self::new(view, read_version, sorted);
        if cursor.next_entry == sorted {
            let overlay = Overlay::new(view, read_version);
            cursor.set_overlay(overlay.before(&search_key, after), overlay);
        }
        cursor
    }

    /// Before the sorted item at an offset, and all entries whose back pointer that is.
    #[inline]
    fn new(view: View<'a>, read_version: u64, sorted: usize) -> Self {
        let next_entry = next_back_pointer(view, read_version, sorted);
        Self { view, read_version, sorted, end: view.sorted_end(), next_entry, overlay: None, log: 0 }
    }

    /// Lays the log over the sorted block. The cursor is before entry `log`.
    fn set_overlay(&mut self, log: usize, overlay: Overlay<'a>) {
        self.log = log;
        self.next_entry = overlay.back_pointer(log).unwrap_or(usize::MAX);
        self.overlay = Some(overlay);
    }

    /// Lays the log if it is not yet. The cursor is before the entries whose back pointer is `sorted`.
    fn ensure_overlay(&mut self) {
        if self.overlay.is_none() {
            let overlay = Overlay::new(self.view, self.read_version);
            self.set_overlay(overlay.first_from(self.sorted), overlay);
        }
    }

    /// Bytes of the sorted block after the cursor.
    #[inline]
    pub(crate) fn bytes_left(&self) -> usize {
        self.end - self.sorted
    }

    /// From where to where, at most to `end`, the next pairs are the sorted items as they stand.
    #[inline]
    pub(crate) fn sorted_run(&self, end: usize) -> (usize, usize) {
        (self.sorted, end.min(self.next_entry))
    }

    /// Steps over items of such a stretch, to an offset in it.
    #[inline]
    pub(crate) fn skip_to(&mut self, offset: usize) {
        self.sorted = offset;
    }

    /// Steps over the next pair.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Item<'a>> {
        if self.sorted >= self.next_entry
            && let Some(item) = self.next_in_log()
        {
            return Some(item);
        }
        (self.sorted < self.end).then(|| {
            let item = self.view.item(self.sorted);
            self.sorted += item.bytes.len();
            item
        })
    }

    /// Steps over the next pair if it is in the log, and over what is deleted before it.
    fn next_in_log(&mut self) -> Option<Item<'a>> {
        while self.sorted >= self.next_entry {
            self.ensure_overlay();
            let overlay = self.overlay.as_ref()?;
            let item = overlay.item(self.log);
            self.log += 1;
            self.next_entry = overlay.back_pointer(self.log).unwrap_or(usize::MAX);
            if item.header.replaces() {
                self.sorted += self.view.item(self.sorted).bytes.len();
            }
            if !item.header.tombstone() {
                return Some(item);
            }
        }
        None
    }

    /// Steps back over the pair before.
    pub(crate) fn previous(&mut self) -> Option<Item<'a>> {
        loop {
            let before = item_before(self.view, self.sorted);
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

/// The smallest back pointer from `offset` on among the log entries that a read version sees; none is above
/// all offsets.
#[inline]
fn next_back_pointer(view: View<'_>, read_version: u64, offset: usize) -> usize {
    let node_version = view.node_version();
    let seen = view.log_entries().take_while(|entry| node_version + entry.version_delta <= read_version);
    let from_offset = seen.map(|entry| entry.back_pointer).filter(|&back_pointer| back_pointer >= offset);
    from_offset.min().unwrap_or(usize::MAX)
}
