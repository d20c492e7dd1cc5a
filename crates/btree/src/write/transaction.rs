//! A write transaction: the nodes that it has locked, its changes to them, and the commit that makes the
//! changes visible.
//!
//! Until `commit` nothing changes that a reader can see. Dropping the transaction undoes everything: it
//! releases locks, private buffers, LIDs and values. All memory is allocated before the commit, so a commit
//! cannot fail.
//!
//! Rules for access to the nodes of a transaction:
//! 1. Only the transaction that has locked a published node writes its bytes past the published size, its
//!    fingerprints and its siblings.
//! 2. Only the transaction that has allocated a private buffer accesses it, until `commit` maps it.
//! 3. A buffer that was replaced or removed stays locked forever. So a writer that has locked a node knows
//!    that it is current.
//!
//! A transaction sees its own changes: its views come from here and not from the page table.

use std::collections::HashMap;

use honeycomb_layout::node_header;
use honeycomb_log::Changes;
use honeycomb_memory::{
    Lid, LidReservation, LockAndSize, LockedNode, Node, NodeBuffer, Pin, Retired, ValueBuffer, Version,
};
use smallvec::SmallVec;

use crate::counters::StructuralChanges;
use crate::error::Error;
use crate::forest::Forest;
use crate::node::header::{read_word, write_word};
use crate::node::item::ValueReference;
use crate::node::key::tag;
use crate::node::log_entry::{NOT_PUBLISHED, NewEntry, stamp_word};
use crate::node::search::{prefetch_first, prefetch_heads};
use crate::node::shape::{LEAF, VERSION_SLACK};
use crate::node::view::{View, log_word_offset};
use crate::write::each::AHEAD;
use crate::write::operation::Outcome;
use crate::write::sparse::{Shrunk, SparseLeaf};
use crate::write::stages::{Stage, reach};

/// The reason that a transaction cannot continue.
#[derive(Debug)]
pub(crate) enum Abort {
    /// Another writer has locked a node. Retry the transaction.
    Conflict,
    /// An operation has failed.
    // In a box because it is rare.
    Failed(Box<Error>),
}

// The result of every write is copied several times.
const _: () = assert!(size_of::<Result<Outcome, Abort>>() == 2 * size_of::<u64>());

impl<E: Into<Error>> From<E> for Abort {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error.into()))
    }
}

/// The end of a transaction.
pub(crate) enum End<T> {
    Commit(T),
    /// Nothing to change in the state that the transaction has read.
    RollBack(T),
}

/// Attempts to acquire a lock before the transaction gives up and releases its own locks.
const LOCK_ATTEMPTS: u32 = 128;

/// Index of a node in `nodes` of its transaction.
pub(crate) type NodeIndex = usize;

/// The changed bytes of a node.
enum Body<'f> {
    /// The published buffer, locked; entries may have been appended to the log block.
    Locked(LockedNode<'f>),
    /// A new buffer that replaces the locked one.
    Replaced(LockedNode<'f>, NodeBuffer<'f>),
    /// A buffer for a new LID.
    Created(NodeBuffer<'f>, LidReservation<'f>),
    /// The node is removed.
    Removed(LockedNode<'f>),
    /// A created node that was removed before the commit. Its LID stays reserved, so that this transaction
    /// does not use it again.
    Dropped { _reservation: LidReservation<'f> },
    /// Placeholder during a change of state, and after publication.
    Placeholder,
}

struct TransactionNode<'f> {
    lid: Lid,
    body: Body<'f>,
    /// For a node changed in place: its size and number of log entries, including the appended ones.
    size: usize,
    log_count: usize,
    /// New siblings of a leaf.
    left: Option<Lid>,
    right: Option<Lid>,
}

impl TransactionNode<'_> {
    fn view(&self) -> View<'_> {
        match &self.body {
            Body::Replaced(_, buffer) | Body::Created(buffer, _) => View::private(buffer),
            Body::Locked(locked) | Body::Removed(locked) => self.view_in_place(locked),
            Body::Dropped { .. } | Body::Placeholder => {
                unreachable!("a dropped node is not accessed again")
            }
        }
    }

    /// Returns the newest version in the node when it was locked; `None` for a created node.
    fn newest_version(&self) -> Option<Version> {
        let (Body::Locked(locked) | Body::Replaced(locked, _) | Body::Removed(locked)) = &self.body else {
            return None;
        };
        let seen = locked.seen();
        let view = View::locked(locked, seen.size(), seen.log_count());
        let delta = view.log_places().last().map_or(0, |place| place.version_delta);
        Some(view.node_version() + delta)
    }

    #[inline]
    fn view_in_place<'a>(&self, locked: &'a LockedNode<'_>) -> View<'a> {
        View::locked(locked, self.size, self.log_count)
    }
}

