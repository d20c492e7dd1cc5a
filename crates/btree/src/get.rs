//! Gets: the value of one key at one version.

use crate::candidates::Candidates;
use crate::descent::{Descent, Landing};
use crate::forest::Version;
use crate::item::Item;
use crate::key::Wanted;
use crate::reader::Found;
use crate::search::lower_bound_in;
use crate::view::View;

impl<'r> Descent<'r, '_> {
    /// The value of the key.
    #[must_use]
    #[inline]
    pub fn get(&mut self) -> Option<Found<'r>> {
        let (reader, key) = (self.reader(), self.key());
        let Landing { leaf, segment, candidates, .. } = self.land()?;
        let wanted = Wanted::new(&key[leaf.prefix_length()..]);
        if !candidates.is_empty()
            && let Some((item, version)) = newest_in_log(leaf, wanted.suffix, candidates, reader.version())
        {
            return (!item.header.delete_marker()).then(|| Found { value: reader.value(item), version });
        }
        let place = lower_bound_in(leaf, &wanted, segment);
        let found = |item| Found { value: reader.value(item), version: leaf.node_version() };
        place.found.then(|| found(leaf.item(place.offset)))
    }
}

/// The newest log entry of a key that a read version sees, and its version.
fn newest_in_log<'a>(
    leaf: View<'a>,
    suffix: &[u8],
    candidates: Candidates,
    read_version: Version,
) -> Option<(Item<'a>, Version)> {
    let mut newest = None;
    for (index, entry) in leaf.log_entries().enumerate() {
        let version = leaf.node_version() + entry.version_delta;
        if version > read_version {
            break;
        }
        if candidates.contain(index) && entry.item.suffix() == suffix {
            newest = Some((entry.item, version));
        }
    }
    newest
}
