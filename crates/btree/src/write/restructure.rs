//! Consolidations, splits, merges, redistributions and range deletions, all as one operation.
//!
//! A run of adjacent leaves, usually a single leaf, is replaced by a new run with the same key range. If one
//! leaf replaces one leaf, it keeps its LID. Otherwise the new leaves get new LIDs, and their parent is
//! rebuilt with these. If the parent must be split, its parent is rebuilt too, and so on. Only the topmost
//! rebuilt node, the root of the split, keeps its LID: one store to the page table makes the change visible
//! to traversals, and versions hide it from older readers. The key range of a LID never changes.

use std::ops::Bound;

use honeycomb_memory::{Lid, LidReservation, NodeBuffer, Retired};

use crate::error::Error;
use crate::forest::Root;
use crate::node::columns::merge::Merge;
use crate::node::columns::patch::Patch;
use crate::node::consolidation::{Change, leaf_items};
use crate::node::fences::Fences;
use crate::node::item_run::Items;
use crate::node::key::SearchKey;
use crate::node::plan::Plan;
use crate::node::search::{LEFTMOST, child_after, child_at, child_before, child_for};
use crate::node::shape::{BLOCK_START, LEAF};
use crate::node::view::View;
use crate::read::reader::LeafPosition;
use crate::write::children::Children;
use crate::write::divide::{Distribution, NodeContents, NodeRun, divide, fits, log_room};
use crate::write::journal::RemovedPairs;
use crate::write::range::KeyRange;
use crate::write::transaction::{Abort, NodeIndex, WriteTransaction};

/// The change to the items of leaves that are rebuilt.
#[derive(Clone, Copy)]
pub(crate) enum Edit<'a> {
    /// Changes one key of one leaf.
    Change(NodeIndex, &'a Change<'a>),
    /// Deletes the keys of a range.
    Remove(KeyRange<'a>),
    /// Changes no item. The leaves between the ends of the run keep their items in the new run.
    Merge(&'a [NodeIndex]),
}

impl<'a> Edit<'a> {
    /// Returns the change to the keys of a leaf; `None` if it is more than that of one key.
    fn change_of(&self, index: NodeIndex) -> Option<Option<&'a Change<'a>>> {
        match *self {
            Edit::Change(changed, change) => Some((changed == index).then_some(change)),
            Edit::Remove(_) => None,
            Edit::Merge(_) => Some(None),
        }
    }

    /// Returns the items of a leaf after the edit.
    fn items<'p>(&'p self, index: NodeIndex, leaf: View<'p>) -> Items<'p>
    where
        'a: 'p,
    {
        match *self {
            Edit::Change(changed, change) => leaf_items(leaf, (changed == index).then_some(change)),
            Edit::Remove(range) => range.outside(leaf),
            Edit::Merge(_) => leaf_items(leaf, None),
        }
    }

    /// Returns the leaves between the ends of a run that keep their items.
    fn between(&self) -> &'a [NodeIndex] {
        if let Edit::Merge(between) = *self { between } else { &[] }
    }

    fn is_append(&self) -> bool {
        matches!(self, Edit::Change(_, change) if change.is_last)
    }
}

/// A node of a new run.
struct NewChild {
    /// The low fence key.
    low: Vec<u8>,
    lid: Lid,
}

/// The result of a consolidation.
enum Consolidated<'f> {
    /// The new leaf.
    Leaf(NodeBuffer<'f>),
    /// The bytes of its sorted block: it is to be divided or merged.
    Bytes(usize),
}

/// The ends of a run as private buffers with their log blocks merged.
type MergedEnds = [Option<Box<[u8]>>; 2];
const NOT_MERGED: MergedEnds = [None, None];

/// The first and the last of the adjacent nodes of one level to replace.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) first: NodeIndex,
    pub(crate) last: NodeIndex,
}

