//! Key ranges of range deletions and of batch conditions.

use std::ops::Bound;

use crate::node::consolidation::leaf_items;
use crate::node::item::Item;
use crate::node::item_run::{ItemRun, Items};
use crate::node::suffix::KeyParts;
use crate::node::view::View;
use crate::read::reader::LeafPosition;

#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyRange<'a> {
    pub(crate) lower: Bound<&'a [u8]>,
    pub(crate) upper: Bound<&'a [u8]>,
}

impl<'a> KeyRange<'a> {
    /// Returns whether the bounds exclude all keys.
    pub(crate) fn is_empty(self) -> bool {
        match (self.lower, self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (
                Bound::Included(lower) | Bound::Excluded(lower),
                Bound::Included(upper) | Bound::Excluded(upper),
            ) => lower >= upper,
            _ => false,
        }
    }

    /// Returns the leaf that contains the lower bound.
    pub(crate) fn first_leaf(self) -> LeafPosition<'a> {
        match self.lower {
            Bound::Included(key) | Bound::Excluded(key) => LeafPosition::Key(key),
            Bound::Unbounded => LeafPosition::First,
        }
    }

    /// Returns the leaf that contains the upper bound.
    pub(crate) fn last_leaf(self) -> LeafPosition<'a> {
        match self.upper {
            Bound::Included(key) | Bound::Excluded(key) => LeafPosition::Key(key),
            Bound::Unbounded => LeafPosition::Last,
        }
    }

    /// Returns whether all leaves to the right of this one are outside the range.
    pub(crate) fn ends_in(self, leaf: View<'_>) -> bool {
        let Some(high) = leaf.high_fence() else { return true };
        match self.upper {
            Bound::Included(upper) => high.compare(upper).is_gt(),
            Bound::Excluded(upper) => high.compare(upper).is_ge(),
            Bound::Unbounded => false,
        }
    }

    pub(crate) fn contains(self, key: KeyParts<'_>) -> bool {
        let after_lower = match self.lower {
            Bound::Included(lower) => key.compare(lower).is_ge(),
            Bound::Excluded(lower) => key.compare(lower).is_gt(),
            Bound::Unbounded => true,
        };
        let before_upper = match self.upper {
            Bound::Included(upper) => key.compare(upper).is_le(),
            Bound::Excluded(upper) => key.compare(upper).is_lt(),
            Bound::Unbounded => true,
        };
        after_lower && before_upper
    }

    /// Returns the items of a leaf that are outside the range, each as a separate item run.
    pub(crate) fn outside(self, leaf: View<'_>) -> Items<'_> {
        let mut outside = Items::default();
        for item_run in leaf_items(leaf, None).item_runs {
            let kept = item_run.items().filter(|&item| !self.contains(item_run.key(item)));
            kept.for_each(|item| outside.push(ItemRun::one(item_run.prefix, item)));
        }
        outside
    }

    /// Passes the items of a leaf inside the range to a function, with their keys.
    pub(crate) fn each_inside<'v>(self, leaf: View<'v>, mut each: impl FnMut(KeyParts<'_>, Item<'v>)) {
        for item_run in leaf_items(leaf, None).item_runs {
            for item in item_run.items() {
                let key = item_run.key(item);
                if self.contains(key) {
                    each(key, item);
                }
            }
        }
    }
}
