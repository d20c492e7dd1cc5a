//! Replacing a file by a complete one.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::error::Error;

/// Gives a file whose bytes are durable the name `path`, which is durable afterwards.
///
/// # Errors
/// The file cannot be renamed, or its directory cannot be synced.
pub(crate) fn replace(complete: &Path, path: &Path) -> Result<(), Error> {
    replace_with(complete, path, |directory| File::open(directory)?.sync_all())
}

fn replace_with(
    complete: &Path,
    path: &Path,
    sync: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), Error> {
    fs::rename(complete, path).map_err(Error::file("replace", path))?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    sync(directory.unwrap_or(Path::new("."))).map_err(Error::file("sync the directory of", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_synced_after_the_file_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (complete, path) = (folder.path().join("a.part"), folder.path().join("a"));
        fs::write(&complete, b"bytes").unwrap();
        let replaced = replace_with(&complete, &path, |directory| {
            assert!(directory == folder.path() && path.exists() && !complete.exists());
            Err(io::ErrorKind::Other.into())
        });
        let text = replaced.unwrap_err().to_string();
        assert!(text.contains("sync the directory of"), "{text}");
        fs::rename(&path, &complete).unwrap();
        replace(&complete, &path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"bytes");
    }
}
