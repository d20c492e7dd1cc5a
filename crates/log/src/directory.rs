//! The directory of a store: which files belong to it, and their recovery.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use honeycomb_layout::WAL_BLOCK_BYTES;

use crate::checkpoint_reader::CheckpointReader;
use crate::error::LogError;
use crate::file_header::{FileHeader, RECORDS_OFFSET};
use crate::manifest::Manifest;
use crate::names::{
    MANIFEST_FILE, NEW_LOG_FILE, NEW_MANIFEST_FILE, NEW_SPARE_FILE, RESTORE_FILE, checkpoint_file,
    checkpoint_number, log_file, log_file_number,
};
use crate::record::{Record, record_bytes};
use crate::storage::{Storage, read_log_file};
use crate::tail::{Tail, read_records};
use crate::writer::{ClosedFile, LogWriter};

/// The files of a store.
pub struct Directory {
    storage: Arc<dyn Storage>,
    manifest: Manifest,
    /// The numbers of the log files from the first one of the manifest on, without gaps.
    files: Vec<u64>,
    /// Files that no recovery needs.
    unused: Vec<String>,
}

/// What a replay of the log has found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Replayed {
    /// The records that were later than the checkpoint.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The version of the last record, or of the checkpoint.
    pub version: u64,
    /// The bytes of the torn tail.
    pub cut_bytes: u64,
}

impl Directory {
    /// Opens the files of a store, and creates the manifest if the directory has no files of a store.
    ///
    /// # Errors
    /// [`LogError::Missing`] if a file of the store is absent; [`LogError::UnfinishedRestore`];
    /// [`LogError::Corrupt`], [`LogError::Format`], [`LogError::Io`]; [`LogError::Full`] if there is no room
    /// for a new manifest.
    pub fn open(storage: Arc<dyn Storage>) -> Result<Self, LogError> {
        match Self::inspect(storage.clone())? {
            Some(directory) => Ok(directory),
            None => {
                Manifest::EMPTY.store(&*storage)?;
                Ok(Self { storage, manifest: Manifest::EMPTY, files: Vec::new(), unused: Vec::new() })
            }
        }
    }

    /// Like [`Directory::open`], but changes nothing: returns `None` if the directory has no files of a
    /// store.
    ///
    /// # Errors
    /// Those of [`Directory::open`], except [`LogError::Full`].
    pub fn inspect(storage: Arc<dyn Storage>) -> Result<Option<Self>, LogError> {
        let names = names(&*storage)?;
        let Some(manifest) = Manifest::load(&*storage)? else {
            return without_manifest(&names).map(|()| None);
        };
        let files = needed_files(&manifest, &names)?;
        let unused = names.into_iter().filter(|name| is_unused(name, &manifest)).collect();
        Ok(Some(Self { storage, manifest, files, unused }))
    }

