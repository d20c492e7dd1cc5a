//! An operation on its way: which node or value it reads next, and what for.
//!
//! It ends whatever it reads: levels fall on the way down, versions along previous versions, and each leaf of
//! a scan begins where the one before it ends. Where that is not so, there is no tree.

use honeycomb_btree::Version;
use honeycomb_layout as layout;

use crate::device::engine::HostMemory;
use crate::device::model::leaf::{Leaf, get};
use crate::device::model::node::{Header, Node, Value};
use crate::device::model::reply::Reply;
use crate::device::model::scan::{Next, Range};
use crate::device::model::toward::Toward;
use crate::device::model::{Fault, Told};
use crate::request::{Read, parse};

pub(super) struct Operation {
    sequence: u64,
    request: Vec<u8>,
    reply: Reply,
    /// The version that it reads at, once it has begun.
    read_version: Version,
    root: u64,
    at: At,
}

/// Whether an operation has a further step to take.
pub(super) enum Progress {
    Again,
    Done,
}

enum At {
    /// It was submitted and has read nothing.
    Start,
    /// About to visit a node.
    Node(Visit, Goal),
    /// About to read the value that was got, and its version.
    Value(Value, Version),
    /// About to emit a pair of a leaf.
    Pair(Leaf, usize, Range),
}

/// What is read.
enum Goal {
    Get(Vec<u8>),
    Scan(Range),
}

/// A node to be visited.
struct Visit {
    address: u64,
    toward: Toward,
    via: Via,
    /// It is below this level.
    below: usize,
    /// The version of the node that replaced it, if it is come to as a previous version.
    replaced_by: Option<Version>,
}

/// How a node is come to, or the newer one that replaced it.
#[derive(Clone, Copy)]
enum Via {
    Nowhere,
    Parent,
    Sibling,
}

impl Operation {
    pub(super) fn new(sequence: u64, request: &[u8]) -> Self {
        let identifier = parse(request).0.map_or_else(|rejected| rejected.identifier, |one| one.identifier);
        let (request, reply) = (request.to_vec(), Reply::new(identifier));
        Self { sequence, request, reply, read_version: 0, root: 0, at: At::Start }
    }

    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Reads one node or one value.
    pub(super) fn step(
        &mut self,
        told: &Told,
        memory: &dyn HostMemory,
        done: &mut dyn FnMut(&[u8]),
    ) -> Progress {
        let next = match std::mem::replace(&mut self.at, At::Start) {
            At::Start => self.start(told, done),
            At::Node(visit, goal) => self.visit(visit, goal, told, memory, done),
            At::Value(value, version) => value.fetch(memory).map(|value| {
                self.reply.value(Some((value, version)), done);
                None
            }),
            At::Pair(leaf, index, range) => self.emit(leaf, index, range, told, memory, done),
        };
        match next {
            Ok(Some(at)) => {
                self.at = at;
                return Progress::Again;
            }
            Ok(None) => {}
            Err(Fault) => self.reply.refuse(layout::STATUS_FAULT, done),
        }
        Progress::Done
    }

    /// Takes read version and root. It is in the window since it was submitted.
    fn start(&mut self, told: &Told, done: &mut dyn FnMut(&[u8])) -> Result<Option<At>, Fault> {
        let (parsed, _) = parse(&self.request);
        let request = match parsed {
            Ok(request) => request,
            Err(rejected) => {
                self.reply.refuse(rejected.status as usize, done);
                return Ok(None);
            }
        };
        let Some(root) = told.roots.get(&request.table) else {
            self.reply.refuse(layout::STATUS_UNKNOWN_TABLE, done);
            return Ok(None);
        };
        self.root = root.get();
        self.read_version = request.version.unwrap_or(told.read_version);
        self.reply.read_at(self.read_version);
        let goal = match &request.read {
            Read::Get(key) => Goal::Get(key.to_vec()),
            Read::Scan { scan, bytes_max } => Goal::Scan(Range::new(scan, *bytes_max)),
        };
        let toward = match &goal {
            Goal::Get(key) => Toward::Key(key.clone()),
            Goal::Scan(range) => range.toward(),
        };
        self.descend(toward, goal, told).map(Some)
    }

    fn descend(&self, toward: Toward, goal: Goal, told: &Told) -> Result<At, Fault> {
        let address = told.address(self.root)?;
        let visit = Visit { address, toward, via: Via::Nowhere, below: usize::MAX, replaced_by: None };
        Ok(At::Node(visit, goal))
    }

