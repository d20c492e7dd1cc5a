//! The identifiers that tables have in the log, as they change over the versions that the log holds.
//!
//! An identifier is the LID of a root, so a table has another one after a restart, and another table may get
//! it after a drop. A reader that begins at a version needs the identifier of that version; from there on it
//! sees the changes in the log itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_btree::Version;
use honeycomb_log::{Change, begin_with_pairs, changes};

use crate::error::Error;

/// The changes of identifiers since a version. Their number is bounded by the tables and by the length of the
/// log.
#[derive(Default)]
pub(crate) struct TableIds(Mutex<Events>);

#[derive(Default)]
struct Events {
    /// The first version at which the identifiers are known.
    oldest: Version,
    /// In the order of versions. Those of the oldest version create the tables that existed then.
    events: Vec<(Version, IdChange)>,
}

/// A change of identifiers.
enum IdChange {
    Create {
        tree: u64,
        name: String,
    },
    Drop {
        tree: u64,
    },
    /// With the version of the last record before it.
    Restart {
        last: Version,
    },
}

impl TableIds {
    /// Begins with the tables of a checkpoint.
    pub(crate) fn begin(&self, version: Version) {
        self.lock().oldest = version;
    }

    /// Adds the table of a checkpoint.
    pub(crate) fn add(&self, version: Version, tree: u64, name: &str) {
        self.lock().events.push((version, IdChange::Create { tree, name: name.to_owned() }));
    }

    /// Notes the changes of a record. `last` is the version of the record before it, or of the checkpoint.
    pub(crate) fn note(&self, (last, version): (Version, Version), record: &[u8]) {
        // Only a record that begins with a change of a table has one.
        if begin_with_pairs(record) {
            return;
        }
        let mut changes = changes(record).flatten();
        let Some(first) = changes.next().and_then(|first| of(first, last)) else { return };
        let mut events = self.lock();
        events.events.push((version, first));
        events.events.extend(changes.filter_map(|change| of(change, last)).map(|change| (version, change)));
    }

    /// Forgets the identifiers before a version, because the log holds only later records.
    pub(crate) fn forget_before(&self, version: Version) {
        let mut events = self.lock();
        if version > events.oldest {
            events.fold(version);
        }
    }

    /// Returns the identifier of a table at a version, if it existed then.
    ///
    /// # Errors
    /// [`Error::VersionTooOld`] if the identifiers of the version are not known any more;
    /// [`Error::VersionLost`] if the version is one that the start of the store has skipped.
    pub(crate) fn at(&self, name: &str, version: Version) -> Result<Option<u64>, Error> {
        let events = self.lock();
        if version < events.oldest {
            return Err(Error::VersionTooOld { version });
        }
        if let Some(last) = events.last_before_loss(version) {
            return Err(Error::VersionLost { version, last });
        }
        let mut id = None;
        for (_, change) in events.events.iter().take_while(|(at, _)| *at <= version) {
            match change {
                IdChange::Create { tree, name: created } if created == name => id = Some(*tree),
                IdChange::Drop { tree } if id == Some(*tree) => id = None,
                IdChange::Restart { .. } => id = None,
                _ => {}
            }
        }
        Ok(id)
    }

    fn lock(&self) -> MutexGuard<'_, Events> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Events {
    /// Replaces the events up to a version by the tables that exist then.
    fn fold(&mut self, version: Version) {
        let mut tables = BTreeMap::new();
        let end = self.events.partition_point(|(at, _)| *at <= version);
        let later = self.events.split_off(end);
        for (_, change) in self.events.drain(..) {
            match change {
                IdChange::Create { tree, name } => _ = tables.insert(tree, name),
                IdChange::Drop { tree } => _ = tables.remove(&tree),
                IdChange::Restart { .. } => tables.clear(),
            }
        }
        let created = tables.into_iter().map(|(tree, name)| (version, IdChange::Create { tree, name }));
        self.events.extend(created.chain(later));
        // Their memory was that of the longest log so far.
        self.events.shrink_to(2 * self.events.len());
        self.oldest = version;
    }

