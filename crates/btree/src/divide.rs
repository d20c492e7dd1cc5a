//! Dividing the items of one or more nodes among new nodes, evenly by bytes.

use std::ops::Range;

use honeycomb_memory::Lid;

use crate::builder::{Fences, Plan, fences_bytes};
use crate::item::Item;
use crate::key::{prefix_length, separator};
use crate::piece::{Piece, item_bytes_with_prefix};
use crate::shape::Shape;

/// How to divide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    /// Into this many nodes of similar size, or more if they do not fit.
    Evenly(usize),
    /// All but the last item into the first node: keys are arriving in order.
    LastApart,
}

/// What one of the new nodes will hold.
pub(crate) struct Part<'a> {
    pub(crate) low: Vec<u8>,
    pub(crate) high: Option<Vec<u8>>,
    /// Interior nodes only.
    pub(crate) leftmost: Option<Lid>,
    pub(crate) pieces: Vec<Piece<'a>>,
}

impl Part<'_> {
    /// The node to build, with these siblings if it is a leaf.
    pub(crate) fn plan(&self, level: usize, left: Option<Lid>, right: Option<Lid>) -> Plan<'_> {
        let left = if level == 0 { left } else { self.leftmost };
        let right = right.filter(|_| level == 0);
        Plan { level, low: &self.low, high: self.high.as_deref(), left, right, pieces: &self.pieces }
    }
}

/// One item, by the piece it is in.
struct Unit<'a> {
    piece: usize,
    offset: usize,
    item: Item<'a>,
}

/// The items of a run of nodes.
struct Run<'a, 'p> {
    shape: &'a Shape,
    level: usize,
    fences: &'a Fences,
    leftmost: Option<Lid>,
    pieces: &'p [Piece<'a>],
    units: Vec<Unit<'a>>,
}

/// Divides `pieces` among as many nodes as `share` says and as fit; `leftmost` is given for interior nodes.
pub(crate) fn divide<'a>(
    shape: &'a Shape,
    level: usize,
    fences: &'a Fences,
    leftmost: Option<Lid>,
    pieces: &[Piece<'a>],
    share: Share,
) -> Vec<Part<'a>> {
    let run = Run { shape, level, fences, leftmost, pieces, units: units(pieces) };
    if share == Share::LastApart && run.units.len() > 1 {
        let parts = run.parts(&[run.units.len() - 1]);
        if parts.iter().all(|part| run.fits(part, false)) {
            return parts;
        }
    }
    let wanted = if let Share::Evenly(nodes) = share { nodes } else { 2 };
    for nodes in wanted..=run.units.len() {
        let parts = run.parts(&run.cuts(nodes));
        if parts.iter().all(|part| run.fits(part, true)) {
            return parts;
        }
    }
    // Fewer items than nodes wanted: as many nodes as there are items, or an empty one.
    let parts = run.parts(&run.cuts(run.units.len().max(1)));
    assert!(parts.iter().all(|part| run.fits(part, false)), "the limits of keys and values let one item fit");
    parts
}

fn units<'a>(pieces: &[Piece<'a>]) -> Vec<Unit<'a>> {
    let mut units = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let mut offset = 0;
        for item in piece.items() {
            units.push(Unit { piece: index, offset, item });
            offset += item.bytes.len();
        }
    }
    units
}

impl<'a> Run<'a, '_> {
    fn fits(&self, part: &Part<'_>, with_room: bool) -> bool {
        let room = if with_room { log_room(self.shape, self.level) } else { 0 };
        part.plan(self.level, None, None).sorted_bytes() + room <= self.shape.block_bytes()
    }

    /// Where to cut for `nodes` nodes: each cut is the first unit of the next node.
    fn cuts(&self, nodes: usize) -> Vec<usize> {
        let prefix = prefix_length(&self.fences.low, self.fences.high.as_deref());
        let bytes = |unit: &Unit<'a>| {
            item_bytes_with_prefix(self.pieces[unit.piece].key(unit.item), unit.item, prefix)
        };
        let total: usize = self.units.iter().map(bytes).sum();
        let (mut cuts, mut before) = (Vec::new(), 0);
        for (index, unit) in self.units.iter().enumerate() {
            let goal = total * (cuts.len() + 1) / nodes;
            if index > 0 && cuts.len() + 1 < nodes && before + bytes(unit) / 2 >= goal {
                cuts.push(index);
            }
            before += bytes(unit);
        }
        cuts
    }

    fn parts(&self, cuts: &[usize]) -> Vec<Part<'a>> {
        let mut parts = Vec::with_capacity(cuts.len() + 1);
        let (mut start, mut low, mut leftmost) = (0, self.fences.low.clone(), self.leftmost);
        for &cut in cuts {
            let high = self.separator(cut);
            parts.push(Part { low, high: Some(high.clone()), leftmost, pieces: self.slice(start..cut) });
            // Between interior nodes the item at the cut moves up: its key is the fence, its child the
            // leftmost.
            (low, start) = (high, cut + usize::from(self.level > 0));
            leftmost = (self.level > 0).then(|| self.units[cut].item.child());
        }
        let high = self.fences.high.clone();
        parts.push(Part { low, high, leftmost, pieces: self.slice(start..self.units.len()) });
        parts
    }

    /// The fence between the units before and from `cut`.
    fn separator(&self, cut: usize) -> Vec<u8> {
        let key = |unit: &Unit<'a>| self.pieces[unit.piece].key(unit.item);
        let right = key(&self.units[cut]);
        if self.level > 0 { right.to_vec() } else { separator(key(&self.units[cut - 1]), right) }
    }

    /// The pieces of a range of units.
    fn slice(&self, range: Range<usize>) -> Vec<Piece<'a>> {
        let mut slices: Vec<Piece<'a>> = Vec::new();
        let mut start = range.start;
        while start < range.end {
            let piece = self.pieces[self.units[start].piece];
            let rest = &self.units[start..range.end];
            let count = rest.partition_point(|unit| unit.piece == self.units[start].piece);
            let last = &rest[count - 1];
            let bytes = &piece.bytes[self.units[start].offset..last.offset + last.item.bytes.len()];
            slices.push(Piece { prefix: piece.prefix, bytes });
            start += count;
        }
        slices
    }
}

/// Bytes of a leaf that are kept free for its log when it is built: fewer than the log may grow to, so that
/// leaves can be fuller, at the price of merging the fullest ones more often.
pub(crate) fn log_room(shape: &Shape, level: usize) -> usize {
    if level == 0 { shape.log_threshold_bytes.min(shape.block_bytes() / 40) } else { 0 }
}

/// Whether a node with these fences and pieces can be one node.
pub(crate) fn fits_one(shape: &Shape, plan: &Plan<'_>) -> bool {
    plan.sorted_bytes() + log_room(shape, plan.level) <= shape.block_bytes()
}

/// Bytes of the fences and of the pieces under the prefix that the fences share.
pub(crate) fn run_bytes(fences: &Fences, pieces: &[Piece<'_>]) -> usize {
    let prefix = prefix_length(&fences.low, fences.high.as_deref());
    let items: usize = pieces.iter().map(|piece| piece.bytes_with_prefix(prefix)).sum();
    fences_bytes(&fences.low, fences.high.as_deref()) + items
}
