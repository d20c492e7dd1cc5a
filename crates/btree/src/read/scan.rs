//! Scans: the pairs between two bounds, in order, all at one version.

use std::ops::{Bound, ControlFlow, Range};

use crate::forest::Root;
use crate::node::in_node::InNode;
use crate::node::item::Item;
use crate::node::key::SearchKey;
use crate::node::search::lower_bound;
use crate::node::shape::BLOCK_START;
use crate::node::suffix::Suffix;
use crate::node::view::View;
use crate::read::cursor::{Cursor, next_back_pointer, start_in_leaf};
use crate::read::descent::{Descent, Landing};
use crate::read::pair::Pair;
use crate::read::reader::{LeafPosition, Reader};
use crate::read::run::{Emit, OneByOne, PairRun, prefix_of};

/// The parameters of a scan.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    /// The lower bound of the range.
    pub lower: Bound<&'a [u8]>,
    /// The upper bound of the range.
    pub upper: Bound<&'a [u8]>,
    /// Forward scans only: start at the largest key that is not greater than the key of `lower`, even if that
    /// key is outside the range. A map of file offsets needs this (Honeycomb, section 3).
    pub floor_start: bool,
    /// Scan from the upper bound to the lower bound.
    pub backward: bool,
    /// Omit the values.
    pub keys_only: bool,
    /// Maximum number of pairs.
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
    /// Returns the key that selects the first leaf; `None` when the scan starts at an end of the tree.
    #[must_use]
    pub fn start(&self) -> Option<&'a [u8]> {
        match if self.backward { self.upper } else { self.lower } {
            Bound::Included(key) | Bound::Excluded(key) => Some(key),
            Bound::Unbounded => None,
        }
    }
}

impl<'r> Descent<'r, '_> {
    /// Scans a range and emits its pairs until `emit` breaks or the limit is reached. The key of this descent
    /// must be the [`Scan::start`] of `scan`.
    ///
    /// # Panics
    /// If the descent is not complete.
    #[inline]
    pub fn scan_into(&self, scan: &Scan<'_>, emit: &mut impl Emit) {
        debug_assert_eq!(scan.start(), Some(self.key()));
        let (reader, root) = (self.reader(), self.root());
        if let Some(landing) = self.landing() {
            RunningScan { reader, root, scan, landing: Some(&landing), remaining: scan.limit, emit }.run();
        }
    }
}

impl Reader<'_> {
    /// Scans a range and calls `emit` with each pair until it breaks or the limit is reached.
    pub fn scan(&self, root: Root, scan: &Scan<'_>, emit: impl FnMut(&Pair<'_>) -> ControlFlow<()>) {
        self.scan_into(root, scan, &mut OneByOne(emit));
    }

    /// Scans a range and emits its pairs until `emit` breaks or the limit is reached.
    pub fn scan_into(&self, root: Root, scan: &Scan<'_>, emit: &mut impl Emit) {
        match scan.start() {
            Some(key) => {
                self.descend_to_scan(self.start(root), key, scan.limit).descend().scan_into(scan, emit)
            }
            None => {
                RunningScan { reader: self, root, scan, landing: None, remaining: scan.limit, emit }.run()
            }
        }
    }

    /// Returns the right sibling of a leaf at this reader's version.
    fn right_of<'s>(&'s self, root: Root, leaf: View<'s>) -> Option<View<'s>> {
        let sibling = leaf.right()?;
        self.node(sibling).or_else(|| {
            self.forest().counters.scan_descents.add(1);
            let fence = leaf.high_fence().expect("a leaf with a right sibling has a high fence");
            self.land(root, &fence.to_vec()).map(|landing| landing.leaf)
        })
    }

    /// Returns the left sibling of a leaf at this reader's version.
    fn left_of<'s>(&'s self, root: Root, leaf: View<'s>) -> Option<View<'s>> {
        let sibling = leaf.left()?;
        self.node(sibling).or_else(|| {
            self.forest().counters.scan_descents.add(1);
            self.descend(root, LeafPosition::Before(leaf.low_fence()))
        })
    }
}

/// Bytes of the next leaf's sorted block to prefetch.
const FIRST_HEADS_BYTES: usize = 128;

