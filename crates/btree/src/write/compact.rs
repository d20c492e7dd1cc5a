//! Compaction: merges leaves that deletions have left sparse.
//!
//! A deletion writes a tombstone to the log block of its leaf, and only a full log block is consolidated. So
//! a leaf could keep few or no live pairs forever. Two mechanisms prevent that:
//! - a write that leaves its leaf less than a quarter full, or halves it again after that, tries to merge the
//!   leaf after the commit (`compact_sparse_leaves`);
//! - a compaction pass visits the leaves of a tree in key order, a few at a time, and merges sparse ones
//!   ([`Forest::compact`]).
//!
//! Invariant after a pass during which no pair was deleted or shortened: under one parent, the live pairs of
//! any two adjacent leaves need more than 9/10 of a block, and those of any three adjacent leaves more than
//! 18/10. Any two adjacent interior nodes under one parent also need more than 9/10 of a block. Proof: at
//! each leaf the pass checks whether this leaf and the next ones fit into fewer leaves filled to 9/10, the
//! fill factor of a bulk load. If so, it replaces them and checks the same position again; each replacement
//! leaves fewer leaves, so this ends. If not, it advances. The leaves behind it keep the invariant, because a
//! merge further right can only make their right neighbour fuller. Hence leaves are at least 9/20 full on
//! average, except one that is the only child of its parent, whose neighbours then are full. So a tree has at
//! most twice as many leaves as after a bulk load of the same pairs.
//!
//! It follows that two adjacent leaves are never both empty, so a scan visits at most two leaves for each
//! leaf with pairs. Usually no leaf is empty: an empty leaf is merged with a neighbour that has space for its
//! fence key, even if that neighbour is otherwise full. If the neighbour lacks that space, its pairs are
//! redistributed between both.
//!
//! Each merge is a transaction, like any other structural change. It checks its input again under the locks.
//! If it fails, it has changed nothing, and the pass can continue at the same position.

use honeycomb_memory::{Lid, Pin};

use crate::error::Error;
use crate::forest::{Forest, Root};
use crate::node::fences::Fences;
use crate::node::live::Live;
use crate::node::search::{child_after, child_at, child_before};
use crate::node::shape::{LEAF, Shape};
use crate::node::size::NodeKind;
use crate::node::view::View;
use crate::read::reader::{LeafPosition, child_toward};
use crate::write::children::Children;
use crate::write::divide::log_room;
use crate::write::restructure::Ends;
use crate::write::sparse::Shrunk;
use crate::write::transaction::{Abort, End, WriteTransaction};

/// The result of a step of a compaction pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Leaves that the step has checked or replaced.
    pub leaves: usize,
    /// Number of nodes by which the tree has shrunk.
    pub freed: usize,
    /// Whether the pass has reached the end of the tree.
    pub is_done: bool,
}

/// Maximum number of leaves to replace in one transaction, which locks all of them.
const RUN_MAX: usize = 16;

/// The result of one transaction of a step.
struct Step {
    leaves: usize,
    freed: usize,
    /// The key at which to continue; `None` at the end of the tree.
    next: Option<Vec<u8>>,
}

/// The first `count` leaves of a list fit into `nodes` leaves. These are fewer, or as many but none of them
/// empty.
struct MergePlan {
    count: usize,
    nodes: usize,
}

impl Forest {
    /// Executes a step of a compaction pass: checks about `leaves` leaves from the key `position` on, which
    /// is empty at the start of a pass, and merges those that fit into fewer leaves. Sets `position` to the
    /// key at which the next step continues. Checking a leaf takes up to a microsecond, replacing it several.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is no memory for a merged node. Earlier merges stay, and the pass can
    /// continue.
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

    /// Tries to merge leaves that writes have left sparse. If memory is exhausted, they stay until the next
    /// pass. `held` is the pin of a caller that holds one.
    #[cold]
    pub(crate) fn compact_sparse_leaves(&self, held: Option<&Pin<'_>>, shrunk: Shrunk) {
        for (root, key) in shrunk.sparse {
            let _ = self.transact_under(held, |transaction| {
                let start = transaction.left_neighbour(root, &key)?;
                transaction.compact(root, &start, 2)
            });
        }
    }
}

