//! What a backend knows of the store that its queues read: the forest, and what the store tells it.

use std::sync::Arc;

use honeycomb_btree::Forest;

use crate::held::Held;
use crate::own_lease::OwnLeases;
use crate::roots::Roots;

pub(crate) struct Known {
    pub(crate) forest: Arc<Forest>,
    pub(crate) roots: Roots,
    pub(crate) held: Held,
    pub(crate) own_leases: OwnLeases,
}

impl Known {
    pub(crate) fn new(forest: &Arc<Forest>) -> Self {
        let (roots, held, own_leases) = (Roots::new(), Held::default(), OwnLeases::default());
        Self { forest: forest.clone(), roots, held, own_leases }
    }
}
