//! A cursor over the pairs of one leaf at one version: its sorted block with its log laid over it.
//!
//! The cursor stands between two pairs. `sorted` is the offset of the first sorted item after it, `log` the
//! index of the first overlay entry after it. An entry comes before the sorted item at its back pointer, and
//! instead of it if it `replaces` it, so merging compares no keys.

use crate::descent::Landing;
use crate::item::Item;
use crate::key::Wanted;
use crate::log::Overlay;
use crate::search::{item_before, lower_bound_in};
use crate::view::View;

pub(crate) struct Cursor<'a> {
    view: View<'a>,
    overlay: Overlay<'a>,
    sorted: usize,
    log: usize,
}

impl<'a> Cursor<'a> {
    /// Before the first pair.
    pub(crate) fn at_start(view: View<'a>, read_version: u64) -> Self {
        Self { view, overlay: Overlay::new(view, read_version), sorted: view.items_start(), log: 0 }
    }

    /// After the last pair.
    pub(crate) fn at_end(view: View<'a>, read_version: u64) -> Self {
        let overlay = Overlay::new(view, read_version);
        Self { view, sorted: view.sorted_end(), log: overlay.len(), overlay }
    }

    /// Before the first pair whose key is not smaller than `key`, which has led here; with `after`, whose key is
    /// greater.
    pub(crate) fn at_key(landing: Landing<'a>, read_version: u64, key: &[u8], after: bool) -> Self {
        let view = landing.leaf;
        let wanted = Wanted::new(&key[view.prefix_length()..]);
        let place = lower_bound_in(view, &wanted, landing.segment);
        let mut sorted = place.offset;
        if after && place.found {
            sorted += view.item(sorted).bytes.len();
        }
        let overlay = Overlay::new(view, read_version);
        let log = overlay.before(&wanted, after);
        Self { view, overlay, sorted, log }
    }

    /// Steps over the next pair.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Item<'a>> {
        while let Some(back_pointer) = self.overlay.back_pointer(self.log) {
            if back_pointer > self.sorted {
                break;
            }
            let item = self.overlay.item(self.log);
            self.log += 1;
            if item.header.replaces() {
                self.sorted += self.view.item(self.sorted).bytes.len();
            }
            if !item.header.delete_marker() {
                return Some(item);
            }
        }
        (self.sorted < self.view.sorted_end()).then(|| {
            let item = self.view.item(self.sorted);
            self.sorted += item.bytes.len();
            item
        })
    }

    /// Steps back over the pair before.
    pub(crate) fn previous(&mut self) -> Option<Item<'a>> {
        loop {
            let before = item_before(self.view, self.sorted);
            let Some(last) = self.log.checked_sub(1) else { return self.step_back_sorted(before) };
            let (item, back_pointer) = (self.overlay.item(last), self.overlay.back_pointer(last)?);
            let replaces = item.header.replaces();
            let is_last = back_pointer >= self.sorted || replaces && Some(back_pointer) == before;
            if !is_last {
                return self.step_back_sorted(before);
            }
            self.log = last;
            if replaces {
                self.sorted = back_pointer;
            }
            if !item.header.delete_marker() {
                return Some(item);
            }
        }
    }

    fn step_back_sorted(&mut self, before: Option<usize>) -> Option<Item<'a>> {
        self.sorted = before?;
        Some(self.view.item(self.sorted))
    }
}