impl WriteTransaction<'_> {
    /// Checks leaves from a key on, up to the first merge.
    fn compact(&mut self, root: Root, position: &[u8], leaves: usize) -> Result<End<Step>, Abort> {
        let path = self.path(root, position, LEAF);
        let Some(&parent) = path.last() else {
            return Ok(End::RollBack(Step { leaves: 1, freed: 0, next: None }));
        };
        let children = self.children_from(parent, position, leaves.saturating_add(RUN_MAX))?;
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
                // The leaves have grown in the meantime, or do not fit because their new fence keys are
                // longer.
                End::RollBack(Step { leaves, freed: 0, next })
            });
        }
        let last = children[starts - 1];
        // The children of this parent are compact now, and so are those of its left neighbour.
        if starts == children.len() && self.merge_interiors(root, &path)? {
            let low = self.view_of(last).low_fence().to_vec();
            return Ok(End::Commit(Step { leaves: starts + RUN_MAX, freed: 1, next: Some(low) }));
        }
        Ok(End::RollBack(Step { leaves: starts, freed: 0, next: self.end_of(last) }))
    }

    /// Returns the high fence key of a node.
    fn end_of(&self, lid: Lid) -> Option<Vec<u8>> {
        self.view_of(lid).high_fence().map(|high| high.to_vec())
    }

    /// Returns at most `most` children of a parent of leaves, from the child of `key` on.
    fn children_from(&self, parent: Lid, key: &[u8], most: usize) -> Result<Vec<Lid>, Abort> {
        let view = self.above_leaves(parent)?;
        let first = child_toward(view, LeafPosition::Key(key)).0;
        let positions = std::iter::successors(Some(first), |&position| child_after(view, position));
        Ok(positions.take(most).map(|position| child_at(view, position)).collect())
    }

    /// Returns the view of a node that was a parent of leaves when the path was read. Nothing on the path is
    /// locked, so the root may have become a leaf or gained a level since.
    fn above_leaves(&self, parent: Lid) -> Result<View<'_>, Abort> {
        let view = self.view_of(parent);
        if view.level() == LEAF + 1 { Ok(view) } else { Err(Abort::Conflict) }
    }

    /// Returns the low fence key of the left neighbour of a key's leaf, or of that leaf if it is the first
    /// child of its parent.
    fn left_neighbour(&self, root: Root, key: &[u8]) -> Result<Vec<u8>, Abort> {
        let path = self.path(root, key, LEAF);
        let Some(&parent) = path.last() else { return Ok(Vec::new()) };
        let view = self.above_leaves(parent)?;
        let position = child_toward(view, LeafPosition::Key(key)).0;
        let left = child_before(position).unwrap_or(position);
        Ok(self.view_of(child_at(view, left)).low_fence().to_vec())
    }

    /// Checks whether leaves from the first of a list on fit into fewer leaves: as many as possible into one,
    /// or else three into two. If an empty leaf does not fit into a full neighbour, both share the pairs of
    /// the neighbour.
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

    /// Replaces adjacent leaves by `nodes` leaves, or more if they do not fit, and returns their number.
    fn merge(&mut self, root: Root, leaves: &[Lid], nodes: usize) -> Result<usize, Abort> {
        let locked = leaves.iter().map(|&lid| self.lock(lid)).collect::<Result<Vec<_>, _>>()?;
        let new_nodes = self.merge_leaves(root, &locked, nodes)?;
        if new_nodes < leaves.len() {
            self.structural.compactions += 1;
        }
        Ok(new_nodes)
    }

    /// Merges the last node of a path with its left neighbour if they fit into one node. Otherwise, if that
    /// node is the last child of its parent, tries the same with its parent, and so on. Returns whether it
    /// has merged two nodes.
    fn merge_interiors(&mut self, root: Root, path: &[Lid]) -> Result<bool, Abort> {
        for step in path.windows(2).rev() {
            let (parent, node) = (self.view_of(step[0]), self.view_of(step[1]));
            // The root may have gained or lost a level since the path was read.
            if parent.level() != node.level() + 1 {
                return Err(Abort::Conflict);
            }
            let position = child_toward(parent, LeafPosition::Key(node.low_fence())).0;
            if let Some(left) = child_before(position) {
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

/// Returns the maximum bytes of a merged block: the fill factor of a bulk load.
fn merged_bytes_max(shape: &Shape, level: usize) -> usize {
    (shape.block_bytes() * 9 / 10).min(block_bytes_max(shape, level))
}

/// Returns the maximum bytes of a block, also after a merge with an empty leaf.
fn block_bytes_max(shape: &Shape, level: usize) -> usize {
    shape.block_bytes() - log_room(shape, level)
}

/// Returns the bytes of the sorted block of two merged interior nodes. The fence key between them becomes the
/// key of an item.
fn merged_bytes(left: View<'_>, right: View<'_>) -> usize {
    let children = Children::of(left).followed_by(Children::of(right));
    let run = children.run();
    let prefix = run.fences.prefix_length();
    let kind = NodeKind { level: left.level(), prefix };
    kind.block_bytes(run.items.size(kind), run.fences)
}