/// A write transaction in progress.
pub(crate) struct WriteTransaction<'f> {
    pub(crate) forest: &'f Forest,
    pin: &'f Pin<'f>,
    /// The nodes of this transaction. Most transactions have one leaf.
    nodes: SmallVec<[TransactionNode<'f>; 1]>,
    /// Maps LIDs to indexes in `nodes` once there are many.
    index: Option<HashMap<Lid, NodeIndex>>,
    values: Vec<ValueBuffer<'f>>,
    retired: Vec<Retired>,
    /// Live bytes that the transaction removes from leaves. Most transactions remove none.
    shrunk: Option<Box<Shrunk>>,
    pub(crate) structural: StructuralChanges,
    /// The changes for the journal.
    pub(crate) changes: Changes,
    /// Whether the journal receives the value before each write.
    pub(crate) has_old_values: bool,
    /// The value before the last write, if there was one and the journal receives it.
    pub(crate) old_value: Option<Vec<u8>>,
    /// Whether the transaction contains complete writes, so that it must commit even if its next write
    /// aborts.
    must_commit: bool,
}

impl<'f> WriteTransaction<'f> {
    #[inline]
    pub(crate) fn new(forest: &'f Forest, pin: &'f Pin<'f>) -> Self {
        Self::with_capacity(forest, pin, 1)
    }

    /// Returns a transaction with capacity for `nodes` nodes.
    #[inline]
    pub(crate) fn with_capacity(forest: &'f Forest, pin: &'f Pin<'f>, nodes: usize) -> Self {
        let nodes = SmallVec::with_capacity(nodes);
        Self {
            forest,
            pin,
            nodes,
            index: None,
            values: Vec::new(),
            retired: Vec::new(),
            shrunk: None,
            structural: StructuralChanges::default(),
            changes: Changes::default(),
            has_old_values: forest.has_old_values(),
            old_value: None,
            must_commit: false,
        }
    }

    /// Declares the writes so far complete: the transaction must commit. From now on a write aborts with a
    /// conflict before any change that an abort could not undo separately.
    pub(crate) fn require_commit(&mut self) {
        self.must_commit = true;
    }

    pub(crate) fn must_commit(&self) -> bool {
        self.must_commit
    }

    #[inline]
    fn find(&self, lid: Lid) -> Option<NodeIndex> {
        match &self.index {
            None => self.nodes.iter().position(|node| node.lid == lid),
            Some(index) => index.get(&lid).copied(),
        }
    }

    #[inline(always)]
    fn push(&mut self, node: TransactionNode<'f>) -> NodeIndex {
        // A group of writes needs no index, because it seldom searches.
        const INDEX_MIN: usize = AHEAD + 1;
        let index = self.nodes.len();
        if index >= INDEX_MIN {
            let index_all = || self.nodes.iter().enumerate().map(|(index, node)| (node.lid, index)).collect();
            self.index.get_or_insert_with(index_all).insert(node.lid, index);
        }
        self.nodes.push(node);
        index
    }

    /// Locks a node unless this transaction has locked it already.
    pub(crate) fn lock(&mut self, lid: Lid) -> Result<NodeIndex, Abort> {
        match self.find(lid) {
            Some(index) => Ok(index),
            None => self.spin_lock(lid),
        }
    }

    fn spin_lock(&mut self, lid: Lid) -> Result<NodeIndex, Abort> {
        // A transaction that must commit resolves the conflict by a commit and does not wait.
        let attempts = if self.must_commit { 1 } else { LOCK_ATTEMPTS };
        for _ in 0..attempts {
            if let Some(index) = self.try_lock(lid) {
                return Ok(index);
            }
            honeycomb_memory::sync::hint::spin_loop();
        }
        Err(Abort::Conflict)
    }

    #[inline]
    fn try_lock(&mut self, lid: Lid) -> Option<NodeIndex> {
        self.try_lock_buffer(lid, self.forest.node(self.pin, lid))
    }

    /// Locks the buffer of a LID if it is the current one and nobody has locked it.
    #[inline(always)]
    pub(crate) fn try_lock_buffer(&mut self, lid: Lid, node: Node<'f>) -> Option<NodeIndex> {
        let locked = node.try_lock(node.lock_and_size())?;
        let (size, log_count) = (locked.seen().size(), locked.seen().log_count());
        reach(Stage::Locked);
        let body = Body::Locked(locked);
        Some(self.push(TransactionNode { lid, body, size, log_count, left: None, right: None }))
    }

