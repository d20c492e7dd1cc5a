//! A write under way: the nodes it has locked, what it has changed of them, and the one moment it becomes
//! visible.
//!
//! Until `commit` nothing that a reader can see has changed, and dropping the transaction undoes everything:
//! locks are released, private buffers, LIDs and values go back. All memory is taken before the commit, which
//! cannot fail.
//!
//! Who may touch what, of the nodes of a transaction:
//! 1. a published node's bytes past its size, its tags and its siblings: the transaction that locked it;
//! 2. a private buffer: the transaction that made it, until `commit` maps it;
//! 3. a buffer that was replaced or removed stays locked for ever: a writer that locks a node knows that it
//!    is current.
//!
//! A transaction sees its own changes: views come from here, not from the page table.

use std::collections::HashMap;

use honeycomb_layout::node_header;
use honeycomb_memory::{
    Lid, LidReservation, LockAndSize, LockedNode, Node, NodeBuffer, Pin, Retired, ValueBuffer, Version,
};
use smallvec::SmallVec;

use crate::error::Error;
use crate::forest::Forest;
use crate::node::builder::{read_word, write_word};
use crate::node::item::ValueReference;
use crate::node::key::tag;
use crate::node::log_entry::{NOT_PUBLISHED, NewEntry, stamp_entries};
use crate::node::shape::VERSION_SLACK;
use crate::node::view::View;
use crate::write::sparse::{Shrunk, SparseLeaf};
use crate::write::stages::{Stage, reach};

/// Why a transaction cannot go on.
#[derive(Debug)]
pub(crate) enum Abort {
    /// Another writer holds a lock: begin again.
    Conflict,
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Abort {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// How a transaction's work ended.
pub(crate) enum End<T> {
    Commit(T),
    /// Nothing to change, on account of what it saw.
    RollBack(T),
}

/// How long to wait for a lock before giving up all of one's own.
const LOCK_ATTEMPTS: u32 = 128;

/// A node of this transaction, by its place in `held`.
pub(crate) type Index = usize;

/// Where a node's changed bytes are.
enum Body<'f> {
    /// In place, under the lock: entries have been appended to the log block.
    Locked(LockedNode<'f>),
    /// In a new buffer, which will replace the one that is locked.
    Replaced(LockedNode<'f>, NodeBuffer<'f>),
    /// In a buffer for a LID of its own.
    Created(NodeBuffer<'f>, LidReservation<'f>),
    /// Nowhere: the node goes away.
    Removed(LockedNode<'f>),
    /// A created node that went away before anybody saw it. Its LID stays reserved, so that it names nothing
    /// else here.
    Dropped { _reservation: LidReservation<'f> },
    /// While a body is exchanged, and after it was published.
    Exchanged,
}

struct TransactionNode<'f> {
    lid: Lid,
    body: Body<'f>,
    /// Of a node changed in place: its size and log count with what was appended.
    size: usize,
    log_count: usize,
    /// New siblings of a leaf, wherever its bytes are.
    left: Option<Lid>,
    right: Option<Lid>,
}

impl TransactionNode<'_> {
    fn view(&self, forest: &Forest) -> View<'_> {
        match &self.body {
            Body::Replaced(_, buffer) | Body::Created(buffer, _) => View::private(forest.geometry(), buffer),
            Body::Locked(locked) | Body::Removed(locked) => self.view_in_place(forest, locked),
            Body::Dropped { .. } | Body::Exchanged => {
                unreachable!("a node that was dropped is not asked for again")
            }
        }
    }

    /// The newest version in the node when it was locked; none if the transaction made it.
    fn newest_version(&self, forest: &Forest) -> Option<Version> {
        let (Body::Locked(locked) | Body::Replaced(locked, _) | Body::Removed(locked)) = &self.body else {
            return None;
        };
        let seen = locked.seen();
        let bytes = locked.bytes_up_to(seen.size());
        let view = View::locked(forest.geometry(), locked.node(), bytes, seen.log_count());
        let delta = view.log_entries().last().map_or(0, |entry| entry.version_delta);
        Some(view.node_version() + delta)
    }

    #[inline]
    fn view_in_place<'a>(&self, forest: &Forest, locked: &'a LockedNode<'_>) -> View<'a> {
        View::locked(forest.geometry(), locked.node(), locked.bytes_up_to(self.size), self.log_count)
    }
}

pub(crate) struct WriteTransaction<'f> {
    pub(crate) forest: &'f Forest,
    pin: &'f Pin<'f>,
    /// Most transactions hold one leaf.
    nodes: SmallVec<[TransactionNode<'f>; 1]>,
    /// Finds a LID in `held` once there are many.
    index: Option<HashMap<Lid, Index>>,
    values: Vec<ValueBuffer<'f>>,
    retired: Vec<Retired>,
    /// What it takes from the live bytes of leaves; most take nothing.
    shrunk: Option<Box<Shrunk>>,
    /// Whether it holds what must be committed, even if what comes to it next stops.
    must_commit: bool,
}

impl<'f> WriteTransaction<'f> {
    pub(crate) fn new(forest: &'f Forest, pin: &'f Pin<'f>) -> Self {
        Self::with_capacity(forest, pin, 1)
    }

