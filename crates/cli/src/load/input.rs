//! The input: a file or standard input, with progress.

use crate::{
    error::Error,
    progress::{Progress, Unit},
    text,
};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Bytes to read, counted as they are read.
pub(crate) struct Input {
    /// How many bytes there are, if that is known.
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
            let progress = Progress::onwards("loading", Unit::Bytes);
            return Ok(Input { bytes: None, reader: Box::new(io::stdin()), progress });
        }
        let file = File::open(path).map_err(Error::file("open", path))?;
        let metadata = file.metadata().map_err(Error::file("read", path))?;
        let bytes = metadata.is_file().then_some(metadata.len());
        let progress = match bytes {
            Some(bytes) => Progress::towards("loading", bytes, Unit::Bytes),
            None => Progress::onwards("loading", Unit::Bytes),
        };
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

/// What to call the input at `path`.
pub(crate) fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".into() } else { text::path(path) }
}

fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}