    /// Returns the node of a LID as this transaction sees it.
    #[inline(always)]
    pub(crate) fn view_of(&self, lid: Lid) -> View<'_> {
        match self.find(lid) {
            Some(index) => self.view(index),
            None => View::published(self.forest.node(self.pin, lid).published()),
        }
    }

    /// Returns whether this transaction removes a node.
    #[inline]
    pub(crate) fn is_removed(&self, index: NodeIndex) -> bool {
        matches!(&self.nodes[index].body, Body::Removed(_) | Body::Dropped { .. })
    }

    /// Returns whether a node of this transaction still uses `buffer`.
    #[inline]
    pub(crate) fn is_in_place(&self, index: NodeIndex, buffer: Node<'_>) -> bool {
        matches!(&self.nodes[index].body, Body::Locked(locked) if locked.node().is(buffer))
    }

    /// Returns a node of this transaction.
    #[inline(always)]
    pub(crate) fn view(&self, index: NodeIndex) -> View<'_> {
        let node = &self.nodes[index];
        match &node.body {
            Body::Locked(locked) => node.view_in_place(locked),
            _ => node.view(),
        }
    }

    /// Returns whether this transaction has any nodes. If so, its view of the tree may differ from the page
    /// table.
    pub(crate) fn has_nodes(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Returns the published node of a LID, and prefetches its header and the samples after it; of a leaf
    /// also the heads.
    #[inline(always)]
    pub(crate) fn view_ahead(&self, lid: Lid, level: usize) -> View<'_> {
        let node = self.forest.node(self.pin, lid);
        prefetch_first(node, true);
        if level == LEAF {
            prefetch_heads(node);
        }
        View::published(node.published())
    }

    pub(crate) fn lid(&self, index: NodeIndex) -> Lid {
        self.nodes[index].lid
    }

    /// Returns the bytes of an overflow value.
    pub(crate) fn value(&self, reference: ValueReference) -> &[u8] {
        self.forest.memory().value(self.pin, reference.address, reference.length)
    }

    /// Adds the buffer of an overflow value, which becomes live with the commit.
    pub(crate) fn keep_value(&mut self, value: ValueBuffer<'f>) {
        self.values.push(value);
    }

    /// Retires memory or a LID after the commit.
    pub(crate) fn retire(&mut self, retired: Retired) {
        self.retired.push(retired);
    }

    /// Records live bytes that the transaction removes from a leaf, and the leaf if it becomes sparse.
    pub(crate) fn note_shrunk(&mut self, bytes: usize, sparse: Option<SparseLeaf>) {
        let shrunk = self.shrunk.get_or_insert_default();
        shrunk.bytes += bytes;
        shrunk.sparse.extend(sparse);
    }

    /// Returns the sparse leaves to compact after the commit.
    pub(crate) fn take_shrunk(&mut self) -> Option<Box<Shrunk>> {
        self.shrunk.take()
    }

    /// Returns the maximum size of another log entry in a leaf, without its log word; 0 if the leaf can have
    /// no more entries.
    pub(crate) fn log_room(&self, leaf: View<'_>) -> usize {
        if leaf.log_count() == honeycomb_layout::LOG_ENTRIES_MAX || !self.fits_delta(leaf) {
            return 0;
        }
        self.forest.shape().log_room(leaf.sorted_end(), leaf.size(), leaf.log_count())
    }

    /// Returns whether the version of this transaction will be close enough to the node version. A private
    /// node gets the version of this transaction.
    fn fits_delta(&self, view: View<'_>) -> bool {
        if view.is_private() {
            return true;
        }
        let latest = self.forest.versions.newest() + VERSION_SLACK;
        latest.saturating_sub(view.node_version()) <= self.forest.shape().version_delta_max
    }

    /// Appends an entry to the log block of a leaf, which must have space for it.
    #[inline(always)]
    pub(crate) fn append(&mut self, index: NodeIndex, entry: &NewEntry<'_>) {
        let node = &mut self.nodes[index];
        match &mut node.body {
            Body::Locked(locked) => {
                let bytes = entry.write(locked.tail_mut(node.size));
                locked.set_log_word(node.log_count, entry.word(node.size, NOT_PUBLISHED));
                // Readers use only the fingerprints of published entries.
                if let Some(slot) = FingerprintSlot::of(node.log_count) {
                    locked.set_word(
                        slot.offset,
                        slot.put(locked.node().word(slot.offset), entry.item.key.suffix),
                    );
                }
                node.size += bytes;
                node.log_count += 1;
                reach(Stage::Appended);
            }
            Body::Replaced(_, buffer) | Body::Created(buffer, _) => append_private(buffer, entry),
            Body::Removed(_) | Body::Dropped { .. } | Body::Placeholder => {
                unreachable!("a removed node gets no entries")
            }
        }
    }

    /// Replaces the buffer of a node, which keeps its LID.
    pub(crate) fn replace(&mut self, index: NodeIndex, buffer: NodeBuffer<'f>) {
        reach(Stage::Built);
        let node = &mut self.nodes[index];
        node.body = match std::mem::replace(&mut node.body, Body::Placeholder) {
            Body::Locked(locked) | Body::Replaced(locked, _) => Body::Replaced(locked, buffer),
            Body::Created(_, reservation) => Body::Created(buffer, reservation),
            Body::Removed(_) | Body::Dropped { .. } | Body::Placeholder => {
                unreachable!("a removed node gets no buffer")
            }
        };
    }

    /// Removes a node and its LID.
    pub(crate) fn remove(&mut self, index: NodeIndex) {
        let node = &mut self.nodes[index];
        node.body = match std::mem::replace(&mut node.body, Body::Placeholder) {
            Body::Locked(locked) | Body::Replaced(locked, _) => Body::Removed(locked),
            Body::Created(_, reservation) => Body::Dropped { _reservation: reservation },
            Body::Removed(_) | Body::Dropped { .. } | Body::Placeholder => {
                unreachable!("a node is removed only once")
            }
        };
    }

    /// Creates a node with a new LID.
    pub(crate) fn create(&mut self, buffer: NodeBuffer<'f>, reservation: LidReservation<'f>) -> NodeIndex {
        let (lid, body) = (reservation.lid(), Body::Created(buffer, reservation));
        self.push(TransactionNode { lid, body, size: 0, log_count: 0, left: None, right: None })
    }

    /// Removes a node that this transaction has created, and returns its buffer. Returns `None` for other
    /// nodes.
    pub(crate) fn take_created(&mut self, lid: Lid) -> Option<NodeBuffer<'f>> {
        let index = self.find(lid)?;
        let node = &mut self.nodes[index];
        match std::mem::replace(&mut node.body, Body::Placeholder) {
            Body::Created(buffer, reservation) => {
                node.body = Body::Dropped { _reservation: reservation };
                Some(buffer)
            }
            other => {
                node.body = other;
                None
            }
        }
    }

    /// Sets a leaf's left sibling.
    pub(crate) fn set_left(&mut self, index: NodeIndex, left: Lid) {
        self.nodes[index].left = Some(left);
    }

    /// Sets a leaf's right sibling.
    pub(crate) fn set_right(&mut self, index: NodeIndex, right: Lid) {
        self.nodes[index].right = Some(right);
    }

    /// Returns the left sibling of a leaf as this transaction sees it.
    pub(crate) fn left_of(&self, index: NodeIndex) -> Option<Lid> {
        self.nodes[index].left.or_else(|| self.view(index).left())
    }

    /// Returns the right sibling of a leaf as this transaction sees it.
    pub(crate) fn right_of(&self, index: NodeIndex) -> Option<Lid> {
        self.nodes[index].right.or_else(|| self.view(index).right())
    }

    /// Makes all changes visible at one version. Returns the version once every new reader sees it.
    pub(crate) fn commit(&mut self) -> Version {
        let forest = self.forest;
        while let Some(value) = self.values.pop() {
            let _in_an_item = value.keep();
        }
        let version = if forest.mvcc() { forest.versions.next() } else { 0 };
        self.journal(version);
        reach(Stage::VersionTaken);
        // Created nodes first: they are unreachable until other nodes are published.
        for created in [true, false] {
            let is_now = |node: &&mut TransactionNode<'_>| matches!(node.body, Body::Created(..)) == created;
            for node in self.nodes.iter_mut().filter(is_now) {
                publish(forest, node, version, &mut self.retired);
                reach(Stage::Published);
            }
        }
        if forest.mvcc() {
            forest.versions.release(version, |version| forest.memory().publish(version));
            forest.versions.wait_for(version);
        }
        reach(Stage::Released);
        // Readers with an older read version may still need the replaced buffers, so retire them only now.
        if !self.retired.is_empty() {
            forest.memory().retire(self.retired.drain(..));
        }
        if let Some(shrunk) = &self.shrunk {
            forest.counters.shrunk_bytes.add(shrunk.bytes as u64);
        }
        if self.structural != StructuralChanges::default() {
            forest.counters.add(&std::mem::take(&mut self.structural));
        }
        self.clear();
        version
    }

    /// Undoes all changes. Returns once every new reader sees the state that this transaction has read.
    pub(crate) fn roll_back(&mut self) {
        let seen = self.nodes.iter().filter_map(|node| node.newest_version()).max();
        self.structural = StructuralChanges::default();
        self.clear();
        self.forest.versions.wait_for(seen.unwrap_or(0));
    }

    /// Resets the transaction to an empty one.
    fn clear(&mut self) {
        self.nodes.clear();
        (self.index, self.must_commit) = (None, false);
        if let Some(shrunk) = &mut self.shrunk {
            shrunk.bytes = 0;
        }
        self.values.clear();
        self.retired.clear();
        self.changes.clear();
    }
}

