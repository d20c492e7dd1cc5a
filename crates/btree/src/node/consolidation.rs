//! The items of a consolidated leaf: its sorted block, its log block and one more change.

use std::ops::Range;

use crate::node::item_run::{ItemRun, Items};
use crate::node::log::Overlay;
use crate::node::log_entry::NewItem;
use crate::node::view::View;

/// A change to one key of a leaf that is consolidated.
pub(crate) struct Change<'a> {
    /// Whether the key is greater than all other keys of the leaf.
    pub(crate) is_last: bool,
    /// Position of the first sorted item whose key is not smaller.
    pub(crate) back_pointer: usize,
    /// The new item or tombstone, without the leaf's prefix.
    pub(crate) item: NewItem<'a>,
}

impl Change<'_> {
    /// Returns the entries with smaller keys than a change, and those with greater keys; all entries as the
    /// former if there is no change. The entry whose key the change repeats is in neither range.
    pub(crate) fn entries_around(
        change: Option<&Self>,
        overlay: &Overlay<'_>,
    ) -> (Range<usize>, Range<usize>) {
        let Some(change) = change else { return (0..overlay.len(), 0..0) };
        let before = overlay.before(change.item.key, false, change.back_pointer);
        (0..before, before + usize::from(change.item.header.repeats())..overlay.len())
    }
}

/// Returns the items of a consolidated leaf.
pub(crate) fn leaf_items<'a>(view: View<'a>, change: Option<&'a Change<'a>>) -> Items<'a> {
    let overlay = Overlay::new(view, u64::MAX);
    let mut consolidation = Consolidation::new(view, overlay.len() + 1);
    let (before, after) = Change::entries_around(change, &overlay);
    consolidation.lay_all(&overlay, before);
    if let Some(change) = change {
        let one = ItemRun::one(consolidation.prefix, change.item.item());
        consolidation.lay(change.back_pointer, one);
    }
    consolidation.lay_all(&overlay, after);
    consolidation.finish()
}

/// A consolidation in progress: changes are added to the items of the sorted block in key order.
struct Consolidation<'a> {
    view: View<'a>,
    prefix: &'a [u8],
    /// Position of the first sorted item that was not added yet.
    position: usize,
    items: Items<'a>,
}

impl<'a> Consolidation<'a> {
    fn new(view: View<'a>, changes: usize) -> Self {
        let items = Items::with_capacity(2 * changes + 1);
        Self { view, prefix: view.prefix(), position: 0, items }
    }

    fn lay_all(&mut self, overlay: &Overlay<'a>, entries: Range<usize>) {
        for (back_pointer, item) in overlay.entries(entries) {
            self.lay(back_pointer, ItemRun::one(self.prefix, item));
        }
    }

    #[inline(always)]
    fn lay(&mut self, back_pointer: usize, one: ItemRun<'a>) {
        self.sorted_up_to(back_pointer);
        let header = one.item(0).header;
        if header.replaces() {
            self.position += 1;
        }
        if !header.tombstone() {
            self.items.push(one);
        }
    }

    #[inline(always)]
    fn sorted_up_to(&mut self, position: usize) {
        if position > self.position {
            self.items.push(ItemRun::sorted(self.view, self.position..position));
            self.position = position;
        }
    }

    fn finish(mut self) -> Items<'a> {
        self.sorted_up_to(self.view.sorted_count());
        self.items
    }
}
