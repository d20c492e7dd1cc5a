//! Compaction: joins of leaves that deletes have left sparse, wherever they are.
//!
//! A delete leaves a marker in the log of its leaf, and a log is merged only when it is full; so leaves can
//! hold little or nothing for ever. Two things deal with that:
//! - a write that leaves its leaf less than a quarter full, or another half emptier than that, looks for a
//!   join
//!   once it is committed (`tend`);
//! - a pass goes over the leaves of a tree in key order, some at a time, and joins what is too empty
//!   ([`Forest::compact`]).
//!
//! The invariant, after a pass during which nothing shrank: of the leaves under one parent any two that are
//! adjacent hold more than 9/10 of a block together, and any three more than 18/10; so do two adjacent
//! interior nodes under one parent, of theirs. For at each leaf the pass looks whether it and those after it
//! fit into fewer leaves that are filled to 9/10, as a loader fills them. If so it replaces them and looks at
//! the same place again; each time there are fewer leaves, so this ends. If not it goes on, and what it has
//! passed stays as it is, since a join further right only makes a right neighbour fuller. Hence leaves are
//! filled to 9/20 on average or more, but for one that is the only child of its parent, which then has full
//! neighbours. So there are at most twice the leaves of a tree that is loaded with the same pairs.
//!
//! Two adjacent leaves are never both empty then, so a scan passes no more leaves than those with pairs and
//! as many. Mostly none is: an empty leaf is joined to one that has room for its fence, however full, and
//! shares the pairs of one that has not.
//!
//! Each join is a transaction like any other change of structure: what was found is looked at again under the
//! locks. If it fails nothing has changed, and the pass can be taken up at the same place.

use honeycomb_layout::child;
use honeycomb_memory::Lid;

use crate::error::Error;
use crate::forest::{Forest, Root};
use crate::node::fences::Fences;
use crate::node::item::HEADER_BYTES;
use crate::node::live::Live;
use crate::node::shape::{LEAF, Shape};
use crate::node::view::View;
use crate::read::reader::{LeafPosition, child_toward};
use crate::read::search::{child_after, child_at, child_before};
use crate::write::divide::log_room;
use crate::write::restructure::Ends;
use crate::write::sparse::Shrunk;
use crate::write::transaction::{Abort, End, WriteTransaction};

/// What a step of a pass came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Leaves that it looked at, and those that it replaced.
    pub leaves: usize,
    /// Nodes that the tree has fewer.
    pub freed: usize,
    /// Whether the pass has come to the end of the tree.
    pub is_done: bool,
}

/// Most leaves that are replaced at once. All of them are locked for that.
const RUN_MAX: usize = 16;

/// Part of a step under one transaction.
struct Step {
    leaves: usize,
    freed: usize,
    /// Where to go on; none at the end of the tree.
    next: Option<Vec<u8>>,
}

/// Leaves at the start of a list that can be replaced by fewer, or by as many with none of them empty.
struct MergePlan {
    count: usize,
    nodes: usize,
}

impl Forest {
    /// Goes on with a pass over a tree from `place`, where an empty one begins: looks at about as many leaves
    /// as `leaves` says, joins those that fit into fewer, and sets `place` to where to go on. A leaf that is
    /// looked at costs up to a microsecond, one that is replaced several.
    ///
    /// # Errors [`Error::Memory`] if there is no room for a joined node. What was joined before stays so, and
    /// the pass can go on.
    pub fn compact(&self, root: Root, position: &mut Vec<u8>, leaves: usize) -> Result<Compacted, Error> {
        let mut compacted = Compacted::default();
        while compacted.leaves < leaves && !compacted.is_done {
            let left = leaves - compacted.leaves;
            let (step, _) = self.transact(|transaction| transaction.compact(root, position, left))?;
            compacted.leaves += step.leaves;
            compacted.freed += step.freed;
            compacted.is_done = step.next.is_none();
            *position = step.next.unwrap_or_default();
        }
        Ok(compacted)
    }

