//! Checkpoints: all pairs of one version, written while other threads read and write.
//!
//! A checkpoint reads under a lease, in pages, and holds no lock while it reads or writes. If its lease ends,
//! it starts again from the first pair at a newer version, some times, and then fails; the log has all
//! changes, so nothing is lost.
//!
//! An unordered table has no versions. Its pairs are of moments after the version of the checkpoint.

use std::ops::{Bound, ControlFlow};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use honeycomb_btree::{Root, Scan, Version};
use honeycomb_hashtable::WalkedPairs;
use honeycomb_log::{CheckpointWriter, LogError, LogWriter, Manifest, checkpoint_file};
use honeycomb_memory::lower_priority;
use honeycomb_memory::sync::Ordering;

use super::checkpoints::{Checkpoint, Checkpoints, Current, Source, lock};
use super::panics;
use crate::directory::Entry;
use crate::error::Error;
use crate::lease::ActiveLease;
use crate::unordered::entry::UnorderedEntry;

/// Attempts of a checkpoint whose lease ends.
const ATTEMPTS: usize = 5;
/// Pairs and bytes of a page.
const PAGE_PAIRS: usize = 1024;
const PAGE_BYTES: usize = 256 << 10;
/// Pairs after which the first attempt lets other threads of its processor execute: about 50 microseconds.
/// The system itself lets a thread that has become ready wait for up to four milliseconds, even if the
/// priority of the checkpoint is lower.
const TURN_PAIRS: usize = 512;

/// A table at the version of a checkpoint.
struct CheckpointTable {
    root: Root,
    name: String,
}

/// The tables of a checkpoint.
#[derive(Default)]
struct CheckpointTables {
    ordered: Vec<CheckpointTable>,
    /// These references do not prevent that the tables are dropped: then the log has that.
    unordered: Vec<Arc<UnorderedEntry>>,
}

impl Checkpoints {
    /// Writes a checkpoint of the current state. Waits for one that is in progress.
    pub(crate) fn write(&self) -> Result<Checkpoint, Error> {
        let mut current = lock(&self.current);
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        self.is_running.store(true, Ordering::Release);
        let written = Self::catch(|| self.attempt_until_done(&mut current));
        lock(&self.outcomes).add(number, &written);
        *lock(&self.ended_at) = self.source.leases.now();
        if written.is_ok() {
            *lock(&self.age_at) = (self.source.leases.now(), Duration::ZERO);
        }
        self.is_running.store(false, Ordering::Release);
        written
    }

    /// The first attempt leaves the processors to all other threads. It was too slow if its lease ends, so
    /// the next attempts do not.
    fn attempt_until_done(&self, current: &mut Current) -> Result<Checkpoint, Error> {
        let mut written = self.attempt_at_low_priority(current);
        for _ in 1..ATTEMPTS {
            match written {
                Err(Error::SnapshotTooOld) => written = self.attempt(current, Turns::Endless),
                done => return done,
            }
        }
        let (attempts, bytes_max) = (ATTEMPTS, self.lease.bytes);
        written.map_err(|error| match error {
            Error::SnapshotTooOld => Error::CheckpointTooSlow { attempts, bytes_max },
            other => other,
        })
    }