impl<'f> WriteTransaction<'f> {
    /// Rebuilds the leaves from `first` to `last` with an edit. Leaves between them are removed.
    pub(crate) fn rebuild(
        &mut self,
        root: Root,
        first: NodeIndex,
        last: NodeIndex,
        edit: Edit<'_>,
    ) -> Result<(), Abort> {
        let mut ends = Ends { first, last };
        let bytes = match self.consolidate(ends, &edit)? {
            Consolidated::Leaf(buffer) => return self.replace_consolidated(first, buffer),
            Consolidated::Bytes(bytes) => bytes,
        };
        let (full, _) = self.is_full_or_small(bytes);
        let append = full && edit.is_append() && self.view(last).high_fence().is_none();
        if self.must_commit() {
            return Err(Abort::Conflict);
        }
        if first == last && !append {
            ends = self.add_neighbour(root, first, bytes, full)?;
            if !full && ends.first == ends.last {
                let leaves = self.leaves(ends, &edit, &NOT_MERGED);
                let buffer = self.build(&self.consolidated(first, &leaves))?;
                drop(leaves);
                return self.replace_consolidated(first, buffer);
            }
        }
        let block = self.forest.shape().block_bytes();
        let new_nodes = self.create_leaves(ends, &edit, |bytes| {
            if append { Distribution::LastApart } else { distribution(block, ends, bytes, full) }
        })?;
        self.count_leaves(ends, new_nodes.len());
        self.replace_run(root, ends, new_nodes)
    }

    /// Replaces adjacent leaves by `nodes` leaves, or more if they do not fit, and returns their number.
    pub(crate) fn merge_leaves(
        &mut self,
        root: Root,
        leaves: &[NodeIndex],
        nodes: usize,
    ) -> Result<usize, Abort> {
        let (first, last) = (leaves[0], leaves[leaves.len() - 1]);
        let between = &leaves[1..leaves.len() - 1];
        let (ends, edit) = (Ends { first, last }, Edit::Merge(between));
        let new_nodes = self.create_leaves(ends, &edit, |_| Distribution::Evenly(nodes))?;
        let count = new_nodes.len();
        self.replace_run(root, ends, new_nodes)?;
        Ok(count)
    }

    /// Merges two adjacent interior nodes under one parent. Their children must fit into one node.
    pub(crate) fn merge_interior_nodes(&mut self, root: Root, ends: Ends) -> Result<(), Abort> {
        let children = Children::of(self.view(ends.first)).followed_by(Children::of(self.view(ends.last)));
        let run = children.run();
        let parts = divide(self.forest.shape(), &run, Distribution::Evenly(1));
        let built = self.build_parts(&parts, None, None)?;
        self.structural.interior_merges += 1;
        let new_nodes = self.create_all(built);
        self.replace_run(root, ends, new_nodes)
    }

    /// Returns whether a sorted block of this size is too large for a leaf, and whether it is so small that
    /// the leaf should be merged.
    fn is_full_or_small(&self, bytes: usize) -> (bool, bool) {
        let (shape, block) = (self.forest.shape(), self.forest.shape().block_bytes());
        (bytes + log_room(shape, LEAF) > block, bytes < block / 4)
    }