/// A scan in progress.
struct RunningScan<'s, 'q, 'e, E> {
    reader: &'s Reader<'s>,
    root: Root,
    scan: &'q Scan<'q>,
    /// The first leaf if a key selects it.
    landing: Option<&'q Landing<'s>>,
    /// Number of pairs that the scan may still emit.
    remaining: usize,
    emit: &'e mut E,
}

/// A bound of the scan relative to one leaf.
enum LeafBound<'q> {
    /// All keys of the leaf are inside the bound.
    Inside,
    /// The bound is at this suffix; `excluded` if the range excludes its key.
    At { suffix: &'q [u8], excluded: bool },
}

impl<'s, E: Emit> RunningScan<'s, '_, '_, E> {
    fn run(mut self) {
        if self.remaining > 0 {
            let _ = if self.scan.backward { self.backward() } else { self.forward() };
        }
    }

    fn forward(&mut self) -> ControlFlow<()> {
        if let (Some(landing), false) = (self.landing, self.scan.floor_start) {
            return self.forward_from(landing);
        }
        match self.first() {
            Some((leaf, cursor)) => self.forward_in(leaf, leaf.prefix_in_node(), cursor),
            None => ControlFlow::Break(()),
        }
    }

    /// Scans forward from the key of the lower bound. Most short scans end before the next log entry, so they
    /// need no cursor.
    #[inline]
    fn forward_from(&mut self, landing: &Landing<'s>) -> ControlFlow<()> {
        let (leaf, version) = (landing.leaf, self.reader.version());
        let (Bound::Included(key) | Bound::Excluded(key)) = self.scan.lower else {
            unreachable!("a scan that starts at a key has a lower bound")
        };
        let after = matches!(self.scan.lower, Bound::Excluded(_));
        let start = start_in_leaf(landing, key, after);
        let next_entry = match landing.next_entry {
            Some(next_entry) if next_entry >= start => next_entry,
            _ => next_back_pointer(leaf, version, start),
        };
        let prefix = prefix_of(leaf, key);
        if next_entry == start {
            return self.forward_in(leaf, prefix, Cursor::at_key(landing, version, key, after));
        }
        let run_end = self.run_end(leaf, &upper_in_leaf(leaf, self.scan.upper)).min(next_entry);
        let position = self.emit_run(leaf, prefix, start..run_end)?;
        self.forward_in(leaf, prefix, Cursor::new(leaf, version, position, next_entry))
    }

