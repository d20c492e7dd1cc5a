//! The backups that clients read.
//!
//! A backup is a checkpoint whose file stays open, so a client reads one version however long it takes. The
//! server keeps a few of them, and those in use the longest: a client that reads from one that is gone begins
//! with a new one.
//!
//! A later checkpoint removes the name of the file, and its last close frees its bytes. This takes long, so
//! neither a core nor a thread with the lock does it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use honeycomb_store::{Backup, Store};

use crate::failure::Failure;

/// Maximum number of open backups.
const BACKUPS_MAX: usize = 4;
/// Milliseconds after which an unused backup is closed.
const UNUSED_TIME: u64 = 10 * 60 * 1000;

/// The open backups, the least recently used one first. Locked for a moment.
#[derive(Debug, Default)]
pub(crate) struct Backups(Mutex<Vec<Open>>);

#[derive(Debug)]
struct Open {
    used_at: u64,
    number: u64,
    backup: OpenBackup,
}

/// A backup that stays open while a client reads it, although the server may close it meanwhile.
#[derive(Debug, Clone)]
pub(crate) struct OpenBackup(Arc<Mutex<Backup>>);

impl OpenBackup {
    /// Locks the backup. Only background threads read it, because they may wait for each other.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Backup> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backups {
    /// Adds the newest checkpoint and returns it.
    pub(crate) fn add(&self, store: &Store, now: u64) -> Result<OpenBackup, Failure> {
        let backup = store.newest_backup()?.ok_or_else(|| Failure::other("there is no checkpoint"))?;
        let (number, backup) = (backup.number(), OpenBackup(Arc::new(Mutex::new(backup))));
        let mut open = self.lock();
        close(open.extract_if(.., |other| other.number == number).collect());
        let excess = (open.len() + 1).saturating_sub(BACKUPS_MAX);
        close(open.drain(..excess).collect());
        open.push(Open { used_at: now, number, backup: backup.clone() });
        Ok(backup)
    }

    /// Returns the backup with a number. After a restart of the server, this can be its newest checkpoint.
    pub(crate) fn find(&self, store: &Store, now: u64, number: u64) -> Result<OpenBackup, Failure> {
        if let Some(backup) = self.renew(now, number) {
            return Ok(backup);
        }
        match store.newest_backup()? {
            Some(newest) if newest.number() == number => self.add(store, now),
            _ => Err(unknown(number)),
        }
    }

    fn renew(&self, now: u64, number: u64) -> Option<OpenBackup> {
        let mut open = self.lock();
        let at = open.iter().position(|open| open.number == number)?;
        let backup = open.remove(at).backup;
        open.push(Open { used_at: now, number, backup: backup.clone() });
        Some(backup)
    }

    /// Closes the backup with a number.
    pub(crate) fn end(&self, number: u64) -> Result<(), Failure> {
        let mut open = self.lock();
        let at = open.iter().position(|open| open.number == number);
        close(vec![open.remove(at.ok_or_else(|| unknown(number))?)]);
        Ok(())
    }

    /// Closes backups that nobody has used for some time.
    pub(crate) fn close_unused(&self, now: u64) {
        let is_unused = |open: &mut Open| now.saturating_sub(open.used_at) >= UNUSED_TIME;
        close(self.lock().extract_if(.., is_unused).collect());
    }

    /// The number of open backups.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown(number: u64) -> Failure {
    Failure::other(format!("no such backup: {number}"))
}

fn close(unused: Vec<Open>) {
    if !unused.is_empty() {
        // Without a thread, the drop of the function closes the files here.
        let _ = thread::Builder::new().name("honeycomb-close".to_owned()).spawn(move || drop(unused));
    }
}