    /// Builds the leaf that replaces a single leaf unless it is to be divided or merged.
    fn consolidate(&mut self, ends: Ends, edit: &Edit<'_>) -> Result<Consolidated<'f>, Error> {
        if let Edit::Change(changed, change) = *edit {
            debug_assert_eq!(changed, ends.first);
            if let Some(consolidated) = self.consolidate_by_copies(changed, change)? {
                return Ok(consolidated);
            }
        }
        let leaves = self.leaves(ends, edit, &NOT_MERGED);
        let plan = self.consolidated(ends.first, &leaves);
        let bytes = plan.sorted_bytes();
        Ok(if ends.first == ends.last && self.is_full_or_small(bytes) == (false, false) {
            Consolidated::Leaf(self.build(&plan)?)
        } else {
            Consolidated::Bytes(bytes)
        })
    }

    /// Like `consolidate`, if no item moves or the form of the leaf stays the same.
    fn consolidate_by_copies(
        &mut self,
        leaf: NodeIndex,
        change: &Change<'_>,
    ) -> Result<Option<Consolidated<'f>>, Error> {
        let (view, memory) = (self.view(leaf), self.forest.memory());
        let stays = |bytes| self.is_full_or_small(bytes) == (false, false);
        if let Some(patch) = Patch::of(view, change).filter(|patch| stays(patch.sorted_bytes())) {
            let mut buffer = memory.allocate_node()?;
            patch.build(&mut buffer);
            self.structural.patches += 1;
            return Ok(Some(Consolidated::Leaf(buffer)));
        }
        let Some(merge) = Merge::of(view, Some(change)) else { return Ok(None) };
        let bytes = merge.sorted_bytes();
        if !stays(bytes) {
            return Ok(Some(Consolidated::Bytes(bytes)));
        }
        let mut buffer = memory.allocate_node()?;
        merge.build(&mut buffer);
        Ok(Some(Consolidated::Leaf(buffer)))
    }

    /// Returns a leaf with an edit and its log block merged, as a private buffer, if its form stays the same.
    /// The buffer may be larger than a node.
    fn merged(&self, leaf: NodeIndex, edit: &Edit<'_>) -> Option<Box<[u8]>> {
        let (view, change) = (self.view(leaf), edit.change_of(leaf)?);
        if view.log_count() == 0 && change.is_none() {
            return None;
        }
        let merge = Merge::of(view, change)?;
        let mut buffer = vec![0; BLOCK_START + merge.sorted_bytes()].into_boxed_slice();
        merge.build(&mut buffer);
        Some(buffer)
    }

    /// Returns the plan of the consolidated leaf.
    fn consolidated<'p>(&self, leaf: NodeIndex, run: &'p NodeRun<'_>) -> Plan<'p> {
        let view = self.view(leaf);
        run.plan(view.left(), view.right())
    }

    fn replace_consolidated(&mut self, leaf: NodeIndex, buffer: NodeBuffer<'f>) -> Result<(), Abort> {
        self.replace(leaf, buffer);
        self.structural.consolidations += 1;
        Ok(())
    }

    fn build(&self, plan: &Plan<'_>) -> Result<NodeBuffer<'f>, Error> {
        let forest = self.forest;
        let mut buffer = forest.memory().allocate_node()?;
        plan.build(&mut buffer);
        Ok(buffer)
    }

    /// Returns the contents of a run of leaves after an edit. Each end that was `merged` is in a buffer.
    fn leaves<'p>(&'p self, ends: Ends, edit: &'p Edit<'_>, merged: &'p MergedEnds) -> NodeRun<'p> {
        let (first, last) = (self.view(ends.first), self.view(ends.last));
        let items = |index, view, merged: &'p Option<Box<[u8]>>| match merged {
            Some(buffer) => Items::of(View::private(buffer)),
            None => edit.items(index, view),
        };
        let mut all = items(ends.first, first, &merged[0]);
        for &index in edit.between() {
            all.extend(edit.items(index, self.view(index)));
        }
        if ends.first != ends.last {
            all.extend(items(ends.last, last, &merged[1]));
        }
        NodeRun { level: 0, fences: Fences::spanning(first, last), leftmost: None, items: all }
    }

    /// Adds a neighbour under the same parent to the run, if its lock is free.
    fn add_neighbour(
        &mut self,
        root: Root,
        leaf: NodeIndex,
        bytes: usize,
        full: bool,
    ) -> Result<Ends, Abort> {
        let alone = Ends { first: leaf, last: leaf };
        let path = self.path(root, self.view(leaf).low_fence(), LEAF);
        let Some(&parent) = path.last() else { return Ok(alone) };
        let Some((left, right)) = self.neighbours(parent, leaf) else { return Err(Abort::Conflict) };
        let used = |lid: &Lid| self.view_of(*lid).used_bytes();
        let Some(lid) = [left, right].into_iter().flatten().min_by_key(used) else { return Ok(alone) };
        if !full && bytes + used(&lid) > self.forest.shape().block_bytes() * 3 / 4 {
            return Ok(alone);
        }
        Ok(match self.lock(lid) {
            Ok(other) if Some(lid) == left => Ends { first: other, last: leaf },
            Ok(other) => Ends { first: leaf, last: other },
            Err(_) => alone,
        })
    }

