//! Which child of an interior node to go to.

use honeycomb_layout::child;

use crate::device::model::node::{Item, Node};
use crate::device::model::{Fault, number};

/// Which leaf is wanted.
#[derive(Clone)]
pub(super) enum Toward {
    /// The leaf that a key is routed to.
    Key(Vec<u8>),
    /// The leaf of the keys right before a key, which is a fence key.
    Before(Vec<u8>),
    First,
    Last,
}

impl Toward {
    /// The LID of the child that leads there.
    pub(super) fn child(&self, node: &Node) -> Result<u64, Fault> {
        match self {
            Self::First => Ok(node.left()),
            Self::Last => last(node, node.items_start()?, |_| true),
            Self::Key(key) => {
                let suffix = key.strip_prefix(node.prefix()?).ok_or(Fault)?;
                last(node, node.segment_of(suffix)?, |item| item.suffix <= suffix)
            }
            Self::Before(fence) => {
                let prefix = node.prefix()?;
                last(node, node.items_start()?, |item| [prefix, item.suffix].concat() < *fence)
            }
        }
    }
}

/// The child of the last item from an offset on of which something holds; the leftmost child if of none.
fn last(node: &Node, start: usize, holds: impl Fn(&Item<'_>) -> bool) -> Result<u64, Fault> {
    let mut lid = node.left();
    for item in node.items(start) {
        let (_, item) = item?;
        if !holds(&item) {
            break;
        }
        lid = number(item.value, child::LID_OFFSET, child::LID_BYTES)?;
    }
    Ok(lid)
}