    /// Reads a node, and goes on to where it leads.
    fn visit(
        &mut self,
        visit: Visit,
        goal: Goal,
        told: &Told,
        memory: &dyn HostMemory,
        done: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<At>, Fault> {
        let header = Header::read(memory, told.geometry, visit.address)?;
        let version = header.node_version();
        if visit.replaced_by.is_some_and(|newer| version >= newer) {
            return Err(Fault);
        }
        if version > self.read_version {
            return match (header.previous_version(), visit.via) {
                (0, Via::Nowhere) => Ok(self.finish_empty(&goal, done)),
                (0, Via::Parent) => Err(Fault),
                // The leaves beside it came out of a change that is newer: the fence key leads to those
                // before.
                (0, Via::Sibling) => self.descend(visit.toward, goal, told).map(Some),
                (address, _) => {
                    Ok(Some(At::Node(Visit { address, replaced_by: Some(version), ..visit }, goal)))
                }
            };
        }
        let node = header.node(memory, visit.address)?;
        if node.level() >= visit.below {
            return Err(Fault);
        }
        if node.level() == 0 {
            return self.read_leaf(&node, goal, told, done);
        }
        let address = told.address(visit.toward.child(&node)?)?;
        let child = Visit { address, via: Via::Parent, below: node.level(), replaced_by: None, ..visit };
        Ok(Some(At::Node(child, goal)))
    }

    /// The tree is younger than the version that is read.
    fn finish_empty(&mut self, goal: &Goal, done: &mut dyn FnMut(&[u8])) -> Option<At> {
        match goal {
            Goal::Get(_) => self.reply.value(None, done),
            Goal::Scan(_) => self.reply.pairs(false, false, done),
        }
        None
    }

    fn read_leaf(
        &mut self,
        node: &Node,
        goal: Goal,
        told: &Told,
        done: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<At>, Fault> {
        let mut range = match goal {
            Goal::Scan(range) => range,
            Goal::Get(key) => {
                let found = get(node, self.read_version, &key)?;
                if found.is_none() {
                    self.reply.value(None, done);
                }
                return Ok(found.map(|(value, version)| At::Value(value, version)));
            }
        };
        let leaf = Leaf::read(node, self.read_version)?;
        let next = range.enter(&leaf)?;
        self.go_on(leaf, next, range, told, done)
    }

    /// Goes to what comes next of a scan.
    fn go_on(
        &mut self,
        leaf: Leaf,
        next: Next,
        mut range: Range,
        told: &Told,
        done: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<At>, Fault> {
        let to_left = match next {
            Next::Pair(_) if range.is_at_limit() => {
                self.reply.pairs(false, true, done);
                return Ok(None);
            }
            Next::Pair(index) => return Ok(Some(At::Pair(leaf, index, range))),
            Next::End => {
                self.reply.pairs(false, false, done);
                return Ok(None);
            }
            Next::Leaf => range.backward,
            Next::FloorLeaf => true,
        };
        let (lid, toward) = if to_left {
            (leaf.left, Toward::Before(range.leave_left(leaf.low_fence)))
        } else {
            (leaf.right, Toward::Key(range.leave_right(leaf.high_fence.ok_or(Fault)?)))
        };
        let address = told.address(lid)?;
        let visit = Visit { address, toward, via: Via::Sibling, below: 1, replaced_by: None };
        Ok(Some(At::Node(visit, Goal::Scan(range))))
    }

    /// Emits pairs up to one whose value has to be read, or to the end of the leaf.
    fn emit(
        &mut self,
        mut leaf: Leaf,
        index: usize,
        mut range: Range,
        told: &Told,
        memory: &dyn HostMemory,
        done: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<At>, Fault> {
        let mut next = Next::Pair(index);
        while let Next::Pair(index) = next
            && !range.is_at_limit()
        {
            let pair = &mut leaf.pairs[index];
            let value = std::mem::replace(&mut pair.value, Value::Inline(Vec::new()));
            let is_read = matches!(value, Value::Overflow { .. }) && !range.keys_only;
            let value = if range.keys_only { Vec::new() } else { value.fetch(memory)? };
            if self.reply.bytes() >= told.result_bytes {
                self.reply.pairs(true, false, done);
            }
            self.reply.push(&pair.key, &value);
            range.count(pair, value.len());
            next = range.after(&leaf, index);
            if is_read {
                break;
            }
        }
        self.go_on(leaf, next, range, told, done)
    }
}