    /// Returns the manifest.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        self.manifest
    }

    /// Returns the numbers of the log files that a recovery reads.
    #[must_use]
    pub fn files(&self) -> &[u64] {
        &self.files
    }

    /// Opens the checkpoint, if there is one.
    ///
    /// # Errors
    /// Those of [`CheckpointReader::open`].
    pub fn checkpoint(&self) -> Result<Option<CheckpointReader>, LogError> {
        let number = self.manifest.checkpoint;
        let reader = (number > 0).then(|| CheckpointReader::open(&*self.storage, number)).transpose()?;
        match reader {
            Some(reader) if reader.version() != self.manifest.version => {
                Err(reader.corrupt("the manifest states the version of the checkpoint"))
            }
            reader => Ok(reader),
        }
    }

    /// Passes all records that are later than the checkpoint to `use_record`, with the number of their file.
    ///
    /// # Errors
    /// [`LogError::Corrupt`], [`LogError::Format`], [`LogError::Io`]; those of `use_record`.
    pub fn replay<E: From<LogError>>(
        &self,
        mut use_record: impl FnMut(u64, Record<'_>) -> Result<(), E>,
    ) -> Result<(Replayed, Vec<Tail>), E> {
        let mut replayed = Replayed { version: self.manifest.version, ..Replayed::default() };
        let headers = self.files.iter().map(|&number| FileHeader::read(&*self.storage, number));
        let headers = headers.collect::<Result<Vec<_>, LogError>>()?;
        let mut tails = Vec::new();
        // Versions ascend within the files; the first one may have records that the checkpoint contains.
        let mut version = 0;
        for (index, &number) in self.files.iter().enumerate() {
            let end = headers.get(index + 1).map(|next| next.previous_end);
            let bytes = read_log_file(&*self.storage, number, end)?;
            let tail = read_records(&bytes, number, end, version, |record| {
                if record.version <= self.manifest.version {
                    return Ok(());
                }
                replayed.records += 1;
                replayed.bytes += record_bytes(record.changes.len()) as u64;
                use_record(number, record)
            })?;
            if end.is_none() {
                check_size(&bytes, &headers[index], tail)?;
            }
            version = tail.version;
            replayed.cut_bytes += tail.cut_bytes;
            tails.push(tail);
        }
        replayed.version = replayed.version.max(version);
        Ok((replayed, tails))
    }

    /// Starts a new log file after the replayed ones, and removes files that no recovery needs. Whatever the
    /// replay has found is durable afterwards. On a full disk the file is created when the first record needs
    /// it ([`LogWriter::has_room`] is false), so that a store that can be read does not fail to start.
    /// `file_bytes` is the size of the files, and `secret` a random number that clients do not know. Versions
    /// of new records must be above that of the replay.
    ///
    /// # Errors
    /// [`LogError::Full`] if there is neither room for a log file nor an earlier one; [`LogError::Io`].
    pub fn start_writer(
        self,
        (replayed, tails): (Replayed, Vec<Tail>),
        file_bytes: u64,
        secret: u64,
    ) -> Result<LogWriter, LogError> {
        self.make_names_durable()?;
        let files = self.files.iter().zip(tails);
        let files = files.map(|(&number, tail)| {
            let name = log_file(number);
            let file = self.storage.open(&name).map_err(LogError::io("open", &name))?;
            let bytes = file.length().map_err(LogError::io("read", &name))?;
            Ok((ClosedFile { number, bytes, end: tail.end, last_version: tail.version }, tail))
        });
        let mut files = files.collect::<Result<Vec<_>, LogError>>()?;
        // The name of a file without records may not be durable, so it is replaced.
        let replaced = files.pop_if(|(file, _)| file.end == RECORDS_OFFSET);
        let replaced = replaced.map(|(file, _)| FileHeader::read(&*self.storage, file.number)).transpose()?;
        if let Some((file, tail)) = files.last() {
            self.make_tail_durable(file, *tail)?;
        }
        let (number, previous_end) = match (&replaced, files.last()) {
            (Some(header), _) => (header.number, header.previous_end),
            (None, Some((last, _))) => (last.number + 1, last.end),
            (None, None) => (self.manifest.first_file, 0),
        };
        let closed = files.into_iter().map(|(file, _)| file).collect();
        LogWriter::start(self.storage, (file_bytes, secret), closed, (number, replayed.version, previous_end))
    }

    /// Makes the name of the manifest durable, and then removes the files that it does not need. The process
    /// before this one may have ended before its sync of the directory, or after one that failed.
    fn make_names_durable(&self) -> Result<(), LogError> {
        let (unused, unfinished): (Vec<_>, Vec<_>) = self.unused.iter().partition(|name| is_data(name));
        unfinished.into_iter().try_for_each(|name| remove(&*self.storage, name))?;
        if unused.is_empty() {
            return self.sync_names();
        }
        match self.manifest.store(&*self.storage) {
            // An earlier manifest may come back and need the files. They stay until a start with room.
            Err(error) if error.is_full() => return self.sync_names(),
            stored => stored?,
        }
        unused.into_iter().try_for_each(|name| remove(&*self.storage, name))
    }

    fn sync_names(&self) -> Result<(), LogError> {
        self.storage.sync_directory().map_err(LogError::io("sync the directory of", MANIFEST_FILE))
    }

    /// Writes the bytes again that may not be durable, although a read returns them: nobody has synced them,
    /// or a sync has failed. A later sync alone may forget them.
    fn make_tail_durable(&self, file: &ClosedFile, tail: Tail) -> Result<(), LogError> {
        let (name, block) = (log_file(file.number), WAL_BLOCK_BYTES as u64);
        let mut open = self.storage.open(&name).map_err(LogError::io("open", &name))?;
        let start = tail.durable / block * block;
        let mut bytes = vec![0; (tail.end.next_multiple_of(block).min(file.bytes) - start) as usize];
        let read = open.read_at(start, &mut bytes).map_err(LogError::io("read", &name))?;
        open.write_at(start, &bytes[..read]).map_err(LogError::io("write", &name))?;
        open.sync().map_err(LogError::io("sync", &name))
    }
}

