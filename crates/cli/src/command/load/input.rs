//! The input of a load: a file or standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::encoding;
use crate::error::Error;
use crate::progress::{Progress, Unit};

/// An input that reports its progress.
pub(crate) struct Input {
    /// The size of the input in bytes, if it is known.
    pub(crate) bytes: Option<u64>,
    reader: Box<dyn Read>,
    progress: Progress,
}

impl Input {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn open(path: &Path) -> Result<Input, Error> {
        if is_standard(path) {
            let progress = Progress::new("loading", None, Unit::Bytes);
            return Ok(Input { bytes: None, reader: Box::new(io::stdin()), progress });
        }
        let file = File::open(path).map_err(Error::file("open", path))?;
        let metadata = file.metadata().map_err(Error::file("read", path))?;
        let bytes = metadata.is_file().then_some(metadata.len());
        let progress = Progress::new("loading", bytes, Unit::Bytes);
        Ok(Input { bytes, reader: Box::new(file), progress })
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.progress.advance(read as u64);
        Ok(read)
    }
}

/// Returns the name of the input at `path` for messages.
pub(crate) fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".into() } else { encoding::path(path) }
}

fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}