/// Publishes a node. Its body becomes `Placeholder`.
#[inline(always)]
fn publish(forest: &Forest, node: &mut TransactionNode<'_>, version: Version, retired: &mut Vec<Retired>) {
    let TransactionNode { lid, ref mut body, size, log_count, left, right } = *node;
    let body = std::mem::replace(body, Body::Placeholder);
    let siblings = [(node_header::LEFT_OFFSET, left), (node_header::RIGHT_OFFSET, right)];
    match body {
        Body::Created(mut buffer, reservation) => {
            stamp(&mut buffer, version, siblings);
            forest.memory().map(reservation.keep(), buffer);
        }
        Body::Replaced(locked, mut buffer) => {
            let address = locked.node().address();
            stamp(&mut buffer, version, siblings);
            if forest.mvcc() {
                write_word(&mut buffer, node_header::PREVIOUS_VERSION_OFFSET, address.get());
            }
            forest.memory().map(lid, buffer);
            locked.abandon();
            retired.push(Retired::Node(address));
        }
        Body::Removed(locked) => {
            retired.extend([Retired::Node(locked.node().address()), Retired::Lid(lid)]);
            locked.abandon();
        }
        Body::Locked(locked) => {
            if size > locked.seen().size() || left.is_some() || right.is_some() {
                publish_in_place(locked, version, size, log_count, siblings);
            }
        }
        Body::Dropped { .. } | Body::Placeholder => {}
    }
}

