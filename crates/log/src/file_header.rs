//! The header of a log file.

use std::io;

use crc32c::{crc32c, crc32c_append};
use honeycomb_layout as layout;
use honeycomb_layout::wal_file;

use crate::bytes::{put_u32, put_u64, u32_at, u64_at};
use crate::error::LogError;
use crate::names::log_file;
use crate::storage::{Storage, StorageFile, read_log_file};

pub(crate) const MAGIC: &[u8; 8] = b"HONEYLOG";

/// The offset of the first record of a log file.
pub(crate) const RECORDS_OFFSET: u64 = layout::WAL_BLOCK_BYTES as u64;

/// Random numbers of a log file. Without them a client could store values that are valid records of the next
/// use of the file. Files of format 1 have zeros.
pub(crate) type Salt = [u64; 2];

/// The format of log files without a salt.
const FORMAT_WITHOUT_SALT: u32 = 1;

/// The header of a log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub(crate) salt: Salt,
    pub(crate) number: u64,
    pub(crate) first_version: u64,
    pub(crate) previous_end: u64,
    /// The size of the file, which never changes: a shorter file was truncated, such as by a copy that was
    /// interrupted. 0 in a file whose size does not matter.
    pub(crate) file_bytes: u64,
}

/// Returns the salt of a log file whose header is valid, or zeros.
pub(crate) fn salt_of(file: &[u8]) -> Salt {
    let has_salt = file.len() >= wal_file::SIZE
        && u32_at(file, wal_file::FORMAT_OFFSET) == layout::WAL_FILE_FORMAT as u32;
    let word = |offset| u64_at(file, wal_file::SALT_OFFSET + offset);
    if has_salt { [word(0), word(8)] } else { [0; 2] }
}

/// Returns the checksum of a header of this format.
fn checksum(header: &[u8], format: u32) -> u32 {
    let crc = crc32c(&header[..wal_file::CRC_OFFSET]);
    let salt = &header[wal_file::SALT_OFFSET..wal_file::SIZE];
    if format == FORMAT_WITHOUT_SALT { crc } else { crc32c_append(crc, salt) }
}

/// Removes the size from the header of a log file that is or becomes shorter.
pub(crate) fn forget_size(file: &mut dyn StorageFile) -> io::Result<()> {
    file.write_at(wal_file::FILE_BYTES_OFFSET as u64, &[0; 8])
}

impl FileHeader {
    /// The first block of the file.
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut block = vec![0; layout::WAL_BLOCK_BYTES];
        block[..MAGIC.len()].copy_from_slice(MAGIC);
        put_u64(&mut block, wal_file::NUMBER_OFFSET, self.number);
        put_u64(&mut block, wal_file::FIRST_VERSION_OFFSET, self.first_version);
        put_u64(&mut block, wal_file::PREVIOUS_END_OFFSET, self.previous_end);
        put_u64(&mut block, wal_file::FILE_BYTES_OFFSET, self.file_bytes);
        let format = layout::WAL_FILE_FORMAT as u32;
        put_u32(&mut block, wal_file::FORMAT_OFFSET, format);
        put_u64(&mut block, wal_file::SALT_OFFSET, self.salt[0]);
        put_u64(&mut block, wal_file::SALT_OFFSET + 8, self.salt[1]);
        let crc = checksum(&block, format);
        put_u32(&mut block, wal_file::CRC_OFFSET, crc);
        block
    }

    /// Reads the header of the log file with this number.
    pub(crate) fn read(storage: &dyn Storage, number: u64) -> Result<Self, LogError> {
        let bytes = read_log_file(storage, number, Some(RECORDS_OFFSET))?;
        Self::decode(&bytes, &log_file(number), number)
    }

    /// Decodes the header of the log file `name`, which must have this number.
    pub(crate) fn decode(bytes: &[u8], name: &str, number: u64) -> Result<Self, LogError> {
        let corrupt = |rule| LogError::Corrupt { file: name.to_owned(), offset: 0, version: 0, rule };
        if bytes.len() < layout::WAL_BLOCK_BYTES {
            return Err(corrupt("a log file has a header of one block"));
        }
        if bytes[..MAGIC.len()] != *MAGIC {
            return Err(corrupt("a log file begins with HONEYLOG"));
        }
        let (format, supported) = (u32_at(bytes, wal_file::FORMAT_OFFSET), layout::WAL_FILE_FORMAT as u32);
        if checksum(bytes, format) != u32_at(bytes, wal_file::CRC_OFFSET) {
            return Err(corrupt("the checksum of the header does not match"));
        }
        if !(FORMAT_WITHOUT_SALT..=supported).contains(&format) {
            return Err(LogError::Format { file: name.to_owned(), found: format, supported });
        }
        let header = Self {
            salt: salt_of(bytes),
            number: u64_at(bytes, wal_file::NUMBER_OFFSET),
            first_version: u64_at(bytes, wal_file::FIRST_VERSION_OFFSET),
            previous_end: u64_at(bytes, wal_file::PREVIOUS_END_OFFSET),
            file_bytes: u64_at(bytes, wal_file::FILE_BYTES_OFFSET),
        };
        if header.number == number {
            Ok(header)
        } else {
            Err(corrupt("the header states the number in the name of the file"))
        }
    }
}
