//! Pairs drawn at random: a random way down, and random pairs of the leaf where it ends.
//!
//! Each child of a node is as likely as the others, and each pair of a leaf. So all pairs are equally likely
//! as far as nodes have equally many children and leaves equally many pairs, which splits and joins see to
//! within a factor of a few. Leaves whose pairs are all deleted are drawn again.

use std::ops::{Bound, ControlFlow};

use crate::forest::Root;
use crate::node::item::Item;
use crate::node::view::View;
use crate::read::cursor::Cursor;
use crate::read::reader::Reader;
use crate::read::scan::Scan;

/// How often a leaf is drawn before the next pair in key order is taken.
const ATTEMPTS: usize = 8;

impl Reader<'_> {
    /// Hands up to `max` different pairs of one leaf to `take`, drawn at random, in the order of their keys:
    /// how many there were, which is none only if the tree has no pairs. `draw` is given a number and tells a
    /// smaller one, all equally likely.
    pub fn sample(
        &self,
        root: Root,
        max: usize,
        draw: &mut dyn FnMut(usize) -> usize,
        take: &mut dyn FnMut(&[u8], &[u8]),
    ) -> usize {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let Some(leaf) = self.random_leaf(root, draw) else { return 0 };
            let pairs = self.count(leaf);
            if pairs > 0 {
                return self.draw_pairs(leaf, pairs, max, draw, take);
            }
            last = Some(leaf);
        }
        last.map_or(0, |leaf| self.next_pair(root, leaf.low_fence(), max, take))
    }

    /// The leaf at the end of a random way down. None only if the tree is younger than the reader.
    fn random_leaf(&self, root: Root, draw: &mut dyn FnMut(usize) -> usize) -> Option<View<'_>> {
        let mut view = self.node(root.0)?;
        while !view.is_leaf() {
            let number = draw_below(view.sorted_count() + 1, draw);
            let item = number.checked_sub(1).and_then(|nth| view.items_from(view.items_start()).nth(nth));
            let child = item.map_or_else(|| view.leftmost(), |(_, item)| item.child());
            view = self.node(child).expect("a child is not younger than its parent");
        }
        Some(view)
    }

    /// How many pairs a leaf has.
    fn count(&self, leaf: View<'_>) -> usize {
        let mut cursor = Cursor::at_start(leaf, self.version());
        std::iter::from_fn(|| cursor.next()).count()
    }

    /// Takes each pair with the chance that is left for it, so that each set of pairs is as likely as others.
    fn draw_pairs(
        &self,
        leaf: View<'_>,
        pairs: usize,
        max: usize,
        draw: &mut dyn FnMut(usize) -> usize,
        take: &mut dyn FnMut(&[u8], &[u8]),
    ) -> usize {
        let wanted = max.min(pairs);
        let mut cursor = Cursor::at_start(leaf, self.version());
        let (mut taken, mut key) = (0, leaf.prefix().to_vec());
        let mut take_item = |item: Item<'_>| {
            key.truncate(leaf.prefix_length());
            key.extend_from_slice(item.suffix());
            take(&key, self.value(item));
        };
        for before in 0..pairs {
            let Some(item) = cursor.next() else { break };
            if taken < wanted && draw_below(pairs - before, draw) < wanted - taken {
                take_item(item);
                taken += 1;
            }
        }
        taken
    }

    /// The first pair from a key on, or the last one before it.
    fn next_pair(&self, root: Root, key: &[u8], max: usize, take: &mut dyn FnMut(&[u8], &[u8])) -> usize {
        let limit = max.min(1);
        let from = Scan { lower: Bound::Included(key), limit, ..Scan::default() };
        let before = Scan { upper: Bound::Excluded(key), backward: true, limit, ..Scan::default() };
        for scan in [from, before] {
            let mut found = 0;
            self.scan(root, &scan, |pair| {
                let mut key = Vec::with_capacity(pair.key_len());
                pair.copy_key_into(&mut key);
                take(&key, pair.value());
                found += 1;
                ControlFlow::Continue(())
            });
            if found > 0 {
                return found;
            }
        }
        0
    }
}

/// A number below another one, whatever `draw` does.
fn draw_below(number: usize, draw: &mut dyn FnMut(usize) -> usize) -> usize {
    draw(number).min(number - 1)
}
