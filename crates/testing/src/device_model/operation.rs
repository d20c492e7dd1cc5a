//! An operation in flight: the node or value that it reads next.
//!
//! Every operation terminates, whatever bytes it reads: levels decrease on a descent, versions decrease along
//! previous versions, and each leaf of a scan begins where the leaf before it ends. If one of these rules is
//! broken, the operation ends with a fault.

use honeycomb_accelerator::{HostMemory, Read, parse_request};
use honeycomb_btree::Version;
use honeycomb_layout as layout;

use crate::device_model::leaf::{Leaf, get};
use crate::device_model::node::{Header, Node, Value};
use crate::device_model::reply::Reply;
use crate::device_model::scan::{Next, Range};
use crate::device_model::target::LeafTarget;
use crate::device_model::{Fault, HostState};

pub(super) struct Operation {
    sequence: u64,
    request: Vec<u8>,
    reply: Reply,
    /// The version that the operation reads; valid after its first step.
    read_version: Version,
    root: u64,
    at: At,
}

/// Whether an operation needs a further step.
pub(super) enum Progress {
    Unfinished,
    Finished,
}

enum At {
    /// Submitted; nothing is read yet.
    Start,
    /// About to visit a node.
    Node(Visit, Goal),
    /// About to read the value of a get; the version is that of its pair.
    Value(Value, Version),
    /// About to emit a pair of a leaf.
    Pair(Leaf, usize, Range),
}

/// The operation itself.
enum Goal {
    Get(Vec<u8>),
    Scan(Range),
}

/// The next node to visit.
struct Visit {
    address: u64,
    target: LeafTarget,
    via: Via,
    /// The level of the node must be below this level.
    below: usize,
    /// If the node is a previous version: the version of the node that replaced it.
    replaced_by: Option<Version>,
}

/// The link that led to a node, or to the newest node of its LID.
#[derive(Clone, Copy)]
enum Via {
    Nowhere,
    Parent,
    Sibling,
}

impl Operation {
    pub(super) fn new(sequence: u64, request: &[u8]) -> Self {
        let identifier =
            parse_request(request).0.map_or_else(|rejected| rejected.identifier, |one| one.identifier);
        let (request, reply) = (request.to_vec(), Reply::new(identifier));
        Self { sequence, request, reply, read_version: 0, root: 0, at: At::Start }
    }

    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Reads one node or one value.
    pub(super) fn step(
        &mut self,
        host: &HostState,
        memory: &dyn HostMemory,
        complete: &mut dyn FnMut(&[u8]),
    ) -> Progress {
        let next = match std::mem::replace(&mut self.at, At::Start) {
            At::Start => self.start(host, complete),
            At::Node(visit, goal) => self.visit(visit, goal, host, memory, complete),
            At::Value(Value::Inline(value), version) => {
                self.reply.value(Some((value, version)), complete);
                Ok(None)
            }
            At::Value(value, version) => {
                let value = value.fetch(memory);
                // The accelerator has begun the completion before its last read.
                self.reply.unconfirmed_value(value.as_deref().unwrap_or(&[0; 8]), version, complete);
                value.map(|_| {
                    self.reply.value(Some((Vec::new(), version)), complete);
                    None
                })
            }
            At::Pair(leaf, index, range) => self.emit(leaf, index, range, host, memory, complete),
        };
        match next {
            Ok(Some(at)) => {
                self.at = at;
                return Progress::Unfinished;
            }
            Ok(None) => {}
            Err(Fault) => self.reply.reject(layout::STATUS_FAULT, complete),
        }
        Progress::Finished
    }

    /// Reads the root and the read version. The operation is already in the window.
    fn start(&mut self, host: &HostState, complete: &mut dyn FnMut(&[u8])) -> Result<Option<At>, Fault> {
        let (parsed, _) = parse_request(&self.request);
        let request = match parsed {
            Ok(request) => request,
            Err(rejected) => {
                self.reply.reject(rejected.status as usize, complete);
                return Ok(None);
            }
        };
        let Some(root) = host.roots.get(&request.table) else {
            self.reply.reject(layout::STATUS_UNKNOWN_TABLE, complete);
            return Ok(None);
        };
        self.root = root.get();
        self.read_version = request.version.unwrap_or(host.read_version);
        self.reply.read_at(self.read_version);
        let goal = match &request.read {
            Read::Get(key) => Goal::Get(key.to_vec()),
            Read::Scan { scan, bytes_max } => Goal::Scan(Range::new(scan, *bytes_max)),
            // The driver submits no others.
            Read::Function(_) | Read::Unordered(_) => {
                self.reply.reject(layout::STATUS_MALFORMED, complete);
                return Ok(None);
            }
        };
        let target = match &goal {
            Goal::Get(key) => LeafTarget::Key(key.clone()),
            Goal::Scan(range) => range.target(),
        };
        self.descend(target, goal, host).map(Some)
    }

