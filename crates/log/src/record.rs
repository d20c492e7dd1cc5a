//! Records: the changes of one version, with a checksum.

use crc32c::{crc32c, crc32c_append};
use honeycomb_layout::{WAL_RECORD_ALIGNMENT, wal_record};

use crate::bytes::{NUMBER_MAX, put_u32, put_u64, u32_at, u64_at};
use crate::file_header::Salt;

/// A record of a log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The version.
    pub version: u64,
    /// Its changes, encoded.
    pub changes: &'a [u8],
    /// Its offset in the file.
    pub offset: u64,
    /// Before the record was written, the file was durable up to this offset.
    pub durable: u64,
}

/// The largest `durable` that a record can state.
const DURABLE_MAX: u64 = u32::MAX as u64 * WAL_RECORD_ALIGNMENT as u64;

/// Returns the bytes that a record occupies in its file.
pub(crate) fn record_bytes(changes: usize) -> usize {
    (wal_record::SIZE + changes).next_multiple_of(WAL_RECORD_ALIGNMENT)
}

/// The number and the salt of a file, on which the bytes of all its records depend. Bytes of an earlier use
/// and stored values of clients have an arbitrary length and version then, so hardly any is worth a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seed {
    /// The checksums of records begin with this one.
    crc: u32,
    salt: Salt,
}

impl Seed {
    pub(crate) fn of(file_number: u64, salt: Salt) -> Self {
        let crc = crc32c(&file_number.to_le_bytes());
        let salted = salt.iter().fold(crc, |crc, word| crc32c_append(crc, &word.to_le_bytes()));
        Self { crc: if salt == [0; 2] { crc } else { salted }, salt }
    }

    /// Returns the length of the changes and the version that a header of a record states.
    pub(crate) fn length_and_version(self, header: &[u8]) -> (u64, u64) {
        let [length, version] = self.salt;
        (
            u64_at(header, wal_record::LENGTH_OFFSET) ^ length,
            u64_at(header, wal_record::VERSION_OFFSET) ^ version,
        )
    }
}

/// Appends a record to `out`. A `durable` that is too large is stated as the largest possible one: a lower
/// one only makes the search for corruption less strict.
pub(crate) fn encode(out: &mut Vec<u8>, seed: Seed, version: u64, durable: u64, changes: &[u8]) {
    let start = out.len();
    let mut header = [0; wal_record::SIZE];
    let durable = durable.min(DURABLE_MAX) / WAL_RECORD_ALIGNMENT as u64;
    put_u32(&mut header, wal_record::DURABLE_OFFSET, durable as u32);
    put_u64(&mut header, wal_record::LENGTH_OFFSET, changes.len() as u64 ^ seed.salt[0]);
    put_u64(&mut header, wal_record::VERSION_OFFSET, version ^ seed.salt[1]);
    out.reserve(record_bytes(changes.len()));
    out.extend_from_slice(&header);
    out.extend_from_slice(changes);
    let crc = checksum(seed, &out[start..]);
    put_u32(&mut out[start..], wal_record::CRC_OFFSET, crc);
    out.resize(start + record_bytes(changes.len()), 0);
}

/// Returns the record at `offset`, if it is valid and later than `after`.
pub(crate) fn decode(file: &[u8], seed: Seed, offset: usize, after: u64) -> Option<Record<'_>> {
    decode_at(file.get(offset..)?, seed, offset as u64, after)
}

/// Like [`decode`], for the bytes of the file from `offset` on.
pub(crate) fn decode_at(bytes: &[u8], seed: Seed, offset: u64, after: u64) -> Option<Record<'_>> {
    let (header, rest) = bytes.split_at_checked(wal_record::SIZE)?;
    let (length, version) = seed.length_and_version(header);
    let length = usize::try_from(length).ok()?;
    let durable = u64::from(u32_at(header, wal_record::DURABLE_OFFSET)) * WAL_RECORD_ALIGNMENT as u64;
    // These checks exclude nearly all invalid records before the checksum is calculated.
    if length == 0 || version <= after || version > NUMBER_MAX || durable > offset {
        return None;
    }
    let changes = rest.get(..length)?;
    let record = &bytes[..wal_record::SIZE + length];
    let is_valid = checksum(seed, record) == u32_at(header, wal_record::CRC_OFFSET);
    is_valid.then_some(Record { version, changes, offset, durable })
}

/// Returns the bytes of a record with this header, which may be invalid; `None` if no record is that long.
pub(crate) fn bytes_of(header: &[u8], seed: Seed) -> Option<u64> {
    let (length, _) = seed.length_and_version(header);
    length.checked_add(wal_record::SIZE as u64)?.checked_next_multiple_of(WAL_RECORD_ALIGNMENT as u64)
}

/// Returns the checksum of a record, without its alignment.
fn checksum(seed: Seed, record: &[u8]) -> u32 {
    crc32c_append(seed.crc, &record[wal_record::CRC_OFFSET + wal_record::CRC_BYTES..])
}