    /// With room for so many nodes.
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
            must_commit: false,
        }
    }

    /// Binds it to be committed: what comes to it from now on stops as busy before it does anything that
    /// could not stay if it failed after that.
    pub(crate) fn require_commit(&mut self) {
        self.must_commit = true;
    }

    pub(crate) fn must_commit(&self) -> bool {
        self.must_commit
    }

    #[inline]
    fn find(&self, lid: Lid) -> Option<Index> {
        match &self.index {
            None => self.nodes.iter().position(|node| node.lid == lid),
            Some(index) => index.get(&lid).copied(),
        }
    }

    #[inline(always)]
    fn push(&mut self, node: TransactionNode<'f>) -> Index {
        const FEW: usize = 16;
        let index = self.nodes.len();
        if index >= FEW {
            let of_few = || self.nodes.iter().enumerate().map(|(index, node)| (node.lid, index)).collect();
            self.index.get_or_insert_with(of_few).insert(node.lid, index);
        }
        self.nodes.push(node);
        index
    }

    /// Locks a node, unless this transaction holds it already.
    pub(crate) fn lock(&mut self, lid: Lid) -> Result<Index, Abort> {
        match self.find(lid) {
            Some(index) => Ok(index),
            None => self.spin_lock(lid),
        }
    }

    /// As [`WriteTransaction::hold`], for a mapped node. Its lock is mostly free, and then nobody holds it.
    #[inline]
    pub(crate) fn lock_mapped(&mut self, lid: Lid) -> Result<Index, Abort> {
        match self.try_lock(lid) {
            Some(index) => Ok(index),
            None => self.lock(lid),
        }
    }

    fn spin_lock(&mut self, lid: Lid) -> Result<Index, Abort> {
        // Who is bound gets on by committing, and not by waiting.
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
    fn try_lock(&mut self, lid: Lid) -> Option<Index> {
        let node = self.forest.node(self.pin, lid);
        let locked = node.try_lock(node.lock_and_size())?;
        let (size, log_count) = (locked.seen().size(), locked.seen().log_count());
        reach(Stage::Locked);
        let body = Body::Locked(locked);
        Some(self.push(TransactionNode { lid, body, size, log_count, left: None, right: None }))
    }

    /// The node that a LID names for this transaction.
    #[inline(always)]
    pub(crate) fn view_of(&self, lid: Lid) -> View<'_> {
        match self.find(lid) {
            Some(index) => self.view(index),
            None => self.forest.view(self.forest.node(self.pin, lid)),
        }
    }

    /// Whether this transaction takes away a node that it holds.
    #[inline]
    pub(crate) fn is_removed(&self, index: Index) -> bool {
        matches!(&self.nodes[index].body, Body::Removed(_) | Body::Dropped { .. })
    }

    /// Whether a node that this transaction holds is still in a buffer.
    #[inline]
    pub(crate) fn is_in_place(&self, index: Index, buffer: Node<'_>) -> bool {
        matches!(&self.nodes[index].body, Body::Locked(locked) if locked.node().is(buffer))
    }

    /// A node that this transaction holds.
    #[inline(always)]
    pub(crate) fn view(&self, index: Index) -> View<'_> {
        let node = &self.nodes[index];
        match &node.body {
            Body::Locked(locked) => node.view_in_place(self.forest, locked),
            _ => node.view(self.forest),
        }
    }

    /// Whether this transaction holds any nodes, so sees some otherwise than others do.
    pub(crate) fn has_nodes(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// The node that a LID names for everybody. Its header and shortcuts, which are adjacent lines, are asked
    /// for at once.
    #[inline(always)]
    pub(crate) fn view_ahead(&self, lid: Lid) -> View<'_> {
        let node = self.forest.node(self.pin, lid);
        self.forest.prefetch(node);
        self.forest.view(node)
    }

    pub(crate) fn lid(&self, index: Index) -> Lid {
        self.nodes[index].lid
    }

    /// The bytes of an out-of-line value.
    pub(crate) fn value(&self, reference: ValueReference) -> &[u8] {
        self.forest.memory().value(self.pin, reference.address, reference.length)
    }

    /// Keeps a value's buffer if the transaction commits.
    pub(crate) fn keep_value(&mut self, value: ValueBuffer<'f>) {
        self.values.push(value);
    }

    /// Retires something once the transaction is visible.
    pub(crate) fn retire(&mut self, retired: Retired) {
        self.retired.push(retired);
    }

    /// Notes what the transaction takes from the live bytes of a leaf, and whether that is to be tended.
    pub(crate) fn note_shrunk(&mut self, bytes: usize, sparse: Option<SparseLeaf>) {
        let shrunk = self.shrunk.get_or_insert_default();
        shrunk.bytes += bytes;
        shrunk.sparse.extend(sparse);
    }

    /// Takes what is to be tended once all is committed.
    pub(crate) fn take_shrunk(&mut self) -> Option<Box<Shrunk>> {
        self.shrunk.take()
    }

    /// Bytes that one more entry in a leaf's log may have; 0 if there can be none.
    pub(crate) fn log_room(&self, leaf: View<'_>) -> usize {
        if leaf.log_count() == honeycomb_layout::LOG_ENTRIES_MAX || !self.fits_delta(leaf) {
            return 0;
        }
        let shape = self.forest.shape();
        let below_threshold = shape.log_threshold_bytes.saturating_sub(leaf.log_bytes());
        below_threshold.min(shape.node_bytes - leaf.size())
    }

    /// Whether the version this transaction will take is near enough to the node's.
    fn fits_delta(&self, view: View<'_>) -> bool {
        let latest = self.forest.versions.newest() + VERSION_SLACK;
        latest.saturating_sub(view.node_version()) <= self.forest.shape().version_delta_max
    }

    /// Appends to a leaf's log an entry that there is room for.
    pub(crate) fn append(&mut self, index: Index, entry: &NewEntry<'_>) {
        let node = &mut self.nodes[index];
        match &mut node.body {
            Body::Locked(locked) => {
                entry.write(locked.tail_mut(node.size), NOT_PUBLISHED);
                // Readers look at as many tags as there are published entries.
                if let Some(tag) = TagPlace::of(node.log_count) {
                    locked.set_word(tag.offset, tag.put(locked.node().word(tag.offset), entry.item.suffix));
                }
                node.size += entry.bytes();
                node.log_count += 1;
                reach(Stage::Appended);
            }
            Body::Replaced(_, buffer) | Body::Created(buffer, _) => append_private(buffer, entry),
            Body::Removed(_) | Body::Dropped { .. } | Body::Exchanged => {
                unreachable!("a removed node takes no entries")
            }
        }
    }

    /// Gives a node a new buffer under the same LID.
    pub(crate) fn replace(&mut self, index: Index, buffer: NodeBuffer<'f>) {
        reach(Stage::Built);
        let node = &mut self.nodes[index];
        node.body = match std::mem::replace(&mut node.body, Body::Exchanged) {
            Body::Locked(locked) | Body::Replaced(locked, _) => Body::Replaced(locked, buffer),
            Body::Created(_, reservation) => Body::Created(buffer, reservation),
            Body::Removed(_) | Body::Dropped { .. } | Body::Exchanged => {
                unreachable!("a removed node is not replaced")
            }
        };
    }

    /// Takes a node away, LID and all.
    pub(crate) fn remove(&mut self, index: Index) {
        let node = &mut self.nodes[index];
        node.body = match std::mem::replace(&mut node.body, Body::Exchanged) {
            Body::Locked(locked) | Body::Replaced(locked, _) => Body::Removed(locked),
            Body::Created(_, reservation) => Body::Dropped { _reservation: reservation },
            Body::Removed(_) | Body::Dropped { .. } | Body::Exchanged => {
                unreachable!("a node is removed once")
            }
        };
    }

    /// Adds a node under a LID of its own.
    pub(crate) fn create(&mut self, buffer: NodeBuffer<'f>, reservation: LidReservation<'f>) -> Index {
        let (lid, body) = (reservation.lid(), Body::Created(buffer, reservation));
        self.push(TransactionNode { lid, body, size: 0, log_count: 0, left: None, right: None })
    }

    /// Takes back the buffer of a node, without the node, if this transaction created it.
    pub(crate) fn take_created(&mut self, lid: Lid) -> Option<NodeBuffer<'f>> {
        let index = self.find(lid)?;
        let node = &mut self.nodes[index];
        match std::mem::replace(&mut node.body, Body::Exchanged) {
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
    pub(crate) fn set_left(&mut self, index: Index, left: Lid) {
        self.nodes[index].left = Some(left);
    }

    /// Sets a leaf's right sibling.
    pub(crate) fn set_right(&mut self, index: Index, right: Lid) {
        self.nodes[index].right = Some(right);
    }

    /// The left sibling a leaf has for this transaction.
    pub(crate) fn left_of(&self, index: Index) -> Option<Lid> {
        self.nodes[index].left.or_else(|| self.view(index).left())
    }

    /// The right sibling a leaf has for this transaction.
    pub(crate) fn right_of(&self, index: Index) -> Option<Lid> {
        self.nodes[index].right.or_else(|| self.view(index).right())
    }

    /// Makes all of it visible at once and returns its version, when every new reader sees it.
    pub(crate) fn commit(&mut self) -> Version {
        let forest = self.forest;
        while let Some(value) = self.values.pop() {
            let _in_an_item = value.keep();
        }
        let version = if forest.mvcc() { forest.versions.take() } else { 0 };
        reach(Stage::VersionTaken);
        // Created nodes first: nothing leads to them before a published node does.
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
        // Readers that began before the read version reached this one may still need what was replaced.
        if !self.retired.is_empty() {
            forest.memory().retire(self.retired.drain(..));
        }
        if let Some(shrunk) = &self.shrunk {
            forest.counters.shrunk_bytes.add(shrunk.bytes as u64);
        }
        self.clear();
        version
    }

    /// Undoes all of it, and returns when every new reader sees what this transaction saw.
    pub(crate) fn roll_back(&mut self) {
        let seen = self.nodes.iter().filter_map(|node| node.newest_version(self.forest)).max();
        self.clear();
        self.forest.versions.wait_for(seen.unwrap_or(0));
    }

    /// Makes an empty transaction of it.
    fn clear(&mut self) {
        self.nodes.clear();
        (self.index, self.must_commit) = (None, false);
        if let Some(shrunk) = &mut self.shrunk {
            shrunk.bytes = 0;
        }
        self.values.clear();
        self.retired.clear();
    }
}

