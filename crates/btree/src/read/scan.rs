//! Scans: the pairs between two bounds, in order, all of one version.

use std::ops::{Bound, ControlFlow};

use honeycomb_layout::node_header;

use crate::forest::Root;
use crate::node::in_node::InNode;
use crate::node::item::Item;
use crate::node::key::SearchKey;
use crate::node::shape::LEAF;
use crate::node::view::View;
use crate::read::cursor::Cursor;
use crate::read::descent::{Descent, Landing};
use crate::read::pair::Pair;
use crate::read::reader::{LeafPosition, Reader};
use crate::read::run::{Emit, OneByOne, Run};
use crate::read::search::lower_bound;

/// Which pairs to scan, and how.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    /// Where the range begins.
    pub lower: Bound<&'a [u8]>,
    /// Where the range ends.
    pub upper: Bound<&'a [u8]>,
    /// Forward scans only: start at the largest key not greater than the key of `lower`, included or not, if
    /// there is one, although it may lie before the range (Honeycomb, section 3: what a map of file offsets
    /// needs).
    pub floor_start: bool,
    /// From the end of the range to its beginning.
    pub backward: bool,
    /// Leave out the values.
    pub keys_only: bool,
    /// Most pairs.
    pub limit: usize,
}

impl Default for Scan<'_> {
    fn default() -> Self {
        Self {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            floor_start: false,
            backward: false,
            keys_only: false,
            limit: usize::MAX,
        }
    }
}

impl<'a> Scan<'a> {
    /// The key that leads to the first leaf; none if the scan starts at an end of the tree.
    #[must_use]
    pub fn start(&self) -> Option<&'a [u8]> {
        match if self.backward { self.upper } else { self.lower } {
            Bound::Included(key) | Bound::Excluded(key) => Some(key),
            Bound::Unbounded => None,
        }
    }
}

impl<'r> Descent<'r, '_> {
    /// Scans a range whose [`Scan::start`] is the key of this descent, once it has landed, handing the pairs
    /// to `emit` until it breaks or the limit is reached.
    ///
    /// # Panics
    /// If it has not landed.
    pub fn scan_into(&self, scan: &Scan<'_>, emit: &mut impl Emit) {
        debug_assert_eq!(scan.start(), Some(self.key()));
        let (reader, root) = (self.reader(), self.root());
        if let Some(landing) = self.landing() {
            RunningScan { reader, root, scan, landing: Some(landing), remaining: scan.limit, emit }.run();
        }
    }
}

impl Reader<'_> {
    /// Scans a range, handing each pair to `emit` until it breaks or the limit is reached.
    pub fn scan(&self, root: Root, scan: &Scan<'_>, emit: impl FnMut(&Pair<'_>) -> ControlFlow<()>) {
        self.scan_into(root, scan, &mut OneByOne(emit));
    }

    /// Scans a range, handing the pairs to `emit` until it breaks or the limit is reached.
    pub fn scan_into(&self, root: Root, scan: &Scan<'_>, emit: &mut impl Emit) {
        match scan.start() {
            Some(key) => self.descend_to_scan(root, key, scan.limit).descend().scan_into(scan, emit),
            None => {
                RunningScan { reader: self, root, scan, landing: None, remaining: scan.limit, emit }.run()
            }
        }
    }

    /// The leaf right of `leaf` at this reader's version.
    fn right_of<'s>(&'s self, root: Root, leaf: View<'s>) -> Option<View<'s>> {
        let sibling = leaf.right()?;
        self.node(sibling).or_else(|| {
            self.forest().counters.scan_descents.add(1);
            let fence = leaf.high_fence().expect("a leaf with a right sibling has a high fence");
            self.land(root, &fence.to_vec()).map(|landing| landing.leaf)
        })
    }

    /// The leaf left of `leaf` at this reader's version.
    fn left_of<'s>(&'s self, root: Root, leaf: View<'s>) -> Option<View<'s>> {
        let sibling = leaf.left()?;
        self.node(sibling).or_else(|| {
            self.forest().counters.scan_descents.add(1);
            self.descend(root, LeafPosition::Before(leaf.low_fence()))
        })
    }
}

/// Bytes that a pair is taken to have, when it is said whether a scan goes beyond a leaf.
const PAIR_BYTES: usize = 32;
/// Bytes of a sorted block that are asked for before a scan comes to its leaf.
const FIRST_PAIRS_BYTES: usize = 256;

