//! The identifiers that tables have in the log, as they change over the versions that the log holds.
//!
//! An identifier is the LID of a root, so a table has another one after a restart, and another table may get
//! it after a drop. A reader that begins at a version needs the identifier of that version; from there on it
//! sees the changes in the log itself.

use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_btree::Version;
use honeycomb_log::{Change, begin_with_pairs, changes};

use crate::error::Error;

/// The changes of identifiers since a version.
#[derive(Default)]
pub(crate) struct TableIds(Mutex<Events>);

#[derive(Default)]
struct Events {
    /// The first version at which the identifiers are known.
    oldest: Version,
    /// In the order of versions.
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