    /// Looks for joins of leaves that writes have left sparse. If there is no room for them they stay for the
    /// next pass.
    #[cold]
    pub(crate) fn compact_sparse_leaves(&self, shrunk: Shrunk) {
        for (root, key) in shrunk.sparse {
            let _ = self.transact(|transaction| {
                let start = transaction.left_neighbour(root, &key)?;
                transaction.compact(root, &start, 2)
            });
        }
    }
}

impl WriteTransaction<'_> {
    /// Looks at some leaves from a key on, up to the first join.
    fn compact(&mut self, root: Root, position: &[u8], leaves: usize) -> Result<End<Step>, Abort> {
        let path = self.path(root, position, LEAF);
        let Some(&parent) = path.last() else {
            return Ok(End::RollBack(Step { leaves: 1, freed: 0, next: None }));
        };
        let children = self.children_from(parent, position, leaves + RUN_MAX)?;
        let starts = children.len().min(leaves);
        for start in 0..starts {
            let Some(MergePlan { count, nodes }) = self.find_merge(&children[start..]) else { continue };
            let run = &children[start..start + count];
            let (low, next) = (self.view_of(run[0]).low_fence().to_vec(), self.end_of(run[count - 1]));
            let new_nodes = self.merge(root, run, nodes)?;
            let leaves = start + count;
            return Ok(if new_nodes < count || new_nodes == nodes {
                End::Commit(Step { leaves, freed: count - new_nodes, next: Some(low) })
            } else {
                // They have grown meanwhile, or they do not fit as well with the fences that they have then.
                End::RollBack(Step { leaves, freed: 0, next })
            });
        }
        let last = children[starts - 1];
        // What is below the parent is compact by now, and so is its left neighbour.
        if starts == children.len() && self.merge_interiors(root, &path)? {
            let low = self.view_of(last).low_fence().to_vec();
            return Ok(End::Commit(Step { leaves: starts + RUN_MAX, freed: 1, next: Some(low) }));
        }
        Ok(End::RollBack(Step { leaves: starts, freed: 0, next: self.end_of(last) }))
    }

    /// The first key that is routed to the right of a node.
    fn end_of(&self, lid: Lid) -> Option<Vec<u8>> {
        self.view_of(lid).high_fence().map(|high| high.to_vec())
    }

    /// The children of a parent of leaves from the one of a key on: at most so many.
    fn children_from(&self, parent: Lid, key: &[u8], most: usize) -> Result<Vec<Lid>, Abort> {
        let view = self.above_leaves(parent)?;
        let first = child_toward(view, LeafPosition::Key(key)).0;
        let positions = std::iter::successors(Some(first), |&position| child_after(view, position));
        Ok(positions.take(most).map(|position| child_at(view, position)).collect())
    }

    /// A node that was a parent of leaves when a path led to it. If it is the root, it can have become a leaf
    /// or have grown since: nothing on the path is locked.
    fn above_leaves(&self, parent: Lid) -> Result<View<'_>, Abort> {
        let view = self.view_of(parent);
        if view.level() == LEAF + 1 { Ok(view) } else { Err(Abort::Conflict) }
    }

    /// The low fence of the leaf left of the one of a key, if they have one parent; else of that one.
    fn left_neighbour(&self, root: Root, key: &[u8]) -> Result<Vec<u8>, Abort> {
        let path = self.path(root, key, LEAF);
        let Some(&parent) = path.last() else { return Ok(Vec::new()) };
        let view = self.above_leaves(parent)?;
        let position = child_toward(view, LeafPosition::Key(key)).0;
        let left = child_before(view, position).unwrap_or(position);
        Ok(self.view_of(child_at(view, left)).low_fence().to_vec())
    }

    /// Whether leaves from the first of a list on fit into fewer: as many as fit into one, or else three into
    /// two. If an empty one does not even fit to a full one, they share what that has.
    fn find_merge(&self, leaves: &[Lid]) -> Option<MergePlan> {
        let (shape, first) = (self.forest.shape(), self.view_of(*leaves.first()?));
        let (mut live, mut count, mut is_one_empty) = (Live::of(first), 1, false);
        for &lid in leaves.iter().take(RUN_MAX).skip(1) {
            let last = self.view_of(lid);
            let more = Live::of(last);
            is_one_empty = live.is_empty() || more.is_empty();
            live = live.and(more);
            let room =
                if is_one_empty { block_bytes_max(shape, LEAF) } else { merged_bytes_max(shape, LEAF) };
            if live.sorted_bytes(Fences::spanning(first, last)) > room {
                break;
            }
            count += 1;
        }
        match count {
            1 if is_one_empty => Some(MergePlan { count: 2, nodes: 2 }),
            1 => self.three_into_two(first, live, *leaves.get(2)?),
            _ => Some(MergePlan { count, nodes: 1 }),
        }
    }

    fn three_into_two(&self, first: View<'_>, two: Live, third: Lid) -> Option<MergePlan> {
        let last = self.view_of(third);
        let bytes = two.and(Live::of(last)).sorted_bytes(Fences::spanning(first, last));
        (bytes <= 2 * merged_bytes_max(self.forest.shape(), LEAF)).then_some(MergePlan { count: 3, nodes: 2 })
    }

    /// Replaces adjacent leaves by so many, if they fit: by how many it did. If they are not fewer, none of
    /// it is to be committed.
    fn merge(&mut self, root: Root, leaves: &[Lid], nodes: usize) -> Result<usize, Abort> {
        let held = leaves.iter().map(|&lid| self.lock(lid)).collect::<Result<Vec<_>, _>>()?;
        let new_nodes = self.merge_leaves(root, &held, nodes)?;
        if new_nodes < leaves.len() {
            self.forest.counters.compactions.add(1);
        }
        Ok(new_nodes)
    }

    /// Joins the last node of a path with its left neighbour, if they fit into one, or else the one above it
    /// if it ends where that does, and so on: whether it did.
    fn merge_interiors(&mut self, root: Root, path: &[Lid]) -> Result<bool, Abort> {
        for step in path.windows(2).rev() {
            let (parent, node) = (self.view_of(step[0]), self.view_of(step[1]));
            // The root can have grown or shrunk since the path was found.
            if parent.level() != node.level() + 1 {
                return Err(Abort::Conflict);
            }
            let position = child_toward(parent, LeafPosition::Key(node.low_fence())).0;
            if let Some(left) = child_before(parent, position) {
                let (left, goal) =
                    (child_at(parent, left), merged_bytes_max(self.forest.shape(), node.level()));
                if merged_bytes(self.view_of(left), node) <= goal {
                    let ends = Ends { first: self.lock(left)?, last: self.lock(step[1])? };
                    if merged_bytes(self.view(ends.first), self.view(ends.last)) > goal {
                        return Err(Abort::Conflict);
                    }
                    self.merge_interior_nodes(root, ends)?;
                    return Ok(true);
                }
            }
            if child_after(parent, position).is_some() {
                return Ok(false);
            }
        }
        Ok(false)
    }
}

/// Bytes that a node may have after a join: as many as a loader gives it.
fn merged_bytes_max(shape: &Shape, level: usize) -> usize {
    (shape.block_bytes(level) * 9 / 10).min(block_bytes_max(shape, level))
}

/// Bytes that a node may have: so many after a join with an empty one.
fn block_bytes_max(shape: &Shape, level: usize) -> usize {
    shape.block_bytes(level) - log_room(shape, level)
}

/// No fewer bytes than the sorted block of two adjacent interior nodes takes as one. The fence between them
/// becomes an item.
fn merged_bytes(left: View<'_>, right: View<'_>) -> usize {
    let prefix = Fences::spanning(left, right).prefix_length();
    let bytes = |view: View<'_>| {
        let whole = view.sorted_end() - view.sorted_start();
        whole + (1 + view.sorted_count()) * (view.prefix_length() - prefix)
    };
    bytes(left) + bytes(right) + HEADER_BYTES + child::SIZE
}