/// A scan under way.
struct RunningScan<'s, 'q, 'e, E> {
    reader: &'s Reader<'s>,
    root: Root,
    scan: &'q Scan<'q>,
    /// The leaf that it starts in, if a key leads there.
    landing: Option<Landing<'s>>,
    /// Pairs that may still be emitted.
    remaining: usize,
    emit: &'e mut E,
}

/// A bound, seen from one leaf.
enum LeafBound<'q> {
    /// Every key of the leaf is on the inner side of the bound.
    Inside,
    /// The bound lies among the leaf's keys, at this suffix, which it excludes or not.
    At { suffix: &'q [u8], excluded: bool },
}

impl<'s, E: Emit> RunningScan<'s, '_, '_, E> {
    fn run(mut self) {
        if self.remaining > 0 {
            let _ = if self.scan.backward { self.backward() } else { self.forward() };
        }
    }

    fn forward(&mut self) -> ControlFlow<()> {
        let Some((mut leaf, mut cursor)) = self.first() else { return ControlFlow::Break(()) };
        loop {
            self.prefetch_right_of(leaf, &cursor);
            let (upper, prefix) = (upper_in_leaf(leaf, self.scan.upper), leaf.prefix_in_node());
            let run_end = self.run_end(leaf, &upper);
            loop {
                self.emit_run(leaf, prefix, &mut cursor, run_end)?;
                let Some(item) = cursor.next() else { break };
                if let LeafBound::At { suffix, excluded } = upper
                    && is_beyond(item.suffix(), suffix, excluded)
                {
                    return ControlFlow::Break(());
                }
                self.emit(prefix, item)?;
            }
            if matches!(upper, LeafBound::At { .. }) {
                return ControlFlow::Break(());
            }
            let Some(next) = self.reader.right_of(self.root, leaf) else { return ControlFlow::Break(()) };
            leaf = next;
            cursor = Cursor::at_start(leaf, self.reader.version());
        }
    }

    fn backward(&mut self) -> ControlFlow<()> {
        let Some((mut leaf, mut cursor)) = self.last() else { return ControlFlow::Break(()) };
        loop {
            let (lower, prefix) = (lower_in_leaf(leaf, self.scan.lower), leaf.prefix_in_node());
            while let Some(item) = cursor.previous() {
                if let LeafBound::At { suffix, excluded } = lower
                    && is_beyond(suffix, item.suffix(), excluded)
                {
                    return ControlFlow::Break(());
                }
                self.emit(prefix, item)?;
            }
            if matches!(lower, LeafBound::At { .. }) {
                return ControlFlow::Break(());
            }
            let Some(next) = self.reader.left_of(self.root, leaf) else { return ControlFlow::Break(()) };
            leaf = next;
            cursor = Cursor::at_end(leaf, self.reader.version());
        }
    }

    /// Asks for the beginning of the next leaf, if the scan is likely to get there.
    #[inline]
    fn prefetch_right_of(&self, leaf: View<'s>, cursor: &Cursor<'s>) {
        if cursor.bytes_left() / PAIR_BYTES < self.remaining
            && let Some(right) = leaf.right()
        {
            let start = self.reader.forest().geometry().sorted_start(LEAF);
            let right = self.reader.current(right);
            right.prefetch(0, node_header::SIZE);
            right.prefetch(start, start + FIRST_PAIRS_BYTES);
        }
    }

    /// Offset up to which sorted items of a leaf need no look at the upper bound.
    #[inline]
    fn run_end(&self, leaf: View<'s>, upper: &LeafBound<'_>) -> usize {
        match upper {
            _ if self.scan.keys_only => 0,
            LeafBound::Inside => leaf.sorted_end(),
            LeafBound::At { suffix, .. } => lower_bound(leaf, &SearchKey::new(suffix)).offset,
        }
    }