    /// Executes on a thread of its own, because the priority of a thread cannot be raised again.
    fn attempt_at_low_priority(&self, current: &mut Current) -> Result<Checkpoint, Error> {
        let attempt = || {
            // Without it the checkpoint only takes time from the other threads.
            let _ = lower_priority();
            self.attempt(current, Turns::Short(0))
        };
        thread::scope(|scope| {
            let name = "honeycomb-ckpt-1".to_owned();
            let attempt = thread::Builder::new().name(name).spawn_scoped(scope, attempt);
            attempt.map_err(Error::Thread)?.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    fn attempt(&self, current: &mut Current, turns: Turns) -> Result<Checkpoint, Error> {
        let begun_at = self.source.log.counters.position();
        let number = current.next;
        current.next += 1;
        let (lease, tables) = self.begin()?;
        // The lease ends in any case.
        let written = Self::catch(|| self.write_file(number, &lease, &tables, turns));
        self.source.leases.end(&lease);
        let written = written.and_then(|pairs| self.wait_for_log(lease.version, &tables).map(|()| pairs));
        let pairs = written.inspect_err(|_| {
            // No manifest names the file. Its room may be needed.
            let _ = self.storage.remove(&checkpoint_file(number));
        })?;
        let archived = self.archiver.as_ref().map_or(u64::MAX, |archiver| archiver.advance(&self.source.log));
        let mut writer = self.source.log.lock_writer();
        // The sync that has failed may have been that of the directory, with the name of the checkpoint.
        self.source.log.check_failed()?;
        let first_file = writer.first_file_after(lease.version).min(archived);
        let manifest = Manifest { checkpoint: number, version: lease.version, first_file, pairs };
        self.store_manifest(manifest)?;
        *lock(&self.manifest) = manifest;
        self.version.store(lease.version, Ordering::Relaxed);
        *lock(&self.begun_at) = begun_at;
        let recycled = self.recycle(&mut writer, first_file);
        drop(writer);
        recycled.and(manifest.remove_other_checkpoints(&*self.storage))?;
        Ok(Checkpoint { version: lease.version, pairs })
    }

    /// Executes a part of a checkpoint, which fails if the part panics.
    fn catch<T>(part: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        panics::catch(part).unwrap_or_else(|message| Err(Error::CheckpointPanicked { message }))
    }

    /// Makes a checkpoint the one from which a recovery starts. On a full disk the earlier manifest stays
    /// valid, so nothing needs the new file, and a log file may need its room. After any other error the new
    /// manifest may be valid, so the file stays.
    fn store_manifest(&self, manifest: Manifest) -> Result<(), LogError> {
        manifest.store(&*self.storage).inspect_err(|error| {
            if error.is_full() {
                let _ = self.storage.remove(&checkpoint_file(manifest.checkpoint));
            }
        })
    }

    /// Ends the use of the log files before one, and of what is known about the versions of their records.
    fn recycle(&self, writer: &mut LogWriter, first_file: u64) -> Result<(), LogError> {
        let unused = writer.closed_files().iter().take_while(|file| file.number < first_file).last();
        let last_version = unused.map(|file| file.last_version);
        let recycled = writer.recycle(first_file);
        self.source.log.counters.set_files(writer.files());
        if let (Some(version), Ok(())) = (last_version, &recycled) {
            self.source.log.table_ids.forget_before(version);
        }
        recycled
    }

    /// Takes a lease, and the tables of its version: their creation has a version, and happens under the
    /// lock.
    fn begin(&self) -> Result<(Arc<ActiveLease>, CheckpointTables), Error> {
        let directory = self.source.directory.read();
        let mut tables = CheckpointTables::default();
        for entry in directory.values() {
            match entry {
                Entry::Ordered(entry) => {
                    tables.ordered.push(CheckpointTable { root: entry.root, name: entry.name.clone() });
                }
                Entry::Unordered(entry) => tables.unordered.push(entry.clone()),
            }
        }
        Ok((self.source.leases.acquire_for_checkpoint(&self.source.forest, self.lease)?, tables))
    }

    fn write_file(
        &self,
        number: u64,
        lease: &ActiveLease,
        tables: &CheckpointTables,
        mut turns: Turns,
    ) -> Result<u64, Error> {
        let mut writer = CheckpointWriter::create(
            &*self.storage,
            number,
            lease.version,
            self.source.log.clock.milliseconds(),
        )?;
        let mut page = Page::default();
        for table in &tables.ordered {
            writer.table(table.root.lid().get(), &table.name)?;
            page.clear();
            while page.read(&self.source, lease, table.root)? {
                page.pairs().try_for_each(|(key, value)| turns.after(writer.push(key, value)))?;
                self.source.leases.renew(lease, self.source.forest.memory())?;
                self.check_stop()?;
            }
        }
        for table in &tables.unordered {
            self.write_unordered(table, &mut writer, &mut turns)?;
        }
        Ok(writer.finish()?)
    }

    /// Writes the pairs of an unordered table, each as it is at some moment after the version of the
    /// checkpoint. The log has all later effects, so its replay leads to the right state.
    fn write_unordered(
        &self,
        table: &UnorderedEntry,
        writer: &mut CheckpointWriter,
        turns: &mut Turns,
    ) -> Result<(), Error> {
        writer.unordered_table(table.tree, &table.name, &table.config().encode())?;
        let (mut pairs, mut cursor) = (WalkedPairs::default(), 0);
        loop {
            cursor = table.walk(cursor, usize::MAX, usize::MAX, &mut pairs);
            pairs.iter().try_for_each(|(key, value)| turns.after(writer.push(key, value)))?;
            self.check_stop()?;
            if cursor == 0 {
                return Ok(());
            }
        }
    }

    /// Waits until all writes that the checkpoint may contain are durable. Otherwise a power cut could leave
    /// writes that no log file has, and a restore of an earlier image could not notice that they are missing.
    /// The lease has ended before, because it pins what writers replace meanwhile.
    fn wait_for_log(&self, version: Version, tables: &CheckpointTables) -> Result<(), Error> {
        if tables.unordered.is_empty() {
            return self.wait_durable(version);
        }
        // Pairs of unordered tables may be later than the version.
        self.wait_durable(self.source.forest.catch_up())
    }

    /// Waits until all writes up to a version are durable. Does not wait for room on a full disk, because the
    /// end of a checkpoint is what may free log files.
    fn wait_durable(&self, version: Version) -> Result<(), Error> {
        let waited = self.source.log.wait_durable_with_room(version, || self.check_stop());
        waited.map_err(|error| match error {
            Error::NotDurable { reason } => Error::ReadOnly { reason },
            other => other,
        })
    }

    fn check_stop(&self) -> Result<(), Error> {
        if self.requests.is_stopping() { Err(Error::Stopping) } else { Ok(()) }
    }
}

/// When a checkpoint lets other threads of its processor execute.
enum Turns {
    /// After [`TURN_PAIRS`]; with the number of pairs since.
    Short(usize),
    /// When the system does.
    Endless,
}

impl Turns {
    /// Ends the turn if a pair was the last one of it. Passes the result of its write on.
    fn after<T>(&mut self, written: T) -> T {
        if let Self::Short(pairs) = self {
            *pairs += 1;
            if *pairs == TURN_PAIRS {
                *pairs = 0;
                thread::yield_now();
            }
        }
        written
    }
}

/// Some pairs of a table.
#[derive(Default)]
struct Page {
    bytes: Vec<u8>,
    /// The end of each key and of its value.
    ends: Vec<(usize, usize)>,
    /// The last key of the earlier page; empty before the first page.
    last: Vec<u8>,
}

impl Page {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.last.clear();
    }

    /// Reads the pairs after the last one of this page. Returns false if there are none.
    fn read(&mut self, source: &Source, lease: &ActiveLease, root: Root) -> Result<bool, Error> {
        if let Some((key, _)) = self.pairs().last() {
            self.last = key.to_vec();
        }
        self.bytes.clear();
        self.ends.clear();
        let in_use = source.leases.enter(lease, source.forest.memory())?;
        let lower = if self.last.is_empty() { Bound::Unbounded } else { Bound::Excluded(&self.last[..]) };
        let scan = Scan { lower, limit: PAGE_PAIRS, ..Scan::default() };
        let (bytes, ends) = (&mut self.bytes, &mut self.ends);
        source.forest.reader_at(&in_use, lease.version).scan(root, &scan, |pair| {
            pair.copy_key_into(bytes);
            let key_end = bytes.len();
            bytes.extend_from_slice(pair.value());
            ends.push((key_end, bytes.len()));
            if bytes.len() < PAGE_BYTES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        Ok(!self.ends.is_empty())
    }

    fn pairs(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(key_end, end)| {
            let pair = (&self.bytes[start..key_end], &self.bytes[key_end..end]);
            start = end;
            pair
        })
    }
}
