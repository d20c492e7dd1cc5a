//! What the file system says of a directory tree: the walk that the index is made from.

use super::{path_key, record::Facts};
use crate::{
    error::Error,
    noted::Noted,
    progress::{Progress, Unit},
    text,
};
use std::{
    collections::HashSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};
use walkdir::{DirEntry, WalkDir};

/// A directory tree as it was when walked.
pub(crate) struct Walk {
    /// The directory walked: absolute, without symbolic links.
    pub(crate) root: PathBuf,
    /// What was found, the root too, in the order of the keys.
    pub(crate) entries: Vec<Entry>,
    /// Paths too long for a key: not in `entries`.
    pub(crate) too_long: Noted,
    /// What could not be read: not in `entries`, or a directory whose listing is not.
    pub(crate) unreadable: Noted,
    /// Directories where another file system begins: in `entries`, but nothing below them.
    pub(crate) mounted: Noted,
    mounts: HashSet<Vec<u8>>,
    /// Regular files, directories, and the rest (links, sockets and such).
    pub(crate) kinds: Kinds,
    /// Bytes in all regular files.
    pub(crate) file_bytes: u64,
}

/// How many entries there are of each kind.
#[derive(Clone, Copy, Default, serde::Serialize)]
pub(crate) struct Kinds {
    /// Regular files.
    pub(crate) files: u64,
    /// Directories.
    pub(crate) directories: u64,
    /// Symbolic links, sockets, devices and such.
    pub(crate) others: u64,
}

/// One file of any kind.
pub(crate) struct Entry {
    /// The key that stands for its path; see [`path_key`].
    pub(crate) key: Vec<u8>,
    /// What the file system said of it.
    pub(crate) facts: Facts,
}

impl Entry {
    /// The entry's path.
    pub(crate) fn path(&self) -> PathBuf {
        path_key::as_path(&path_key::path_of(&self.key)).to_owned()
    }
}

/// Walks `directory` without following symbolic links and without entering other file systems.
///
/// # Errors
/// The directory itself cannot be read. Anything below it that cannot be read is noted instead.
pub(crate) fn walk(directory: &Path) -> Result<Walk, Error> {
    let root = fs::canonicalize(directory).map_err(Error::file("read", directory))?;
    let device = fs::metadata(&root).map_err(Error::file("read", &root))?.dev();
    fs::read_dir(&root).map_err(Error::file("list", &root))?;
    let mut walk = Walk::new(root);
    let progress = Progress::onwards("walking", Unit::Things("entries"));
    for found in below(&walk.root) {
        walk.take(found, device);
        progress.advance(1);
    }
    walk.entries.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    Ok(walk)
}

/// Everything at and below `root`, on its file system only, in no particular order.
pub(crate) fn below(root: &Path) -> impl Iterator<Item = walkdir::Result<DirEntry>> + use<> {
    WalkDir::new(root).same_file_system(true).into_iter()
}

impl Walk {
    /// The entry with `key`.
    pub(crate) fn entry(&self, key: &[u8]) -> Option<&Entry> {
        let index = self.entries.binary_search_by(|entry| entry.key.as_slice().cmp(key)).ok()?;
        Some(&self.entries[index])
    }

    /// The entries whose keys begin with `prefix`, in the order of the keys.
    pub(crate) fn with_prefix<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = &'a Entry> {
        let first = self.entries.partition_point(|entry| entry.key.as_slice() < prefix);
        self.entries[first..].iter().take_while(move |entry| entry.key.starts_with(prefix))
    }

    /// Whether another file system begins at `entry`.
    pub(crate) fn is_mount(&self, entry: &Entry) -> bool {
        self.mounts.contains(&entry.key)
    }

    /// Whether `path` is not what it was when walked: other facts, gone, or new in a directory that changed.
    pub(crate) fn changed(&self, path: &Path) -> bool {
        let before = path_key::key_of(path).and_then(|key| self.entry(&key));
        let now = fs::symlink_metadata(path).ok().map(|metadata| Facts::of(&metadata));
        match (before, now) {
            (Some(before), now) => now != Some(before.facts),
            (None, _) => {
                path.starts_with(&self.root) && path.parent().is_some_and(|parent| self.changed(parent))
            }
        }
    }

    fn new(root: PathBuf) -> Walk {
        Walk {
            root,
            entries: Vec::new(),
            too_long: Noted::default(),
            unreadable: Noted::default(),
            mounted: Noted::default(),
            mounts: HashSet::new(),
            kinds: Kinds::default(),
            file_bytes: 0,
        }
    }

    fn take(&mut self, found: walkdir::Result<DirEntry>, device: u64) {
        let (entry, metadata) = match found.and_then(|entry| Ok((entry.metadata()?, entry))) {
            Ok((metadata, entry)) => (entry, metadata),
            Err(error) => return self.unreadable.note(|| error.to_string()),
        };
        let show = || text::path(entry.path());
        let Some(key) = path_key::key_of(entry.path()) else {
            return self.too_long.note(show);
        };
        if metadata.is_dir() && metadata.dev() != device {
            self.mounted.note(show);
            self.mounts.insert(key.clone());
        }
        let facts = Facts::of(&metadata);
        self.count(&facts);
        self.entries.push(Entry { key, facts });
    }

    fn count(&mut self, facts: &Facts) {
        if facts.is_file() {
            self.kinds.files += 1;
            self.file_bytes += facts.size;
        } else if facts.is_directory() {
            self.kinds.directories += 1;
        } else {
            self.kinds.others += 1;
        }
    }
}
