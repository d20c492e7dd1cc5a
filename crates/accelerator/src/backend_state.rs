//! The state that the store gives to a backend and that all its queues read.

use std::sync::Arc;

use honeycomb_btree::Forest;
use honeycomb_hashtable::Functions;

use crate::pinned_versions::PinnedVersions;
use crate::roots::Roots;
use crate::scan_lease::ScanLeases;

pub(crate) struct BackendState {
    pub(crate) forest: Arc<Forest>,
    pub(crate) functions: Arc<Functions>,
    pub(crate) roots: Roots,
    pub(crate) pinned_versions: PinnedVersions,
    pub(crate) scan_leases: ScanLeases,
}

impl BackendState {
    pub(crate) fn new(forest: &Arc<Forest>, functions: &Arc<Functions>) -> Self {
        Self {
            forest: forest.clone(),
            functions: functions.clone(),
            roots: Roots::new(),
            pinned_versions: PinnedVersions::default(),
            scan_leases: ScanLeases::default(),
        }
    }
}
