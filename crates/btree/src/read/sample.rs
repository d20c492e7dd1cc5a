//! Random samples: random pairs of the leaf at the end of a random descent.
//!
//! A descent chooses among the children of a node with equal probability, and a sample among the pairs of the
//! leaf. So all pairs are equally likely if nodes have equal numbers of children and leaves equal numbers of
//! pairs. Splits and merges keep these numbers within a small factor. A descent that ends in a leaf without
//! pairs is repeated.

use std::ops::{Bound, ControlFlow};

use crate::forest::Root;
use crate::node::item::Item;
use crate::node::search::child_at;
use crate::node::view::View;
use crate::read::cursor::Cursor;
use crate::read::reader::Reader;
use crate::read::scan::Scan;

/// Number of random descents before the sample falls back to the next pair in key order.
const ATTEMPTS: usize = 8;

impl Reader<'_> {
    /// Calls `emit` with up to `max` different random pairs of one leaf, in key order, and returns their
    /// number. It returns 0 only if the tree has no pairs or `max` is 0. `draw(n)` must return a uniformly
    /// distributed number below `n`.
    pub fn sample(
        &self,
        root: Root,
        max: usize,
        draw: &mut dyn FnMut(usize) -> usize,
        emit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> usize {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let Some(leaf) = self.random_leaf(root, draw) else { return 0 };
            let pairs = self.count(leaf);
            if pairs > 0 {
                return self.draw_pairs(leaf, pairs, max, draw, emit);
            }
            last = Some(leaf);
        }
        last.map_or(0, |leaf| self.next_pair(root, leaf.low_fence(), max, emit))
    }

    /// Returns the leaf at the end of a random descent. Returns `None` only if the tree is newer than the
    /// reader.
    fn random_leaf(&self, root: Root, draw: &mut dyn FnMut(usize) -> usize) -> Option<View<'_>> {
        let mut view = self.node(root.0)?;
        while !view.is_leaf() {
            let number = draw_below(view.sorted_count() + 1, draw);
            view = self.node(child_at(view, number)).expect("a child is not newer than its parent");
        }
        Some(view)
    }

    /// Returns the number of pairs of a leaf.
    fn count(&self, leaf: View<'_>) -> usize {
        let mut cursor = Cursor::at_start(leaf, self.version());
        std::iter::from_fn(|| cursor.next()).count()
    }

    /// Selects each pair with the probability that makes all subsets of this size equally likely.
    fn draw_pairs(
        &self,
        leaf: View<'_>,
        pairs: usize,
        max: usize,
        draw: &mut dyn FnMut(usize) -> usize,
        emit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> usize {
        let wanted = max.min(pairs);
        let mut cursor = Cursor::at_start(leaf, self.version());
        let (mut emitted, mut key) = (0, leaf.prefix().to_vec());
        let mut emit_item = |item: Item<'_>| {
            key.truncate(leaf.prefix_length());
            item.suffix().copy_into(&mut key);
            emit(&key, self.value(item));
        };
        for before in 0..pairs {
            let Some(item) = cursor.next() else { break };
            if emitted < wanted && draw_below(pairs - before, draw) < wanted - emitted {
                emit_item(item);
                emitted += 1;
            }
        }
        emitted
    }

    /// Emits the first pair at or after a key, or else the last pair before it.
    fn next_pair(&self, root: Root, key: &[u8], max: usize, emit: &mut dyn FnMut(&[u8], &[u8])) -> usize {
        let limit = max.min(1);
        let from = Scan { lower: Bound::Included(key), limit, ..Scan::default() };
        let before = Scan { upper: Bound::Excluded(key), backward: true, limit, ..Scan::default() };
        for scan in [from, before] {
            let mut emitted = 0;
            self.scan(root, &scan, |pair| {
                emit(&pair.key(), pair.value());
                emitted += 1;
                ControlFlow::Continue(())
            });
            if emitted > 0 {
                return emitted;
            }
        }
        0
    }
}

/// Returns a random number below `number`, even if `draw` is incorrect.
fn draw_below(number: usize, draw: &mut dyn FnMut(usize) -> usize) -> usize {
    draw(number).min(number - 1)
}