/// Publishes a node; once that is done, there is nothing left of it to publish.
#[inline(always)]
fn publish(forest: &Forest, node: &mut TransactionNode<'_>, version: Version, retired: &mut Vec<Retired>) {
    let TransactionNode { lid, ref mut body, size, log_count, left, right } = *node;
    let body = std::mem::replace(body, Body::Exchanged);
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
        Body::Dropped { .. } | Body::Exchanged => {}
    }
}

/// New siblings, each with the header word it belongs to.
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
    mut locked: LockedNode<'_>,
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
    let published = locked.seen().size();
    let delta = version - locked.node().word(node_header::NODE_VERSION_OFFSET);
    stamp_entries(&mut locked.tail_mut(published)[..size - published], delta);
    locked.publish(size, log_count);
}

fn append_private(buffer: &mut [u8], entry: &NewEntry<'_>) {
    let state = LockAndSize::from(read_word(buffer, node_header::LOCK_AND_SIZE_OFFSET));
    // The node gets the transaction's own version when it is published, so the delta is and stays zero.
    entry.write(&mut buffer[state.size()..], 0);
    if let Some(tag) = TagPlace::of(state.log_count()) {
        let tags = tag.put(read_word(buffer, tag.offset), entry.item.suffix);
        write_word(buffer, tag.offset, tags);
    }
    let state = LockAndSize::new(state.size() + entry.bytes(), state.log_count() + 1);
    write_word(buffer, node_header::LOCK_AND_SIZE_OFFSET, u64::from(state));
}

/// Where the tag of a log entry is: the offset of a word of the header, and the tag's place in it.
struct TagPlace {
    offset: usize,
    shift: usize,
}

impl TagPlace {
    /// None if the entry, by its place in the log, is one of those without a tag.
    fn of(entry: usize) -> Option<Self> {
        let offset = node_header::TAGS_OFFSET + entry / 8 * 8;
        (entry < node_header::TAGS_COUNT).then_some(Self { offset, shift: entry % 8 * 8 })
    }

    /// The word with the tag of a key suffix.
    fn put(&self, word: u64, suffix: &[u8]) -> u64 {
        word & !(0xff << self.shift) | u64::from(tag(suffix)) << self.shift
    }
}