    /// Returns the version of the last record before a start that has skipped this version. The first start
    /// of a store skips none.
    fn last_before_loss(&self, version: Version) -> Option<Version> {
        self.events.iter().find_map(|(at, change)| match *change {
            IdChange::Restart { last } if last > 0 && (last + 1..*at).contains(&version) => Some(last),
            _ => None,
        })
    }
}

fn of(change: Change<'_>, last: Version) -> Option<IdChange> {
    match change {
        Change::Create { tree, name } | Change::CreateUnordered { tree, name, .. } => {
            Some(IdChange::Create { tree, name: name.to_owned() })
        }
        Change::Drop { tree } => Some(IdChange::Drop { tree }),
        Change::Restart => Some(IdChange::Restart { last }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use honeycomb_log::Changes;
    use honeycomb_testing::SimulatedDisk;

    use super::*;
    use crate::{Config, DurabilityConfig, Store};

    /// The identifiers in a log of records with one change each, whose versions ascend by ten.
    fn noted(records: &[&dyn Fn(&mut Changes)]) -> TableIds {
        let ids = TableIds::default();
        for (index, change) in (1..).zip(records) {
            let mut changes = Changes::default();
            change(&mut changes);
            ids.note((10 * (index - 1), 10 * index), changes.bytes());
        }
        ids
    }

    #[test]
    fn what_is_forgotten_changes_no_later_identifier() {
        let create = |tree: u64, name: &'static str| move |changes: &mut Changes| changes.create(tree, name);
        let drop = |tree: u64| move |changes: &mut Changes| changes.drop_table(tree);
        let records: [&dyn Fn(&mut Changes); 9] = [
            &create(1, "a"),
            &create(2, "b"),
            &drop(1),
            &create(1, "c"),
            &create(3, "a"),
            &Changes::restart,
            &create(1, "b"),
            &create(3, "c"),
            &drop(3),
        ];
        for oldest in 1..100 {
            let (whole, folded) = (noted(&records), noted(&records));
            (1..=oldest).for_each(|version| folded.forget_before(version));
            for (name, version) in
                ["a", "b", "c", "d"].iter().flat_map(|name| (0..110).map(move |at| (name, at)))
            {
                let (expected, found) = (whole.at(name, version), folded.at(name, version));
                if version < oldest {
                    assert!(matches!(found, Err(Error::VersionTooOld { .. })), "{name} at {version}");
                } else {
                    assert_eq!(
                        format!("{found:?}"),
                        format!("{expected:?}"),
                        "{name} at {version} after {oldest}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_tables_that_were_dropped_take_no_memory() {
        let ids = TableIds::default();
        for version in (1..100_000).step_by(2) {
            let mut changes = Changes::default();
            changes.create(version, "t");
            ids.note((version - 1, version), changes.bytes());
            changes = Changes::default();
            changes.drop_table(version);
            ids.note((version, version + 1), changes.bytes());
            if version % 100 == 1 {
                ids.forget_before(version.saturating_sub(10));
            }
            assert!(ids.lock().events.capacity() < 1000, "{version}");
        }
    }

    #[test]
    fn a_checkpoint_forgets_dropped_tables() {
        let durability = DurabilityConfig {
            log_file_bytes: 8 << 10,
            ..DurabilityConfig::with_storage(Arc::new(SimulatedDisk::default()))
        };
        let (memory_bytes, durability) = (16 << 20, Some(durability));
        let store = Store::open(Config { memory_bytes, durability, ..Config::default() }).unwrap();
        for _ in 0..300 {
            store.table("t").unwrap();
            store.drop_table("t").unwrap();
        }
        let events = || store.state().log().unwrap().table_ids.lock().events.len();
        assert!(events() >= 600);
        store.checkpoint().unwrap();
        // Those of the last log file are left.
        assert!(events() < 250, "{}", events());
    }
}