    fn descend(&self, target: LeafTarget, goal: Goal, host: &HostState) -> Result<At, Fault> {
        let address = host.address(self.root)?;
        let visit = Visit { address, target, via: Via::Nowhere, below: usize::MAX, replaced_by: None };
        Ok(At::Node(visit, goal))
    }

    /// Reads a node and chooses the next step.
    fn visit(
        &mut self,
        visit: Visit,
        goal: Goal,
        host: &HostState,
        memory: &dyn HostMemory,
        complete: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<At>, Fault> {
        let header = Header::read(memory, host.node_bytes, visit.address)?;
        let version = header.node_version();
        if visit.replaced_by.is_some_and(|newer| version >= newer) {
            return Err(Fault);
        }
        if version > self.read_version {
            return match (header.previous_version(), visit.via) {
                (0, Via::Nowhere) => Ok(self.finish_empty(&goal, complete)),
                (0, Via::Parent) => Err(Fault),
                // A newer structural change created the sibling. The fence key leads to the leaves before
                // that change.
                (0, Via::Sibling) => self.descend(visit.target, goal, host).map(Some),
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
            return self.read_leaf(&node, goal, host, complete);
        }
        let address = host.address(visit.target.child(&node)?)?;
        let child = Visit { address, via: Via::Parent, below: node.level(), replaced_by: None, ..visit };
        Ok(Some(At::Node(child, goal)))
    }

    /// Completes with no pairs: the read version is older than the tree.
    fn finish_empty(&mut self, goal: &Goal, complete: &mut dyn FnMut(&[u8])) -> Option<At> {
        match goal {
            Goal::Get(_) => self.reply.value(None, complete),
            Goal::Scan(_) => self.reply.pairs(false, false, complete),
        }
        None
    }

    fn read_leaf(
        &mut self,
        node: &Node,
        goal: Goal,
        host: &HostState,
        complete: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<At>, Fault> {
        let mut range = match goal {
            Goal::Scan(range) => range,
            Goal::Get(key) => {
                let found = get(node, self.read_version, &key)?;
                if found.is_none() {
                    self.reply.value(None, complete);
                }
                return Ok(found.map(|(value, version)| At::Value(value, version)));
            }
        };
        let leaf = Leaf::read(node, self.read_version)?;
        let next = range.enter(&leaf)?;
        self.continue_scan(leaf, next, range, host, complete)
    }

    /// Continues a scan.
    fn continue_scan(
        &mut self,
        leaf: Leaf,
        next: Next,
        mut range: Range,
        host: &HostState,
        complete: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<At>, Fault> {
        let to_left = match next {
            Next::Pair(_) if range.is_at_limit() => {
                self.reply.pairs(false, true, complete);
                return Ok(None);
            }
            Next::Pair(index) => return Ok(Some(At::Pair(leaf, index, range))),
            Next::End => {
                self.reply.pairs(false, false, complete);
                return Ok(None);
            }
            Next::Leaf => range.backward,
            Next::FloorLeaf => true,
        };
        let (lid, target) = if to_left {
            (leaf.left, LeafTarget::Before(range.leave_left(leaf.low_fence)))
        } else {
            (leaf.right, LeafTarget::Key(range.leave_right(leaf.high_fence.ok_or(Fault)?)))
        };
        let address = host.address(lid)?;
        let visit = Visit { address, target, via: Via::Sibling, below: 1, replaced_by: None };
        Ok(Some(At::Node(visit, Goal::Scan(range))))
    }

    /// Emits pairs up to the end of the leaf, or up to and including one whose value must be read.
    fn emit(
        &mut self,
        mut leaf: Leaf,
        index: usize,
        mut range: Range,
        host: &HostState,
        memory: &dyn HostMemory,
        complete: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<At>, Fault> {
        let mut next = Next::Pair(index);
        while let Next::Pair(index) = next
            && !range.is_at_limit()
        {
            let pair = &mut leaf.pairs[index];
            let value = std::mem::replace(&mut pair.value, Value::Inline(Vec::new()));
            let is_read = matches!(value, Value::Overflow { .. }) && !range.keys_only;
            let value = if range.keys_only { Vec::new() } else { value.fetch(memory)? };
            if self.reply.bytes() >= host.result_bytes {
                self.reply.pairs(true, false, complete);
            }
            self.reply.push(&pair.key, &value);
            range.count(pair, value.len());
            next = range.after(&leaf, index);
            if is_read {
                break;
            }
        }
        self.continue_scan(leaf, next, range, host, complete)
    }
}
