//! The backups that clients read.
//!
//! A backup is a checkpoint whose file stays open, so a client reads one version however long it takes. The
//! server keeps a few of them, and those in use the longest: a client that reads from one that is gone begins
//! with a new one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_store::{Backup, Store};

use crate::failure::Failure;

/// Maximum number of open backups.
const BACKUPS_MAX: usize = 4;
/// Milliseconds after which an unused backup is closed.
const UNUSED_TIME: u64 = 10 * 60 * 1000;

/// The open backups, the least recently used one first.
#[derive(Debug, Default)]
pub(crate) struct Backups(Mutex<Vec<(u64, Backup)>>);

impl Backups {
    /// Adds the newest checkpoint and passes it to `use_it`.
    pub(crate) fn add<T>(
        &self,
        store: &Store,
        now: u64,
        use_it: impl FnOnce(&Backup) -> T,
    ) -> Result<T, Failure> {
        let backup = store.newest_backup()?.ok_or_else(|| Failure::other("there is no checkpoint"))?;
        let mut open = self.lock();
        open.retain(|(used_at, other)| {
            now.saturating_sub(*used_at) < UNUSED_TIME && other.number() != backup.number()
        });
        if open.len() >= BACKUPS_MAX {
            open.remove(0);
        }
        let used = use_it(&backup);
        open.push((now, backup));
        Ok(used)
    }

    /// Passes the backup with a number to `use_it`. After a restart of the server, this can be its newest
    /// checkpoint.
    pub(crate) fn with<T>(
        &self,
        (store, now): (&Store, u64),
        number: u64,
        use_it: impl FnOnce(&Backup) -> T,
    ) -> Result<T, Failure> {
        let mut open = self.lock();
        if let Some(at) = open.iter().position(|(_, backup)| backup.number() == number) {
            let (_, backup) = open.remove(at);
            let used = use_it(&backup);
            open.push((now, backup));
            return Ok(used);
        }
        drop(open);
        match store.newest_backup()? {
            Some(newest) if newest.number() == number => self.add(store, now, use_it),
            _ => Err(Failure::other(format!("no such backup: {number}"))),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Backup)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