    /// Offers sorted items up to an offset that no log entry is in the way of.
    #[inline]
    fn emit_run(
        &mut self,
        leaf: View<'s>,
        prefix: InNode<'s>,
        cursor: &mut Cursor<'s>,
        end: usize,
    ) -> ControlFlow<()> {
        let (start, end) = cursor.sorted_run(end);
        if start < end {
            let mut run = Run::new(prefix, leaf.from(start), end - start, self.remaining);
            self.emit.run(&mut run);
            cursor.skip_to(end - run.bytes_left());
            self.remaining = run.pairs_left();
        }
        if self.remaining == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    #[inline]
    fn emit(&mut self, prefix: InNode<'s>, item: Item<'s>) -> ControlFlow<()> {
        let separate_value =
            if self.scan.keys_only { Some(&[][..]) } else { self.reader.overflow_value(item) };
        self.emit.pair(&Pair { prefix, item, separate_value })?;
        self.remaining -= 1;
        if self.remaining == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Where a forward scan starts.
    fn first(&self) -> Option<(View<'s>, Cursor<'s>)> {
        let version = self.reader.version();
        let (Some(landing), Bound::Included(key) | Bound::Excluded(key)) = (self.landing, self.scan.lower)
        else {
            let leaf = self.reader.descend(self.root, LeafPosition::First)?;
            return Some((leaf, Cursor::at_start(leaf, version)));
        };
        let after = matches!(self.scan.lower, Bound::Excluded(_));
        let floor = if self.scan.floor_start { self.floor(landing, key) } else { None };
        floor.or_else(|| Some((landing.leaf, Cursor::at_key(landing, version, key, after))))
    }

    /// Before the largest key not greater than `key`, in this leaf or one on its left.
    fn floor(&self, landing: Landing<'s>, key: &[u8]) -> Option<(View<'s>, Cursor<'s>)> {
        let version = self.reader.version();
        let (mut leaf, mut cursor) = (landing.leaf, Cursor::at_key(landing, version, key, true));
        while cursor.previous().is_none() {
            leaf = self.reader.left_of(self.root, leaf)?;
            cursor = Cursor::at_end(leaf, version);
        }
        Some((leaf, cursor))
    }

    /// Where a backward scan starts.
    fn last(&self) -> Option<(View<'s>, Cursor<'s>)> {
        let version = self.reader.version();
        let (Some(landing), Bound::Included(key) | Bound::Excluded(key)) = (self.landing, self.scan.upper)
        else {
            let leaf = self.reader.descend(self.root, LeafPosition::Last)?;
            return Some((leaf, Cursor::at_end(leaf, version)));
        };
        let after = matches!(self.scan.upper, Bound::Included(_));
        Some((landing.leaf, Cursor::at_key(landing, version, key, after)))
    }
}

/// Whether `key` lies after `bound`, or at it if the bound is excluded.
#[inline]
fn is_beyond(key: &[u8], bound: &[u8], excluded: bool) -> bool {
    if excluded { key >= bound } else { key > bound }
}

fn upper_in_leaf<'q>(leaf: View<'_>, upper: Bound<&'q [u8]>) -> LeafBound<'q> {
    let (key, excluded) = match upper {
        Bound::Unbounded => return LeafBound::Inside,
        Bound::Included(key) => (key, false),
        Bound::Excluded(key) => (key, true),
    };
    let beyond_leaf = leaf.high_fence().is_some_and(|high| high.compare(key).is_le());
    if beyond_leaf {
        return LeafBound::Inside;
    }
    // A key below the low fence ends the scan at the first pair, as the smallest suffix does.
    let suffix = key.strip_prefix(leaf.prefix()).unwrap_or(&[]);
    LeafBound::At { suffix, excluded: excluded || key < leaf.low_fence() }
}

fn lower_in_leaf<'q>(leaf: View<'_>, lower: Bound<&'q [u8]>) -> LeafBound<'q> {
    let (key, excluded) = match lower {
        Bound::Unbounded => return LeafBound::Inside,
        Bound::Included(key) => (key, false),
        Bound::Excluded(key) => (key, true),
    };
    if key < leaf.low_fence() {
        return LeafBound::Inside;
    }
    match key.strip_prefix(leaf.prefix()) {
        Some(suffix) => LeafBound::At { suffix, excluded },
        // Beyond the high fence: no key of the leaf is in the range.
        None => LeafBound::At { suffix: BEYOND_ALL, excluded: true },
    }
}

/// Not smaller than any key suffix.
const BEYOND_ALL: &[u8] = &[0xff; honeycomb_layout::KEY_BYTES_MAX + 1];
