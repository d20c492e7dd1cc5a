//! Gets: the value of one key at one version.

use honeycomb_memory::Version;

use crate::node::candidates::Candidates;
use crate::node::item::{Item, ItemHeader};
use crate::node::key::SearchKey;
use crate::node::tag_directory::{Line, MatchingEntries};
use crate::node::view::View;
use crate::read::descent::{Descent, Landing};
use crate::read::reader::LookupResult;
use crate::read::search::{find_segment, refine_segment};

impl<'r> Descent<'r, '_> {
    /// Returns the value of the key.
    ///
    /// # Panics
    /// If the descent is not complete.
    #[must_use]
    #[inline]
    pub fn get(&self) -> Option<LookupResult<'r>> {
        let (reader, key) = (self.reader(), self.key());
        let Landing { leaf, matching, segment, candidates, .. } = self.landing()?;
        let search_key = SearchKey::new(&key[leaf.prefix_length()..]);
        if !candidates.is_empty()
            && let Some((item, version)) =
                newest_in_log(leaf, search_key.suffix, candidates, reader.version())
        {
            return (!item.header.tombstone()).then(|| LookupResult { value: reader.value(item), version });
        }
        let item = match matching {
            None => item_in_segment(leaf, &search_key, segment),
            Some((line, matching)) => {
                item_in_directory(leaf, &search_key, Line::read(leaf.from(line)), matching)
            }
        };
        item.map(|item| LookupResult { value: reader.value(item), version: leaf.node_version() })
    }
}

/// Returns the sorted item of a key, which can only be in this segment.
#[inline]
fn item_in_segment<'a>(leaf: View<'a>, search_key: &SearchKey<'_>, segment: usize) -> Option<Item<'a>> {
    let (segment, start) = refine_segment(leaf, search_key, segment);
    let items = leaf.sorted_from(start);
    // The next segment starts with a greater key.
    let end = leaf.segment(segment + 1) - start;
    let mut at = search_key.skip_smaller(items, ItemHeader::item_bytes).end;
    while at < end {
        let (is_it, order, bytes) = search_key.matches(&items[at..]);
        if is_it || order.is_gt() {
            return is_it.then(|| Item::read(&items[at..]));
        }
        at += bytes;
    }
    None
}

/// Returns the sorted item of a key. `matching` has the entries of the key's directory line with its
/// fingerprint.
#[inline]
fn item_in_directory<'a>(
    leaf: View<'a>,
    search_key: &SearchKey<'_>,
    line: Line<'_>,
    matching: MatchingEntries,
) -> Option<Item<'a>> {
    let mut items = line.offsets(matching).map(|offset| leaf.item(offset));
    let found = items.find(|item| item.suffix() == search_key.suffix);
    // Entries of other keys had the fingerprint, but the line does not cover all items.
    if found.is_none() && !line.is_whole() {
        item_in_segment(leaf, search_key, find_segment(leaf, search_key))
    } else {
        found
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