/// New siblings, each with the offset of its header word.
type Siblings = [(usize, Option<Lid>); 2];

fn stamp(buffer: &mut [u8], version: Version, siblings: Siblings) {
    write_word(buffer, node_header::NODE_VERSION_OFFSET, version);
    for (offset, lid) in siblings {
        if let Some(lid) = lid {
            write_word(buffer, offset, lid.get());
        }
    }
}

#[inline]
fn publish_in_place(
    locked: LockedNode<'_>,
    version: Version,
    size: usize,
    log_count: usize,
    siblings: Siblings,
) {
    for (offset, lid) in siblings {
        if let Some(lid) = lid {
            locked.set_word(offset, lid.get());
        }
    }
    let delta = version - locked.node().word(node_header::NODE_VERSION_OFFSET);
    locked.change_new_log_words(log_count, |word| stamp_word(word, delta));
    locked.publish(size, log_count);
}

#[inline(never)]
fn append_private(buffer: &mut [u8], entry: &NewEntry<'_>) {
    let state = LockAndSize::from(read_word(buffer, node_header::LOCK_AND_SIZE_OFFSET));
    let bytes = entry.write(&mut buffer[state.size()..]);
    // Publication gives the node the version of this transaction, so the delta is zero.
    let at = log_word_offset(buffer.len(), state.log_count());
    write_word(buffer, at, entry.word(state.size(), 0));
    if let Some(slot) = FingerprintSlot::of(state.log_count()) {
        let fingerprints = slot.put(read_word(buffer, slot.offset), entry.item.key.suffix);
        write_word(buffer, slot.offset, fingerprints);
    }
    let state = LockAndSize::new(state.size() + bytes, state.log_count() + 1);
    write_word(buffer, node_header::LOCK_AND_SIZE_OFFSET, u64::from(state));
}

/// The location of the fingerprint of a log entry: the offset of a header word, and the bit position in it.
struct FingerprintSlot {
    offset: usize,
    shift: usize,
}

impl FingerprintSlot {
    /// Returns the location for the log entry with this index; `None` when it has no fingerprint.
    fn of(entry: usize) -> Option<Self> {
        let offset = node_header::TAGS_OFFSET + entry / 8 * 8;
        (entry < node_header::TAGS_COUNT).then_some(Self { offset, shift: entry % 8 * 8 })
    }

    /// Returns `word` with the fingerprint of a key suffix.
    #[inline(always)]
    fn put(&self, word: u64, suffix: &[u8]) -> u64 {
        word & !(0xff << self.shift) | u64::from(tag(suffix)) << self.shift
    }
}
