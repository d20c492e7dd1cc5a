//! Files in a directory of the operating system.
//!
//! Whole blocks are written directly (`O_DIRECT`), without a copy in the page cache. A write that must be
//! durable has `O_DSYNC` as well, so one request to the disk is enough: the blocks were written before, so
//! no metadata changes. A file system that rejects `O_DIRECT` gets the same writes through its cache.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_layout::WAL_BLOCK_BYTES;
use honeycomb_log::{Storage, StorageFile};
use honeycomb_memory::sync::{Arc, AtomicBool, Ordering};
use rustix::fs::OFlags;

use crate::error::Error;

/// The file that a process locks while it uses the directory.
const LOCK_FILE: &str = "lock";

/// How long an open waits for the lock: a thread or a process that is about to end may still have it.
const LOCK_WAIT: Duration = Duration::from_secs(1);

/// Bytes that one request writes at most.
const CHUNK_BYTES: usize = 1 << 20;

/// A directory that this process has locked.
pub(crate) struct Files {
    path: PathBuf,
    _lock: File,
    /// Whether the file system accepts direct writes, as far as this is known.
    is_direct: Arc<AtomicBool>,
}

impl Files {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Directory { path: path.to_owned(), source };
        create_directory(path, sync_directory).map_err(failed)?;
        let mut options = File::options();
        let lock = options.create(true).truncate(false).read(true).write(true);
        let lock = lock.open(path.join(LOCK_FILE)).map_err(failed)?;
        let start = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_WAIT => {
                    thread::sleep(Duration::from_millis(20));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::DirectoryInUse { path: path.to_owned() });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        Ok(Self { path: path.to_owned(), _lock: lock, is_direct: Arc::new(AtomicBool::new(true)) })
    }

    fn handle(&self, file: File) -> Box<Handle> {
        Box::new(Handle { file, is_direct: self.is_direct.clone(), direct: None, durable: None })
    }
}

