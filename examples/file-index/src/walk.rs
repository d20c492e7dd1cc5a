//! The walk of a directory tree. An index stores the result of a walk.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use walkdir::{DirEntry, WalkDir};

use crate::exceptions::Exceptions;
use crate::progress::{Phase, StartPhase, Unit};
use crate::record::{Attributes, RECORD_BYTES};
use crate::{Error, chunk, escape, path_key};

/// A directory tree at the time of a walk.
#[derive(Debug)]
pub struct Walk {
    /// The root of the tree: an absolute path without symbolic links.
    pub(crate) root: PathBuf,
    /// The root and all files below it, in key order.
    pub(crate) entries: Vec<Entry>,
    /// Paths that are too long for a key. They are not in `entries`.
    pub(crate) too_long: Exceptions,
    /// Files without readable attributes, which are not in `entries`, and directories that cannot be listed.
    pub(crate) unreadable: Exceptions,
    /// Mount points of other file systems. They are in `entries`, but the files below them are not.
    pub(crate) mounted: Exceptions,
    mounts: HashSet<Vec<u8>>,
    /// The number of entries of each kind.
    pub(crate) kinds: KindCounts,
    /// The bytes in all regular files.
    pub(crate) file_bytes: u64,
    /// The duration of the walk.
    pub(crate) time: Duration,
}

/// The number of entries of each kind.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub(crate) struct KindCounts {
    /// Regular files.
    pub(crate) files: u64,
    /// Directories.
    pub(crate) directories: u64,
    /// Symbolic links, sockets, devices and others.
    pub(crate) others: u64,
}

/// A file of any kind.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The key of the path; see [`path_key`].
    pub(crate) key: Vec<u8>,
    /// The attributes at the time of the walk.
    pub(crate) attributes: Attributes,
}

impl Entry {
    /// Returns the path of the entry.
    pub(crate) fn path(&self) -> PathBuf {
        path_key::as_path(&path_key::path_of(&self.key)).to_owned()
    }
}

/// Returns `root` and all files below it in its file system, in arbitrary order.
pub(crate) fn below(root: &Path) -> impl Iterator<Item = walkdir::Result<DirEntry>> + use<> {
    WalkDir::new(root).same_file_system(true).into_iter()
}

impl Walk {
    /// Walks `directory`. Does not follow symbolic links and does not enter other file systems.
    ///
    /// # Errors
    /// The directory itself cannot be read. Unreadable files below it are not errors; the reports name them.
    pub fn new(directory: &Path, start_phase: StartPhase) -> Result<Walk, Error> {
        let start = Instant::now();
        let root = fs::canonicalize(directory).map_err(Error::file("read", directory))?;
        let device = fs::metadata(&root).map_err(Error::file("read", &root))?.dev();
        fs::read_dir(&root).map_err(Error::file("list", &root))?;
        let mut walk = Walk::empty(root);
        let progress = start_phase(Phase { name: "walking", total: None, unit: Unit::Items("entries") });
        for entry in below(&walk.root) {
            walk.add(entry, device);
            progress.advance(1);
        }
        walk.entries.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        walk.time = start.elapsed();
        Ok(walk)
    }

    /// Returns the size of all keys and values of the index of this walk, in bytes.
    #[must_use]
    pub fn raw_bytes(&self) -> u64 {
        let chunk_bytes = (chunk::KEY_BYTES + chunk::VALUE_BYTES_MAX) as u64;
        let entry_bytes = |entry: &Entry| {
            let chunks = chunk::count(entry.attributes.content_bytes());
            (entry.key.len() + RECORD_BYTES) as u64 + chunks * chunk_bytes
        };
        self.entries.iter().map(entry_bytes).sum()
    }

    /// Returns the entry with `key`.
    pub(crate) fn entry(&self, key: &[u8]) -> Option<&Entry> {
        let index = self.entries.binary_search_by(|entry| entry.key.as_slice().cmp(key)).ok()?;
        Some(&self.entries[index])
    }

    /// Returns the entries with the key prefix `prefix`, in key order.
    pub(crate) fn with_prefix<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = &'a Entry> {
        let first = self.entries.partition_point(|entry| entry.key.as_slice() < prefix);
        self.entries[first..].iter().take_while(move |entry| entry.key.starts_with(prefix))
    }

    /// Returns whether `entry` is a mount point.
    pub(crate) fn is_mount(&self, entry: &Entry) -> bool {
        self.mounts.contains(&entry.key)
    }

    /// Returns whether `path` has changed since the walk: its attributes differ, it is gone, or it is new in
    /// a directory that has changed.
    pub(crate) fn changed(&self, path: &Path) -> bool {
        let before = path_key::key_of(path).and_then(|key| self.entry(&key));
        let now = fs::symlink_metadata(path).ok().map(|metadata| Attributes::new(&metadata));
        match (before, now) {
            (Some(before), now) => now != Some(before.attributes),
            (None, _) => {
                path.starts_with(&self.root) && path.parent().is_some_and(|parent| self.changed(parent))
            }
        }
    }

    fn empty(root: PathBuf) -> Walk {
        Walk {
            root,
            entries: Vec::new(),
            too_long: Exceptions::default(),
            unreadable: Exceptions::default(),
            mounted: Exceptions::default(),
            mounts: HashSet::new(),
            kinds: KindCounts::default(),
            file_bytes: 0,
            time: Duration::ZERO,
        }
    }

    fn add(&mut self, entry: walkdir::Result<DirEntry>, device: u64) {
        let (entry, metadata) = match entry.and_then(|entry| Ok((entry.metadata()?, entry))) {
            Ok((metadata, entry)) => (entry, metadata),
            Err(error) => return self.unreadable.add(|| error.to_string()),
        };
        let show = || escape::path(entry.path());
        let Some(key) = path_key::key_of(entry.path()) else {
            return self.too_long.add(show);
        };
        if metadata.is_dir() && metadata.dev() != device {
            self.mounted.add(show);
            self.mounts.insert(key.clone());
        }
        let attributes = Attributes::new(&metadata);
        self.count(&attributes);
        self.entries.push(Entry { key, attributes });
    }

    fn count(&mut self, attributes: &Attributes) {
        if attributes.is_file() {
            self.kinds.files += 1;
            self.file_bytes += attributes.size;
        } else if attributes.is_directory() {
            self.kinds.directories += 1;
        } else {
            self.kinds.others += 1;
        }
    }
}
