//! The records of a log file, up to its end, its torn tail or its corruption.
//!
//! A power cut leaves any subset of the sectors that were not durable. So an invalid record in the last file
//! is a torn tail, unless it was durable. It was durable if a valid record after it states so: each record
//! has the offset up to which the file was durable when it was written. Files before the last one were
//! durable up to their end, which the header of the next file states.

use honeycomb_layout::{WAL_RECORD_ALIGNMENT, wal_record};

use crate::error::LogError;
use crate::file_header::{RECORDS_OFFSET, salt_of};
use crate::names::log_file;
use crate::record::{Record, Seed, decode, record_bytes};

/// The end of the records of a log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// The offset after the last valid record.
    pub end: u64,
    /// Before the last valid record was written, the file was durable up to this offset.
    pub durable: u64,
    /// The version of the last valid record, or of the last one before this file.
    pub version: u64,
    /// The bytes of torn records after `end`: those that were written but not durable at a power cut.
    pub cut_bytes: u64,
}

/// Passes the records of the log file with this number to `use_record`, in order. `end` is the end that the
/// header of the next file states, or `None` for the last file. `after` is the version before the first
/// record.
///
/// # Errors
/// [`LogError::Corrupt`] if bytes that were durable are invalid; those of `use_record`.
pub fn read_records<E: From<LogError>>(
    file: &[u8],
    number: u64,
    end: Option<u64>,
    after: u64,
    mut use_record: impl FnMut(Record<'_>) -> Result<(), E>,
) -> Result<Tail, E> {
    let seed = Seed::of(number, salt_of(file));
    let (mut offset, mut version, mut durable) = (RECORDS_OFFSET, after, RECORDS_OFFSET);
    while end.is_none_or(|end| offset < end) {
        let Some(record) = decode(file, seed, offset as usize, version) else { break };
        (version, durable) = (record.version, record.durable.max(RECORDS_OFFSET));
        use_record(record)?;
        offset += record_bytes(record.changes.len()) as u64;
    }
    let corrupt = |rule| LogError::Corrupt { file: log_file(number), offset, version, rule };
    match end {
        Some(end) if end == offset => Ok(Tail { end, durable, version, cut_bytes: 0 }),
        Some(_) => Err(corrupt("the next file states that valid records follow here").into()),
        None => match after_invalid(file, seed, offset, version) {
            AfterInvalid::Durable => {
                Err(corrupt("a later valid record states that a valid record was durable here").into())
            }
            AfterInvalid::Torn { cut_bytes } => Ok(Tail { end: offset, durable, version, cut_bytes }),
        },
    }
}

/// What follows an invalid record.
enum AfterInvalid {
    /// A valid record that states that the bytes of the invalid one were durable.
    Durable,
    /// Bytes that were not durable.
    Torn { cut_bytes: u64 },
}

fn after_invalid(file: &[u8], seed: Seed, offset: u64, version: u64) -> AfterInvalid {
    let mut end = torn_end(file, seed, offset as usize, version);
    for at in (offset as usize..file.len()).step_by(WAL_RECORD_ALIGNMENT) {
        let Some(record) = decode(file, seed, at, version) else { continue };
        if record.durable > offset {
            return AfterInvalid::Durable;
        }
        end = end.max(at + record_bytes(record.changes.len()));
    }
    AfterInvalid::Torn { cut_bytes: end as u64 - offset }
}

/// The end of a torn record according to its header, if it has a plausible header.
fn torn_end(file: &[u8], seed: Seed, offset: usize, version: u64) -> usize {
    /// Fewer versions than this separate two records, so that bytes of an earlier use are not counted.
    const GAP_MAX: u64 = 1 << 32;
    let header = file.get(offset..).and_then(|rest| rest.get(..wal_record::SIZE));
    let torn = header.and_then(|header| {
        let (length, stated) = seed.length_and_version(header);
        let (gap, length) = (stated.checked_sub(version)?, usize::try_from(length).ok()?);
        let end = offset.checked_add(length)?.checked_add(wal_record::SIZE)?;
        ((1..GAP_MAX).contains(&gap) && length > 0 && end <= file.len()).then_some(end)
    });
    torn.unwrap_or(offset)
}
