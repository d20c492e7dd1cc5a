//! The file of an image that a command creates or extends.
//!
//! The draft, `FILE.draft`, gets the new contents and then the name of the image. So an interrupted command
//! leaves the image unchanged, and a draft that the next save empties. The command locks the draft before it
//! loads the image, so no other command extends the image meanwhile.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::BufWriter;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use honeycomb_store::Store;

use crate::encoding;
use crate::error::Error;
use crate::replace::replace;

/// A locked draft. It is removed unless it becomes the image.
pub(crate) struct ImageFile {
    /// The path in messages.
    path: PathBuf,
    /// The file to replace: no symbolic link, if it exists.
    target: PathBuf,
    draft: PathBuf,
    file: File,
    is_saved: bool,
}

impl ImageFile {
    /// Locks the image at `path`, which need not exist.
    ///
    /// # Errors
    /// Another command extends the image, or the directory does not allow a draft.
    pub(crate) fn lock(path: &Path) -> Result<Self, Error> {
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let draft = draft_path(&target);
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(&draft);
            let file = file.map_err(Error::file("create", &draft))?;
            match file.try_lock() {
                Ok(()) if is_at(&draft, &file) => {
                    return Ok(Self { path: path.to_owned(), target, draft, file, is_saved: false });
                }
                // Another command has ended since the draft was opened, which has another name or none now.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let path = encoding::path(path);
                    return Err(Error::Arguments(format!("{path} is in use: another command extends it")));
                }
                Err(TryLockError::Error(error)) => return Err(Error::file("lock", &draft)(error)),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the image by the contents of `store`. Returns the number of pairs and the size of the file in
    /// bytes. After an error, the image is unchanged.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn save(mut self, store: &Store) -> Result<(u64, u64), Error> {
        let written = self.write(store)?;
        let replaced = replace(&self.draft, &self.target);
        // From the rename on, a draft of this name is that of another command.
        self.is_saved = !is_at(&self.draft, &self.file);
        replaced.map(|()| written)
    }

    fn write(&self, store: &Store) -> Result<(u64, u64), Error> {
        let failed = || Error::file("write", &self.draft);
        self.file.set_len(0).map_err(failed())?;
        if let Ok(image) = fs::metadata(&self.target) {
            self.file.set_permissions(image.permissions()).map_err(failed())?;
        }
        let mut writer = BufWriter::with_capacity(1 << 20, &self.file);
        let pairs = store.save(&mut writer).map_err(Error::image("save", &self.draft))?;
        writer.into_inner().map_err(|error| failed()(error.into_error()))?;
        self.file.sync_all().map_err(failed())?;
        Ok((pairs, self.file.metadata().map_err(Error::file("read", &self.draft))?.len()))
    }
}

impl Drop for ImageFile {
    /// Removes the draft before the lock ends with its file. After the save, the draft of this name would be
    /// that of another command.
    fn drop(&mut self) {
        if !self.is_saved {
            _ = fs::remove_file(&self.draft);
        }
    }
}

/// Returns a path in the same directory, so that a rename to `path` is atomic.
fn draft_path(path: &Path) -> PathBuf {
    let mut name: OsString = path.into();
    name.push(".draft");
    name.into()
}

/// Returns whether an open file still has this path.
fn is_at(path: &Path, file: &File) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let found = fs::metadata(path).map(identity).ok();
    found.is_some() && found == file.metadata().map(identity).ok()
}
