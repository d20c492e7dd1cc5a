//! The choice of a child in an interior node.

use crate::device_model::Fault;
use crate::device_model::node::Node;

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
            Self::Last => last(node, |_| true),
            Self::Key(key) => {
                let suffix = key.strip_prefix(node.prefix()?).ok_or(Fault)?;
                last(node, |separator| separator <= suffix)
            }
            Self::Before(fence) => {
                let prefix = node.prefix()?;
                last(node, |separator| [prefix, separator].concat() < *fence)
            }
        }
    }
}

/// Returns the child after the last separator that satisfies a monotone condition; the leftmost child if none
/// does.
fn last(node: &Node, condition: impl Fn(&[u8]) -> bool) -> Result<u64, Fault> {
    let mut lid = node.left();
    for child in node.children() {
        let (separator, after) = child?;
        if !condition(&separator) {
            break;
        }
        lid = after;
    }
    Ok(lid)
}
