//! Reads files and computes the checksums of their chunks. Detects files that change meanwhile.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::chunk::{CHUNK_BYTES_MAX, Chunk};
use crate::record::Attributes;

/// The reason why the content of a file is unknown.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// The file has changed since the walk.
    Changed,
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof => ReadError::Changed,
            _ => ReadError::Unreadable(error),
        }
    }
}

/// Reads `chunks` of the file at `path` and returns them with their checksums. `buffer` is scratch memory
/// that calls reuse.
///
/// # Errors
/// The file cannot be read, or it does not have these `attributes` both before and after the read.
pub(crate) fn read(
    path: &Path,
    attributes: &Attributes,
    chunks: impl Iterator<Item = Chunk>,
    buffer: &mut Vec<u8>,
) -> Result<Vec<Chunk>, ReadError> {
    let file = File::open(path)?;
    expect(&file, attributes)?;
    buffer.resize(CHUNK_BYTES_MAX as usize, 0);
    let read = chunks.map(|chunk| {
        let bytes = &mut buffer[..chunk.length as usize];
        file.read_exact_at(bytes, chunk.offset)?;
        Ok(Chunk { checksum: Some(crc32c::crc32c(bytes)), ..chunk })
    });
    let chunks = read.collect::<Result<Vec<_>, ReadError>>()?;
    expect(&file, attributes)?;
    Ok(chunks)
}

fn expect(file: &File, attributes: &Attributes) -> Result<(), ReadError> {
    let now = Attributes::new(&file.metadata()?);
    if now == *attributes { Ok(()) } else { Err(ReadError::Changed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk;
    use std::fs;

    #[test]
    fn a_checksum_is_the_crc32c_of_a_chunk() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let bytes: Vec<u8> = (0..100_000_u32).map(|index| index as u8).collect();
        fs::write(&path, &bytes).unwrap();
        let attributes = Attributes::new(&fs::metadata(&path).unwrap());
        let chunks = read(&path, &attributes, chunk::split(attributes.size), &mut Vec::new()).unwrap();
        assert_eq!(chunks.len(), 2);
        assert_eq!(chunks[1].checksum, Some(crc32c::crc32c(&bytes[65536..])));
    }

    #[test]
    fn a_change_is_detected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "one").unwrap();
        let attributes = Attributes::new(&fs::metadata(&path).unwrap());
        let read_again =
            |attributes: &Attributes| read(&path, attributes, chunk::split(attributes.size), &mut Vec::new());
        assert!(matches!(read_again(&Attributes { size: 4, ..attributes }), Err(ReadError::Changed)));
        fs::remove_file(&path).unwrap();
        assert!(matches!(read_again(&attributes), Err(ReadError::Changed)));
        fs::create_dir(&path).unwrap();
        let attributes = Attributes::new(&fs::metadata(&path).unwrap());
        assert!(matches!(read_again(&attributes), Err(ReadError::Unreadable(_))));
    }
}