impl Manifest {
    /// Removes all checkpoints but that of this manifest, which is durable: the former one, and those of
    /// failed attempts.
    ///
    /// # Errors
    /// [`LogError::Io`]: the next call removes the rest.
    pub fn remove_other_checkpoints(&self, storage: &dyn Storage) -> Result<(), LogError> {
        let names = storage.list().map_err(LogError::io("list", "the directory"))?;
        let is_other =
            |name: &String| checkpoint_number(name).is_some_and(|number| number != self.checkpoint);
        names.iter().filter(|name| is_other(name)).try_for_each(|name| remove(storage, name))
    }
}

/// Removes a file. An earlier removal that failed may have removed it nevertheless.
pub(crate) fn remove(storage: &dyn Storage, name: &str) -> Result<(), LogError> {
    match storage.remove(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(LogError::io("remove", name)),
    }
}

/// Returns the names of all files of a directory.
pub(crate) fn names(storage: &dyn Storage) -> Result<BTreeSet<String>, LogError> {
    Ok(storage.list().map_err(LogError::io("list", "the directory"))?.into_iter().collect())
}

/// Checks that a directory without a manifest has no files of a store.
pub(crate) fn without_manifest(names: &BTreeSet<String>) -> Result<(), LogError> {
    if names.contains(RESTORE_FILE) {
        return Err(LogError::UnfinishedRestore);
    }
    let (file, reason) = (MANIFEST_FILE.to_owned(), "the directory has other files of a store");
    if names.iter().any(|name| is_data(name)) { Err(LogError::Missing { file, reason }) } else { Ok(()) }
}

/// Returns the numbers of the log files from the first one of a manifest on. Its checkpoint and these files
/// must be there, without gaps.
pub(crate) fn needed_files(manifest: &Manifest, names: &BTreeSet<String>) -> Result<Vec<u64>, LogError> {
    let missing = |file, reason| Err(LogError::Missing { file, reason });
    let checkpoint = checkpoint_file(manifest.checkpoint);
    if manifest.checkpoint > 0 && !names.contains(&checkpoint) {
        return missing(checkpoint, "the manifest names it");
    }
    let numbers = names.iter().filter_map(|name| log_file_number(name));
    let files: Vec<u64> = numbers.filter(|&number| number >= manifest.first_file).collect();
    // Only a new store has no log file.
    let is_new = *manifest == Manifest::EMPTY && files.is_empty();
    let expected = (manifest.first_file..).take(files.len().max(usize::from(!is_new)));
    match expected.enumerate().find(|(index, number)| files.get(*index) != Some(number)) {
        Some((_, number)) => missing(log_file(number), "the manifest or a later log file needs it"),
        None => Ok(files),
    }
}

/// Checks that the last log file has its size. It has had it since before its first record, so a power cut
/// does not make it shorter, and records may be missing at its end.
pub(crate) fn check_size(bytes: &[u8], header: &FileHeader, tail: Tail) -> Result<(), LogError> {
    let offset = bytes.len() as u64;
    if offset >= header.file_bytes {
        return Ok(());
    }
    let (file, version) = (log_file(header.number), tail.version);
    Err(LogError::Corrupt {
        file,
        offset,
        version,
        rule: "the file ends here, but its header states more bytes",
    })
}

/// Whether a file has data of a store.
pub(crate) fn is_data(name: &str) -> bool {
    log_file_number(name).is_some() || checkpoint_number(name).is_some()
}

/// Whether a file is one that a recovery reads.
pub(crate) fn is_of_store(name: &str) -> bool {
    name == MANIFEST_FILE || is_data(name)
}

fn is_unused(name: &str, manifest: &Manifest) -> bool {
    name == NEW_MANIFEST_FILE
        || name == NEW_SPARE_FILE
        || name == NEW_LOG_FILE
        || log_file_number(name).is_some_and(|number| number < manifest.first_file)
        || checkpoint_number(name).is_some_and(|number| number != manifest.checkpoint)
}
