//! Files that this process only reads, without a lock: those of an archive, or of a store that a server uses.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use honeycomb_log::{Storage, StorageFile};

use crate::error::Error;

/// Opens the files of a directory for reading. It needs no lock, so a server may use the directory; its files
/// may then change while they are read.
///
/// # Errors
/// [`Error::Directory`] if it is not a directory that this process can read.
pub fn read_only_files(path: impl AsRef<Path>) -> Result<Arc<dyn Storage>, Error> {
    let path = path.as_ref().to_owned();
    match std::fs::read_dir(&path) {
        Ok(_) => Ok(Arc::new(ReadOnlyFiles(path))),
        Err(source) => Err(Error::Directory { path, source }),
    }
}

struct ReadOnlyFiles(PathBuf);

struct ReadOnlyFile(File);

impl Storage for ReadOnlyFiles {
    fn list(&self) -> io::Result<Vec<String>> {
        let names = std::fs::read_dir(&self.0)?.map(|entry| entry.map(|entry| entry.file_name()));
        // A name that is not UTF-8 is not one of ours.
        names.filter_map(|name| name.map(|name| name.into_string().ok()).transpose()).collect()
    }

    fn create(&self, _: &str, _: u64) -> io::Result<Box<dyn StorageFile>> {
        refused()
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(Box::new(ReadOnlyFile(File::open(self.0.join(name))?)))
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        refused()
    }

    fn sync_directory(&self) -> io::Result<()> {
        refused()
    }
}

impl StorageFile for ReadOnlyFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while read < bytes.len() {
            match self.0.read_at(&mut bytes[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn write_at(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        refused()
    }

    fn write_durable_at(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        refused()
    }

    fn sync(&mut self) -> io::Result<()> {
        refused()
    }
}

fn refused<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "these files are only read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_not_written() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), b"some bytes").unwrap();
        let files = read_only_files(folder.path()).unwrap();
        assert_eq!(files.list().unwrap(), ["a"]);
        let mut file = files.open("a").unwrap();
        let mut bytes = [0; 8];
        assert_eq!((file.length().unwrap(), file.read_at(5, &mut bytes).unwrap()), (10, 5));
        assert_eq!(&bytes[..5], b"bytes");
        assert!(file.write_at(0, b"x").is_err() && file.write_durable_at(0, b"x").is_err());
        assert!(file.sync().is_err() && files.create("b", 0).is_err() && files.remove("a").is_err());
        assert!(files.rename("a", "b").is_err() && files.sync_directory().is_err());
        assert!(read_only_files(folder.path().join("absent")).is_err());
    }
}
