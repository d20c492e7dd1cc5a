//! The choice of a child in an interior node.

use honeycomb_layout::child;

use crate::device_model::node::{Item, Node};
use crate::device_model::{Fault, number};

/// The leaf that a descent searches.
#[derive(Clone)]
pub(super) enum LeafTarget {
    /// The leaf whose key range contains a key.
    Key(Vec<u8>),
    /// The leaf whose high fence key is this key.
    Before(Vec<u8>),
    First,
    Last,
}

impl LeafTarget {
    /// The LID of the child on the path to the leaf.
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

/// Returns the child of the last item, from an offset on, that satisfies a monotone condition; the leftmost
/// child if the first item does not satisfy it.
fn last(node: &Node, start: usize, condition: impl Fn(&Item<'_>) -> bool) -> Result<u64, Fault> {
    let mut lid = node.left();
    for item in node.items(start) {
        let (_, item) = item?;
        if !condition(&item) {
            break;
        }
        lid = number(item.value, child::LID_OFFSET, child::LID_BYTES)?;
    }
    Ok(lid)
}