impl Storage for Files {
    fn list(&self) -> io::Result<Vec<String>> {
        let names = std::fs::read_dir(&self.path)?.map(|entry| entry.map(|entry| entry.file_name()));
        // A name that is not UTF-8 is not one of ours.
        names.filter_map(|name| name.map(|name| name.into_string().ok()).transpose()).collect()
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Box<dyn StorageFile>> {
        let mut options = File::options();
        options.create(true).truncate(true).read(true).write(true);
        let mut handle = self.handle(options.open(self.path.join(name))?);
        let zeros = vec![0; CHUNK_BYTES];
        let mut offset = 0;
        while offset < bytes {
            let chunk = (bytes - offset).min(CHUNK_BYTES as u64);
            handle.write_at(offset, &zeros[..chunk as usize])?;
            offset += chunk;
        }
        // Later writes must find the blocks on the disk.
        handle.file.sync_all()?;
        Ok(handle)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let file = File::options().read(true).write(true).open(self.path.join(name))?;
        Ok(self.handle(file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    fn sync_directory(&self) -> io::Result<()> {
        sync_directory(&self.path)
    }

    fn is_direct(&self) -> bool {
        self.is_direct.load(Ordering::Relaxed)
    }
}

/// Creates a directory unless it exists, and makes its name and those of its parents durable with `sync`,
/// which gets a directory whose names it must make durable. A directory with a lock file has had a durable
/// name before it got that file. One without may be that of a process that has ended before the sync.
fn create_directory(path: &Path, sync: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    if path.join(LOCK_FILE).exists() {
        return Ok(());
    }
    let all = path.ancestors().filter(|directory| !directory.as_os_str().is_empty());
    let all: Vec<_> = all.map(|directory| (directory, !directory.exists())).collect();
    std::fs::create_dir_all(path)?;
    for (directory, is_new) in all {
        let Some(parent) = directory.parent() else { break };
        let synced = sync(if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
        // This process may have no right to read the parent of an earlier directory.
        if is_new {
            synced?;
        }
    }
    Ok(())
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// An open file. All its descriptors are of the same file.
struct Handle {
    file: File,
    is_direct: Arc<AtomicBool>,
    /// The descriptor with `O_DIRECT`, and the one with `O_DIRECT` and `O_DSYNC`, with their buffer.
    direct: Option<Blocks>,
    durable: Option<Blocks>,
}

impl StorageFile for Handle {
    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while read < bytes.len() {
            match self.file.read_at(&mut bytes[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.writes_directly(offset, bytes) {
            let open = || Blocks::open(&self.file, OFlags::DIRECT);
            if let Some(direct) = opened(&mut self.direct, &self.is_direct, open)?
                && direct.write(offset, bytes, &self.is_direct)?
            {
                return Ok(());
            }
        }
        self.file.write_all_at(bytes, offset)
    }

    fn write_durable_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.writes_directly(offset, bytes) {
            let open = || Blocks::open(&self.file, OFlags::DIRECT | OFlags::DSYNC);
            if let Some(durable) = opened(&mut self.durable, &self.is_direct, open)?
                && durable.write(offset, bytes, &self.is_direct)?
            {
                return Ok(());
            }
        }
        self.file.write_all_at(bytes, offset)?;
        self.file.sync_data()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

impl Handle {
    fn writes_directly(&self, offset: u64, bytes: &[u8]) -> bool {
        let is_whole =
            offset.is_multiple_of(WAL_BLOCK_BYTES as u64) && bytes.len().is_multiple_of(WAL_BLOCK_BYTES);
        // Relaxed: a thread that reads an old value fails once more.
        is_whole && self.is_direct.load(Ordering::Relaxed)
    }
}

/// Returns the blocks, and opens them first if necessary; `None` if the file system rejects direct writes.
fn opened<'b>(
    blocks: &'b mut Option<Blocks>,
    is_direct: &AtomicBool,
    open: impl FnOnce() -> io::Result<Option<Blocks>>,
) -> io::Result<Option<&'b mut Blocks>> {
    if blocks.is_none() {
        *blocks = open()?;
        if blocks.is_none() {
            is_direct.store(false, Ordering::Relaxed);
        }
    }
    Ok(blocks.as_mut())
}

/// A descriptor for direct writes, and a buffer with the alignment that they need.
struct Blocks {
    file: File,
    bytes: Vec<u8>,
    start: usize,
}

impl Blocks {
    /// Opens the file again, by its descriptor, because it may have another name now. Returns `None` if that
    /// is impossible, so that the caller writes through the cache.
    fn open(file: &File, flags: OFlags) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        // The flags of Linux fit into an i32.
        options.write(true).custom_flags(flags.bits() as i32);
        let file = match options.open(format!("/proc/self/fd/{}", file.as_raw_fd())) {
            Ok(file) => file,
            // The file system rejects direct writes, or there is no /proc.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let bytes = vec![0; CHUNK_BYTES + WAL_BLOCK_BYTES];
        let start = bytes.as_ptr().align_offset(WAL_BLOCK_BYTES);
        Ok((start < WAL_BLOCK_BYTES).then_some(Self { file, bytes, start }))
    }

    /// Writes blocks. Returns false if the file system accepts the descriptor but rejects the write, as some
    /// do; the caller then writes through the cache.
    fn write(&mut self, offset: u64, bytes: &[u8], is_direct: &AtomicBool) -> io::Result<bool> {
        for (index, chunk) in bytes.chunks(CHUNK_BYTES).enumerate() {
            let aligned = &mut self.bytes[self.start..][..chunk.len()];
            aligned.copy_from_slice(chunk);
            match self.file.write_all_at(aligned, offset + (index * CHUNK_BYTES) as u64) {
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    is_direct.store(false, Ordering::Relaxed);
                    return Ok(false);
                }
                written => written?,
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// The directories that the creation of a directory syncs, and its result if `failing` cannot be synced.
    fn synced(path: &Path, failing: Option<&Path>) -> (Vec<PathBuf>, bool) {
        let all = RefCell::new(Vec::new());
        let created = create_directory(path, |synced| {
            assert!(path.exists(), "the sync of {} makes no name durable", synced.display());
            all.borrow_mut().push(synced.to_owned());
            if failing == Some(synced) { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
        });
        (all.into_inner(), created.is_ok())
    }

    /// Without the syncs a power cut could take the directory of a store with all its files.
    #[test]
    fn the_names_of_a_new_directory_and_of_its_parents_are_durable() {
        let folder = tempfile::tempdir().unwrap();
        let (parent, path) = (folder.path().join("a"), folder.path().join("a/b"));
        let expected = [&*parent, folder.path()].map(Path::to_owned);
        let (all, is_created) = synced(&path, Some(&parent));
        assert!(all == expected[..1] && !is_created, "{all:?}");
        // The names are not durable yet, although they exist, until there is a lock file.
        for failing in [None, folder.path().parent()] {
            let (all, is_created) = synced(&path, failing);
            assert!(all.starts_with(&expected) && is_created, "{all:?}");
        }
        drop(Files::open(&path).unwrap());
        assert_eq!(synced(&path, None), (Vec::new(), true));
    }

    #[test]
    fn a_locked_directory_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::open(folder.path()).unwrap();
        assert!(matches!(Files::open(folder.path()), Err(Error::DirectoryInUse { .. })));
        drop(files);
        assert!(Files::open(folder.path()).is_ok());
    }

    #[test]
    fn all_kinds_of_writes_reach_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::open(folder.path()).unwrap();
        let mut file = files.create("a", 3 * WAL_BLOCK_BYTES as u64).unwrap();
        files.rename("a", "b").unwrap();
        file.write_durable_at(0, &[1; WAL_BLOCK_BYTES]).unwrap();
        file.write_at(WAL_BLOCK_BYTES as u64, &[2; WAL_BLOCK_BYTES]).unwrap();
        file.write_at(10_000, &[3; 10]).unwrap();
        file.write_durable_at(12_200, &[4; 200]).unwrap();
        file.sync().unwrap();
        files.sync_directory().unwrap();
        let (mut bytes, reopened) = (vec![9; 20_000], files.open("b").unwrap());
        assert_eq!((reopened.length().unwrap(), reopened.read_at(0, &mut bytes).unwrap()), (12_400, 12_400));
        let mut expected = vec![0; 12_400];
        expected[..4096].fill(1);
        expected[4096..8192].fill(2);
        expected[10_000..10_010].fill(3);
        expected[12_200..].fill(4);
        assert!(bytes[..12_400] == expected);
        let names = files.list().unwrap();
        assert!(names.contains(&"b".to_owned()) && !names.contains(&"a".to_owned()));
    }
}