    /// Returns the left and the right neighbour of a child under its parent; `None` when the child has
    /// another parent by now.
    fn neighbours(&self, parent: Lid, child: NodeIndex) -> Option<(Option<Lid>, Option<Lid>)> {
        let view = self.view_of(parent);
        let position = self.position_of(view, child)?;
        let at = |position: Option<usize>| position.map(|position| child_at(view, position));
        Some((at(child_before(position)), at(child_after(view, position))))
    }

    /// Returns the position of a locked node among the children of a node.
    fn position_of(&self, parent: View<'_>, child: NodeIndex) -> Option<usize> {
        let suffix = self.view(child).low_fence().strip_prefix(parent.prefix())?;
        let (position, lid) = child_for(parent, SearchKey::new(suffix));
        (lid == self.lid(child)).then_some(position)
    }

    /// Returns the nodes above `level` on the path from the root to a key.
    pub(crate) fn path(&self, root: Root, key: &[u8], level: usize) -> Vec<Lid> {
        let (mut path, mut lid) = (Vec::new(), root.0);
        loop {
            let view = self.view_of(lid);
            if view.level() <= level {
                return path;
            }
            path.push(lid);
            lid = crate::read::reader::child_toward(view, LeafPosition::Key(key)).1;
        }
    }

    /// Builds the leaves that replace a run, and links them with each other and with the siblings of the run.
    fn create_leaves(
        &mut self,
        ends: Ends,
        edit: &Edit<'_>,
        distribution: impl FnOnce(usize) -> Distribution,
    ) -> Result<Vec<NewChild>, Abort> {
        let (left, right) = (self.left_of(ends.first), self.right_of(ends.last));
        let outer_left = left.map(|lid| self.lock(lid)).transpose()?;
        let outer_right = right.map(|lid| self.lock(lid)).transpose()?;
        // Merged leaves are one item run each instead of one for each entry, which are divided faster.
        let other = (ends.first != ends.last).then(|| self.merged(ends.last, edit));
        let merged = [self.merged(ends.first, edit), other.flatten()];
        let run = self.leaves(ends, edit, &merged);
        let parts = divide(self.forest.shape(), &run, distribution(run.bytes()));
        let built = self.build_parts(&parts, left, right)?;
        drop((parts, run));
        let new_nodes = self.create_all(built);
        if let Some(index) = outer_left {
            self.set_right(index, new_nodes[0].lid);
        }
        if let Some(index) = outer_right {
            self.set_left(index, new_nodes[new_nodes.len() - 1].lid);
        }
        Ok(new_nodes)
    }

    fn build_parts(
        &self,
        parts: &[NodeContents<'_>],
        left: Option<Lid>,
        right: Option<Lid>,
    ) -> Result<Vec<BuiltNode<'f>>, Error> {
        let memory = self.forest.memory();
        let reservations = parts.iter().map(|_| memory.reserve_lid()).collect::<Result<Vec<_>, _>>()?;
        let lids: Vec<Lid> = reservations.iter().map(LidReservation::lid).collect();
        let mut built = Vec::with_capacity(parts.len());
        for (index, (part, reservation)) in parts.iter().zip(reservations).enumerate() {
            let left = if index == 0 { left } else { Some(lids[index - 1]) };
            let right = lids.get(index + 1).copied().or(right);
            let buffer = self.build(&part.plan(left, right))?;
            built.push(BuiltNode { low: part.fences.low.clone(), buffer, reservation });
        }
        Ok(built)
    }

