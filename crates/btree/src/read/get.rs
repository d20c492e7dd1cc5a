//! Gets: the value of one key at one version.

use honeycomb_memory::Version;

use crate::node::candidates::Candidates;
use crate::node::item::Item;
use crate::node::key::SearchKey;
use crate::node::search::find_in;
use crate::node::view::View;
use crate::read::descent::{Descent, Landing};
use crate::read::reader::LookupResult;

impl<'r> Descent<'r, '_> {
    /// Returns the value of the key.
    ///
    /// # Panics
    /// If the descent is not complete.
    #[must_use]
    #[inline(always)]
    pub fn get(&self) -> Option<LookupResult<'r>> {
        match self.get_sorted() {
            Some(found) => found.map(|(value, version)| LookupResult { value, version }),
            None => self.get_any(),
        }
    }

    /// As above, also of a leaf whose log block may have the key, and for overflow values.
    #[inline(never)]
    fn get_any(&self) -> Option<LookupResult<'r>> {
        let (reader, key) = (self.reader(), self.key());
        let Landing { leaf, head, near, candidates, .. } = self.landing()?;
        let search_key = SearchKey { suffix: &key[leaf.prefix_length()..], head };
        if !candidates.is_empty()
            && let Some((item, version)) =
                newest_in_log(leaf, search_key.suffix, candidates, reader.version())
        {
            return (!item.header.tombstone()).then(|| LookupResult { value: reader.value(item), version });
        }
        let item = find_in(leaf, search_key, near)?;
        Some(LookupResult { value: reader.value(item), version: leaf.node_version() })
    }
}

/// Returns the newest log entry of a key that `read_version` sees, and its version.
fn newest_in_log<'a>(
    leaf: View<'a>,
    suffix: &[u8],
    candidates: Candidates,
    read_version: Version,
) -> Option<(Item<'a>, Version)> {
    let mut newest = None;
    for (index, place) in leaf.log_places().enumerate() {
        let version = leaf.node_version() + place.version_delta;
        if version > read_version {
            break;
        }
        if candidates.contain(index) {
            let item = leaf.item_at(place);
            if item.suffix().equals(suffix) {
                newest = Some((item, version));
            }
        }
    }
    newest
}
