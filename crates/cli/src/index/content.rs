//! Reading files for the checksums of their chunks, and noticing when they change meanwhile.

use super::{
    chunk::{CHUNK_BYTES_MAX, Chunk},
    record::Facts,
};
use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

/// Why the content of a file is not known.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It cannot be read.
    Unreadable(io::Error),
    /// It is not the file that was walked any more.
    Changed,
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof => Trouble::Changed,
            _ => Trouble::Unreadable(error),
        }
    }
}

/// Reads `chunks` of the file at `path` and returns them with their checksums, provided that the file has
/// these `facts` before and after. `buffer` is for reuse.
///
/// # Errors
/// See [`Trouble`].
pub(crate) fn read(
    path: &Path,
    facts: &Facts,
    chunks: impl Iterator<Item = Chunk>,
    buffer: &mut Vec<u8>,
) -> Result<Vec<Chunk>, Trouble> {
    let file = File::open(path)?;
    expect(&file, facts)?;
    buffer.resize(CHUNK_BYTES_MAX as usize, 0);
    let read = chunks.map(|chunk| {
        let bytes = &mut buffer[..chunk.length as usize];
        file.read_exact_at(bytes, chunk.offset)?;
        Ok(Chunk { checksum: Some(crc32c::crc32c(bytes)), ..chunk })
    });
    let chunks = read.collect::<Result<Vec<_>, Trouble>>()?;
    expect(&file, facts)?;
    Ok(chunks)
}

fn expect(file: &File, facts: &Facts) -> Result<(), Trouble> {
    let now = Facts::of(&file.metadata()?);
    if now == *facts { Ok(()) } else { Err(Trouble::Changed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::chunk;
    use std::fs;

    #[test]
    fn checksums_are_crc32c_of_the_chunks() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let bytes: Vec<u8> = (0..100_000_u32).map(|index| index as u8).collect();
        fs::write(&path, &bytes).unwrap();
        let facts = Facts::of(&fs::metadata(&path).unwrap());
        let chunks = read(&path, &facts, chunk::cut(facts.size), &mut Vec::new()).unwrap();
        assert_eq!(chunks.len(), 2);
        assert_eq!(chunks[1].checksum, Some(crc32c::crc32c(&bytes[65536..])));
    }

    #[test]
    fn a_change_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "one").unwrap();
        let facts = Facts::of(&fs::metadata(&path).unwrap());
        let read_again = |facts: &Facts| read(&path, facts, chunk::cut(facts.size), &mut Vec::new());
        assert!(matches!(read_again(&Facts { size: 4, ..facts }), Err(Trouble::Changed)));
        fs::remove_file(&path).unwrap();
        assert!(matches!(read_again(&facts), Err(Trouble::Changed)));
        fs::create_dir(&path).unwrap();
        let facts = Facts::of(&fs::metadata(&path).unwrap());
        assert!(matches!(read_again(&facts), Err(Trouble::Unreadable(_))));
    }
}