    fn create_all(&mut self, built: Vec<BuiltNode<'f>>) -> Vec<NewChild> {
        let create = |node: BuiltNode<'f>| {
            let lid = node.reservation.lid();
            self.create(node.buffer, node.reservation);
            NewChild { low: node.low, lid }
        };
        built.into_iter().map(create).collect()
    }

    fn count_leaves(&mut self, ends: Ends, new_count: usize) {
        let structural = &mut self.structural;
        let old_count = if ends.first == ends.last { 1 } else { 2 };
        match new_count.cmp(&old_count) {
            std::cmp::Ordering::Greater => structural.leaf_splits += 1,
            std::cmp::Ordering::Equal => structural.leaf_redistributions += 1,
            std::cmp::Ordering::Less => structural.leaf_merges += 1,
        }
    }

    /// Replaces a run by new nodes, and rebuilds its ancestors up to the first one that can keep its LID.
    fn replace_run(&mut self, root: Root, mut ends: Ends, mut new_nodes: Vec<NewChild>) -> Result<(), Abort> {
        let (first, last) = (self.view(ends.first), self.view(ends.last));
        let mut left_path = self.path(root, first.low_fence(), first.level());
        let mut right_path = self.path(root, last.low_fence(), last.level());
        loop {
            let (Some(left), Some(right)) = (left_path.pop(), right_path.pop()) else {
                return self.grow(root, 1 + self.view(ends.first).level(), &new_nodes);
            };
            let parents = Ends { first: self.lock(left)?, last: self.lock(right)? };
            let children = self.children_after(parents, ends, &new_nodes)?;
            let is_root = left == root.0;
            if is_root && children.is_alone() {
                self.remove_run(parents, ends)?;
                return self.collapse(parents.first, new_nodes[0].lid);
            }
            let run = children.run();
            let plan = run.plan(None, None);
            let is_large = parents.first == parents.last && (is_root || !self.is_small(&plan));
            if is_large && let Some(buffer) = self.build_if_fits(&plan)? {
                self.remove_run(parents, ends)?;
                self.replace(parents.first, buffer);
                return Ok(());
            }
            let (level, children) = (children.level(), children.to_owned());
            self.structural.interior_splits += u32::from(is_large);
            self.remove_run(parents, ends)?;
            (ends, new_nodes) = self.replace_interiors(left_path.last().copied(), parents, children)?;
            if is_root {
                return self.grow(root, level + 1, &new_nodes);
            }
        }
    }

    /// Returns the children of a run's parents after the run was replaced.
    fn children_after(
        &self,
        parents: Ends,
        ends: Ends,
        new_nodes: &[NewChild],
    ) -> Result<Children<'_>, Abort> {
        let (left, right) = (self.view(parents.first), self.view(parents.last));
        let first = self.position_of(left, ends.first).ok_or(Abort::Conflict)?;
        let last = self.position_of(right, ends.last).ok_or(Abort::Conflict)?;
        let mut children = Children::before(left, first, new_nodes[0].lid, Fences::spanning(left, right));
        let with_separators = if first == LEFTMOST { &new_nodes[1..] } else { new_nodes };
        for child in with_separators {
            children.push(&child.low, child.lid);
        }
        children.push_after(right, last);
        Ok(children)
    }

    /// Removes the nodes of a run: its ends, and the subtrees between them.
    fn remove_run(&mut self, parents: Ends, ends: Ends) -> Result<(), Abort> {
        for lid in self.between(parents, ends)? {
            self.remove_subtree(lid)?;
        }
        self.remove(ends.first);
        if ends.first != ends.last {
            self.remove(ends.last);
        }
        Ok(())
    }

    /// Returns the children of a run's parents between the ends of the run.
    fn between(&self, parents: Ends, ends: Ends) -> Result<Vec<Lid>, Abort> {
        let (left, right) = (self.view(parents.first), self.view(parents.last));
        let first = self.position_of(left, ends.first).ok_or(Abort::Conflict)?;
        let last = self.position_of(right, ends.last).ok_or(Abort::Conflict)?;
        let after = |view, position| {
            std::iter::successors(child_after(view, position), move |&at| child_after(view, at))
        };
        let before_last = |position: &usize| *position < last;
        if parents.first == parents.last {
            return Ok(after(left, first).take_while(before_last).map(|at| child_at(left, at)).collect());
        }
        let of_right = std::iter::once(LEFTMOST).chain(after(right, LEFTMOST)).take_while(before_last);
        let of_left = after(left, first).map(|at| child_at(left, at));
        Ok(of_left.chain(of_right.map(|at| child_at(right, at))).collect())
    }

    fn remove_subtree(&mut self, lid: Lid) -> Result<(), Abort> {
        let index = self.lock(lid)?;
        let view = self.view(index);
        if !view.is_leaf() {
            let items = view.all_items().map(|(_, item)| item.child());
            let children: Vec<Lid> = std::iter::once(view.leftmost()).chain(items).collect();
            for child in children {
                self.remove_subtree(child)?;
            }
        }
        self.remove(index);
        Ok(())
    }

    /// Builds an interior node. Returns `None` if the children do not fit.
    fn build_if_fits(&self, plan: &Plan<'_>) -> Result<Option<NodeBuffer<'f>>, Error> {
        fits(self.forest.shape(), plan, 0).then(|| self.build(plan)).transpose()
    }

    /// Returns whether an interior node is so small that it should be merged.
    fn is_small(&self, plan: &Plan<'_>) -> bool {
        plan.sorted_bytes() < self.forest.shape().block_bytes() / 4
    }

    /// Replaces interior nodes by new ones: `parents` and all nodes between them. A single small node is
    /// merged with a neighbour.
    fn replace_interiors(
        &mut self,
        grandparent: Option<Lid>,
        parents: Ends,
        mut children: Children<'static>,
    ) -> Result<(Ends, Vec<NewChild>), Abort> {
        let mut ends = parents;
        if let Some(grandparent) = grandparent
            && parents.first == parents.last
            && self.is_small(&children.run().plan(None, None))
        {
            (ends, children) = self.merge_with_neighbour(grandparent, parents.first, children)?;
        }
        let run = children.run();
        let shape = self.forest.shape();
        let nodes = if fits(shape, &run.plan(None, None), 0) { 1 } else { 2 };
        let parts = divide(shape, &run, Distribution::Evenly(nodes));
        let built = self.build_parts(&parts, None, None)?;
        Ok((ends, self.create_all(built)))
    }

    /// Adds the children of a neighbour under the same parent, if its lock is free.
    fn merge_with_neighbour(
        &mut self,
        grandparent: Lid,
        node: NodeIndex,
        children: Children<'static>,
    ) -> Result<(Ends, Children<'static>), Abort> {
        let alone = Ends { first: node, last: node };
        let (left, right) = self.neighbours(grandparent, node).ok_or(Abort::Conflict)?;
        let Some(lid) = left.or(right) else { return Ok((alone, children)) };
        let Ok(other) = self.lock(lid) else { return Ok((alone, children)) };
        self.structural.interior_merges += 1;
        let theirs = Children::of(self.view(other)).to_owned();
        Ok(if left.is_some() {
            (Ends { first: other, last: node }, theirs.followed_by(children))
        } else {
            (Ends { first: node, last: other }, children.followed_by(theirs))
        })
    }

    /// Makes the root the parent of new nodes. The tree gains a level.
    fn grow(&mut self, root: Root, level: usize, new_nodes: &[NewChild]) -> Result<(), Abort> {
        let mut children = Children::new(level, Fences::NONE, new_nodes[0].lid);
        for child in &new_nodes[1..] {
            children.push(&child.low, child.lid);
        }
        self.structural.root_growths += 1;
        let index = self.lock(root.0)?;
        let run = children.run();
        if let Some(buffer) = self.build_if_fits(&run.plan(None, None))? {
            self.replace(index, buffer);
            return Ok(());
        }
        let parts = divide(self.forest.shape(), &run, Distribution::Evenly(2));
        let built = self.build_parts(&parts, None, None)?;
        let new_nodes = self.create_all(built);
        self.grow(root, level + 1, &new_nodes)
    }

    /// Makes an only child the root, then its only child, and so on. The tree loses levels.
    fn collapse(&mut self, root: NodeIndex, mut child: Lid) -> Result<(), Abort> {
        // Stop at a child that existed before this transaction: it has no private buffer to give to the root.
        while let Some(buffer) = self.take_created(child) {
            self.replace(root, buffer);
            self.structural.root_collapses += 1;
            let view = self.view(root);
            if view.is_leaf() || view.sorted_count() > 0 {
                break;
            }
            child = view.leftmost();
        }
        Ok(())
    }

    /// Removes a tree with all its nodes.
    pub(crate) fn drop_tree(&mut self, root: Root) -> Result<(), Abort> {
        self.remove_range(root, KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded }, &mut None)?;
        self.remove_subtree(root.0)?;
        // No leaf is left to compact.
        self.take_shrunk();
        Ok(())
    }

    /// Deletes the pairs of a range and returns their number. Adds the deletion to the changes for the
    /// journal.
    pub(crate) fn delete_range(
        &mut self,
        root: Root,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<u64, Abort> {
        let mut removed = self.has_old_values.then(RemovedPairs::default);
        let count = self.remove_range(root, KeyRange { lower, upper }, &mut removed)?;
        self.log_range(root, (lower, upper), removed);
        Ok(count)
    }

    /// Removes the pairs of a range and returns their number. Copies them to `removed`.
    pub(crate) fn remove_range(
        &mut self,
        root: Root,
        range: KeyRange<'_>,
        removed: &mut Option<RemovedPairs>,
    ) -> Result<u64, Abort> {
        if range.is_empty() {
            return Ok(0);
        }
        let first = self.lock_leaf(root, range.first_leaf())?;
        let last = self.lock_leaf(root, range.last_leaf())?;
        let (mut leaf, mut count) = (first, 0);
        loop {
            let mut values = Vec::new();
            range.each_inside(self.view(leaf), |key, item| {
                count += 1;
                values.extend(item.reference());
                if let Some(removed) = removed {
                    removed.add(root, key, self.value_of(item));
                }
            });
            for value in values {
                self.retire(Retired::Value(value.address, value.length));
            }
            if leaf == last {
                break;
            }
            let right = self.right_of(leaf).ok_or(Abort::Conflict)?;
            leaf = self.lock(right)?;
        }
        if count > 0 {
            let sparse = Some((root, self.view(first).low_fence().to_vec()));
            self.rebuild(root, first, last, Edit::Remove(range))?;
            // The leaves at both ends together have at most one block of unused space.
            self.note_shrunk(self.forest.shape().block_bytes(), sparse);
        }
        Ok(count)
    }
}

/// Returns the number of leaves for the contents of a run: a small leaf and its neighbour become one, a full
/// leaf and its neighbour stay two, and two full leaves become three.
fn distribution(block: usize, ends: Ends, bytes: usize, full: bool) -> Distribution {
    let merges = bytes <= block * 3 / 4;
    let two = bytes <= 2 * block * 15 / 16;
    Distribution::Evenly(match (merges, full, ends.first == ends.last, two) {
        (true, false, ..) => 1,
        (_, _, true, _) | (.., true) => 2,
        _ => 3,
    })
}

/// A node that was built but is not yet part of the transaction.
struct BuiltNode<'f> {
    low: Vec<u8>,
    buffer: NodeBuffer<'f>,
    reservation: LidReservation<'f>,
}