    /// Scans forward from a cursor in a leaf with this prefix.
    #[inline(never)]
    fn forward_in<'p>(
        &mut self,
        mut leaf: View<'s>,
        mut prefix: InNode<'p>,
        mut cursor: Cursor<'s>,
    ) -> ControlFlow<()>
    where
        's: 'p,
    {
        loop {
            self.prefetch_right_of(leaf, &cursor);
            let upper = upper_in_leaf(leaf, self.scan.upper);
            let run_end = self.run_end(leaf, &upper);
            loop {
                let position = self.emit_run(leaf, prefix, cursor.sorted_run(run_end))?;
                cursor.skip_to(position);
                let Some(item) = cursor.next() else { break };
                if let LeafBound::At { suffix, excluded } = upper
                    && is_after(item.suffix(), suffix, excluded)
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
            prefix = leaf.prefix_in_node();
            cursor = Cursor::at_start(leaf, self.reader.version());
        }
    }

    fn backward(&mut self) -> ControlFlow<()> {
        let Some((mut leaf, mut cursor)) = self.last() else { return ControlFlow::Break(()) };
        loop {
            let (lower, prefix) = (lower_in_leaf(leaf, self.scan.lower), leaf.prefix_in_node());
            while let Some(item) = cursor.previous() {
                if let LeafBound::At { suffix, excluded } = lower
                    && is_before(item.suffix(), suffix, excluded)
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

    /// Prefetches the beginning of the next leaf if the scan is likely to reach it.
    #[inline]
    fn prefetch_right_of(&self, leaf: View<'s>, cursor: &Cursor<'s>) {
        if leaf.sorted_count() - cursor.position() < self.remaining
            && let Some(right) = leaf.right()
        {
            let right = self.reader.current(right);
            right.prefetch(0, BLOCK_START + FIRST_HEADS_BYTES);
        }
    }

    /// Returns the position up to which sorted items are inside the upper bound without a comparison.
    #[inline]
    fn run_end(&self, leaf: View<'s>, upper: &LeafBound<'_>) -> usize {
        match upper {
            _ if self.scan.keys_only => 0,
            LeafBound::Inside => leaf.sorted_count(),
            LeafBound::At { suffix, .. } => lower_bound(leaf, SearchKey::new(suffix)).position,
        }
    }

    /// Emits leading pairs of a run of sorted items. Returns the position of the first item that it has not
    /// emitted.
    #[inline]
    fn emit_run<'p>(
        &mut self,
        leaf: View<'p>,
        prefix: InNode<'p>,
        items: Range<usize>,
    ) -> ControlFlow<(), usize> {
        let Range { start: mut position, end } = items;
        if position < end {
            let mut run = PairRun::new(prefix, leaf, items, self.remaining);
            self.emit.run(&mut run);
            (position, self.remaining) = (run.position(), run.pairs_left());
            if position < end && self.emit.refuses_next() {
                return ControlFlow::Break(());
            }
        }
        if self.remaining == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(position) }
    }

    #[inline]
    fn emit<'p>(&mut self, prefix: InNode<'p>, item: Item<'p>) -> ControlFlow<()>
    where
        's: 'p,
    {
        let separate_value =
            if self.scan.keys_only { Some(&[][..]) } else { self.reader.overflow_value(item) };
        self.emit.pair(&Pair { prefix, item, separate_value })?;
        self.remaining -= 1;
        if self.remaining == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Returns the leaf and the cursor at which a forward scan starts. The scan has no lower bound, or starts
    /// at the floor of its bound.
    fn first(&self) -> Option<(View<'s>, Cursor<'s>)> {
        let version = self.reader.version();
        let (Some(landing), Bound::Included(key) | Bound::Excluded(key)) = (self.landing, self.scan.lower)
        else {
            let leaf = self.reader.descend(self.root, LeafPosition::First)?;
            return Some((leaf, Cursor::at_start(leaf, version)));
        };
        let after = matches!(self.scan.lower, Bound::Excluded(_));
        let floor = self.floor(landing, key);
        floor.or_else(|| Some((landing.leaf, Cursor::at_key(landing, version, key, after))))
    }

    /// Returns a cursor before the largest key that is not greater than `key`, in this leaf or one to its
    /// left.
    fn floor(&self, landing: &Landing<'s>, key: &[u8]) -> Option<(View<'s>, Cursor<'s>)> {
        let version = self.reader.version();
        let (mut leaf, mut cursor) = (landing.leaf, Cursor::at_key(landing, version, key, true));
        while cursor.previous().is_none() {
            leaf = self.reader.left_of(self.root, leaf)?;
            cursor = Cursor::at_end(leaf, version);
        }
        Some((leaf, cursor))
    }

    /// Returns the leaf and the cursor at which a backward scan starts.
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

/// Returns whether a key is after an upper bound, or equal to it if the bound is excluded.
#[inline]
fn is_after(key: Suffix<'_>, bound: &[u8], excluded: bool) -> bool {
    let order = key.compare(bound);
    if excluded { order.is_ge() } else { order.is_gt() }
}

/// Returns whether a key is before a lower bound, or equal to it if the bound is excluded.
#[inline]
fn is_before(key: Suffix<'_>, bound: &[u8], excluded: bool) -> bool {
    let order = key.compare(bound);
    if excluded { order.is_le() } else { order.is_lt() }
}

#[inline]
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
    // A bound below the low fence ends the scan at the first pair, like the smallest suffix.
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
        // The bound is beyond the high fence: no key of the leaf is in the range.
        None => LeafBound::At { suffix: BEYOND_ALL, excluded: true },
    }
}

/// A suffix that is not smaller than any key suffix.
const BEYOND_ALL: &[u8] = &[0xff; honeycomb_layout::KEY_BYTES_MAX + 1];
