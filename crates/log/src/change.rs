//! Changes: what a version changes in the tables of a store.

use std::ops::Bound;

use honeycomb_layout as layout;
use honeycomb_layout::{wal_bounds, wal_change, wal_unordered};

use crate::bytes::{put_u32, put_u64, take, u32_at, u64_at};

/// The encoded changes of one version, in the order of their execution.
///
/// ```
/// use honeycomb_log::{Change, Changes, changes};
///
/// let mut encoded = Changes::default();
/// encoded.put(7, b"ada", b"1815");
/// let decoded: Vec<_> = changes(encoded.bytes()).collect();
/// assert_eq!(decoded, [Ok(Change::Put { tree: 7, key: b"ada", value: b"1815" })]);
/// ```
#[derive(Debug, Default)]
pub struct Changes {
    /// The changes, and behind them room for later ones. To copy a short change into it takes fewer
    /// instructions than to append the change to a vector, part by part.
    memory: Box<[u8]>,
    /// The bytes of the changes.
    length: usize,
}

/// One change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// The key has this value now.
    Put {
        /// The table.
        tree: u64,
        /// The key.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
    },
    /// The key had this value before the next change, which is a change of the same key. A store logs this
    /// on request only.
    Old {
        /// The table.
        tree: u64,
        /// The key; the empty one, which no pair has, if the key of the next change was absent.
        key: &'a [u8],
        /// The value before.
        value: &'a [u8],
    },
    /// The key is absent now.
    Delete {
        /// The table.
        tree: u64,
        /// The key.
        key: &'a [u8],
    },
    /// All keys of the range are absent now.
    DeleteRange {
        /// The table.
        tree: u64,
        /// The lower bound.
        lower: Bound<&'a [u8]>,
        /// The upper bound.
        upper: Bound<&'a [u8]>,
    },
    /// The table with this name has this identifier from now on. It is created if it does not exist.
    Create {
        /// The identifier.
        tree: u64,
        /// The name.
        name: &'a str,
    },
    /// As [`Change::Create`], for an unordered table.
    CreateUnordered {
        /// The identifier.
        tree: u64,
        /// The name.
        name: &'a str,
        /// Its parameters, encoded as `wal_unordered`.
        parameters: &'a [u8],
    },
    /// The table does not exist any more.
    Drop {
        /// The table.
        tree: u64,
    },
    /// The store was opened: earlier identifiers have no meaning any more.
    Restart,
    /// This record and the later ones were committed at this time at the latest, up to the next such mark.
    /// Earlier records were committed before it.
    Time {
        /// Since 1970.
        milliseconds: u64,
    },
}

/// Bytes by which changes grow after the first one.
const GROWTH_BYTES: usize = 2048;
/// Least and most bytes of a short key or value.
const SHORT_MIN: usize = 16;
const SHORT_MAX: usize = 4 * SHORT_MIN;
/// Most bytes of the put of a short pair.
const SHORT_CHANGE_BYTES: usize = wal_change::SIZE + 2 * SHORT_MAX;

/// The rule that an encoded change violates.
pub(crate) type Malformed = &'static str;

impl Changes {
    /// Appends a put. Keys and values have the limits of the store, so their lengths fit.
    pub fn put(&mut self, tree: u64, key: &[u8], value: &[u8]) {
        if !self.put_short(tree, key, value) {
            self.append(layout::WAL_PUT, tree, 0, key, value);
        }
    }

    /// Appends a put of a short pair if there is memory for it, without a call. Returns whether it has.
    #[inline]
    pub fn put_short(&mut self, tree: u64, key: &[u8], value: &[u8]) -> bool {
        let Some(room) = self.memory.get_mut(self.length..).and_then(<[u8]>::first_chunk_mut) else {
            return false;
        };
        let room: &mut [u8; SHORT_CHANGE_BYTES] = room;
        if !is_short(key) || !is_short(value) {
            return false;
        }
        encode_header(room, layout::WAL_PUT, tree, 0, key, value);
        let value_start = wal_change::SIZE + key.len();
        copy_short(key, &mut room[wal_change::SIZE..value_start]);
        copy_short(value, &mut room[value_start..][..value.len()]);
        self.length += value_start + value.len();
        true
    }

    /// Appends the value of a key before the next change.
    pub fn old(&mut self, tree: u64, key: &[u8], value: &[u8]) {
        self.append(layout::WAL_OLD, tree, 0, key, value);
    }

    /// Appends that the key of the next change was absent. The bytes are those of an old value of the empty
    /// key, which no pair has.
    pub fn absent(&mut self, tree: u64) {
        self.append(layout::WAL_OLD, tree, 0, &[], &[]);
    }

    /// Appends a deletion.
    pub fn delete(&mut self, tree: u64, key: &[u8]) {
        self.append(layout::WAL_DELETE, tree, 0, key, &[]);
    }

    /// Appends the deletion of a range.
    pub fn delete_range(&mut self, tree: u64, lower: Bound<&[u8]>, upper: Bound<&[u8]>) {
        let ((lower_kind, lower), (upper_kind, upper)) = (encode_bound(lower), encode_bound(upper));
        let bounds = wal_bounds::with_upper(wal_bounds::with_lower(0, lower_kind), upper_kind);
        self.append(layout::WAL_DELETE_RANGE, tree, bounds as u8, lower, upper);
    }

    /// Appends the creation of a table, or a new identifier of one.
    pub fn create(&mut self, tree: u64, name: &str) {
        self.append(layout::WAL_CREATE, tree, 0, name.as_bytes(), &[]);
    }

    /// Appends the creation of an unordered table with encoded parameters, or a new identifier of one.
    pub fn create_unordered(&mut self, tree: u64, name: &str, parameters: &[u8; wal_unordered::SIZE]) {
        self.append(layout::WAL_CREATE_UNORDERED, tree, 0, name.as_bytes(), parameters);
    }

    /// Appends the removal of a table.
    pub fn drop_table(&mut self, tree: u64) {
        self.append(layout::WAL_DROP, tree, 0, &[], &[]);
    }

    /// Appends the mark that the store was opened.
    pub fn restart(&mut self) {
        self.append(layout::WAL_RESTART, 0, 0, &[], &[]);
    }

    /// Appends the time at which the log took the record.
    pub fn time(&mut self, milliseconds: u64) {
        self.append(layout::WAL_TIME, milliseconds, 0, &[], &[]);
    }

    /// Appends encoded changes.
    pub fn extend(&mut self, encoded: &[u8]) {
        self.add_room(encoded.len()).copy_from_slice(encoded);
    }

    /// Returns the encoded changes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.memory[..self.length]
    }

    /// Returns whether there are no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the bytes of memory for changes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// Removes all changes, and keeps their memory.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    fn append(&mut self, kind: usize, tree: u64, bounds: u8, key: &[u8], value: &[u8]) {
        let room = self.add_room(wal_change::SIZE + key.len() + value.len());
        let (header, rest) = room.split_at_mut(wal_change::SIZE);
        encode_header(header, kind, tree, bounds, key, value);
        let (to_key, to_value) = rest.split_at_mut(key.len());
        to_key.copy_from_slice(key);
        to_value.copy_from_slice(value);
    }

    /// Makes the next bytes of the memory part of the changes, and returns them.
    fn add_room(&mut self, bytes: usize) -> &mut [u8] {
        if self.memory.len() - self.length < bytes {
            self.grow(bytes);
        }
        let start = self.length;
        self.length += bytes;
        &mut self.memory[start..self.length]
    }

    /// Makes room for a change. Most versions have one change, and others many.
    #[cold]
    fn grow(&mut self, bytes: usize) {
        let room = bytes.max(if self.is_empty() { SHORT_CHANGE_BYTES } else { GROWTH_BYTES });
        let mut memory = std::mem::take(&mut self.memory).into_vec();
        memory.reserve_exact(self.length + room - memory.len());
        memory.resize(self.length + room, 0);
        self.memory = memory.into_boxed_slice();
    }
}

#[inline]
fn encode_header(header: &mut [u8], kind: usize, tree: u64, bounds: u8, key: &[u8], value: &[u8]) {
    put_u64(header, wal_change::TREE_OFFSET, tree);
    put_u32(header, wal_change::VALUE_BYTES_OFFSET, value.len() as u32);
    header[wal_change::KEY_BYTES_OFFSET..][..2].copy_from_slice(&(key.len() as u16).to_le_bytes());
    header[wal_change::KIND_OFFSET] = kind as u8;
    header[wal_change::BOUNDS_OFFSET] = bounds;
}

#[inline]
fn is_short(bytes: &[u8]) -> bool {
    (SHORT_MIN..=SHORT_MAX).contains(&bytes.len())
}

/// Copies short bytes to `to`, which is as long: two copies of constant length, which overlap, are faster
/// than a call. Always inline, because the compiler would call it from both uses.
#[inline(always)]
fn copy_short(bytes: &[u8], to: &mut [u8]) {
    if bytes.len() <= 2 * SHORT_MIN {
        copy_ends::<SHORT_MIN>(bytes, to);
    } else {
        copy_ends::<{ 2 * SHORT_MIN }>(bytes, to);
    }
}

#[inline(always)]
fn copy_ends<const LENGTH: usize>(bytes: &[u8], to: &mut [u8]) {
    let last = bytes.len() - LENGTH;
    to[..LENGTH].copy_from_slice(&bytes[..LENGTH]);
    to[last..].copy_from_slice(&bytes[last..]);
}

/// Returns whether encoded changes begin with that of a pair or of a range of pairs. Then they change no
/// table.
#[must_use]
pub fn begin_with_pairs(encoded: &[u8]) -> bool {
    let kind = encoded.get(wal_change::KIND_OFFSET).map(|&kind| usize::from(kind));
    matches!(kind, Some(layout::WAL_PUT | layout::WAL_OLD | layout::WAL_DELETE | layout::WAL_DELETE_RANGE))
}

/// Decodes changes. Ends after the first one that is malformed.
#[must_use]
pub fn changes(bytes: &[u8]) -> DecodedChanges<'_> {
    DecodedChanges { rest: bytes }
}

/// An iterator over encoded changes.
#[derive(Debug, Clone)]
pub struct DecodedChanges<'a> {
    rest: &'a [u8],
}

impl DecodedChanges<'_> {
    /// Returns the number of bytes that are not decoded yet.
    #[must_use]
    pub fn bytes_left(&self) -> usize {
        self.rest.len()
    }
}

impl<'a> Iterator for DecodedChanges<'a> {
    type Item = Result<Change<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let decoded = decode(&mut self.rest);
        if decoded.is_err() {
            self.rest = &[];
        }
        Some(decoded)
    }
}

fn decode<'a>(bytes: &mut &'a [u8]) -> Result<Change<'a>, Malformed> {
    const TRUNCATED: Malformed = "a change is truncated";
    let header = take(bytes, wal_change::SIZE).ok_or(TRUNCATED)?;
    let key_bytes = header[wal_change::KEY_BYTES_OFFSET..][..2].iter().rev();
    let key_bytes = key_bytes.fold(0, |number, &byte| number << 8 | usize::from(byte));
    let key = take(bytes, key_bytes).ok_or(TRUNCATED)?;
    let value = take(bytes, u32_at(header, wal_change::VALUE_BYTES_OFFSET) as usize).ok_or(TRUNCATED)?;
    let (tree, bounds) = (u64_at(header, wal_change::TREE_OFFSET), header[wal_change::BOUNDS_OFFSET]);
    let has_range = usize::from(header[wal_change::KIND_OFFSET]) == layout::WAL_DELETE_RANGE;
    if bounds != 0 && !has_range {
        return Err("only the deletion of a range has bounds");
    }
    match usize::from(header[wal_change::KIND_OFFSET]) {
        layout::WAL_PUT => Ok(Change::Put { tree, key, value }),
        layout::WAL_OLD => Ok(Change::Old { tree, key, value }),
        layout::WAL_DELETE if value.is_empty() => Ok(Change::Delete { tree, key }),
        layout::WAL_DELETE_RANGE => {
            let bounds = u64::from(bounds);
            let (lower, upper) = (wal_bounds::lower(bounds), wal_bounds::upper(bounds));
            let (lower, upper) = (decode_bound(lower, key)?, decode_bound(upper, value)?);
            Ok(Change::DeleteRange { tree, lower, upper })
        }
        layout::WAL_CREATE if value.is_empty() => {
            let name = str::from_utf8(key).map_err(|_| "the name of a table is not UTF-8")?;
            Ok(Change::Create { tree, name })
        }
        layout::WAL_CREATE_UNORDERED if value.len() == wal_unordered::SIZE => {
            let name = str::from_utf8(key).map_err(|_| "the name of a table is not UTF-8")?;
            Ok(Change::CreateUnordered { tree, name, parameters: value })
        }
        layout::WAL_DROP if key.is_empty() && value.is_empty() => Ok(Change::Drop { tree }),
        layout::WAL_RESTART if key.is_empty() && value.is_empty() => Ok(Change::Restart),
        layout::WAL_TIME if key.is_empty() && value.is_empty() => Ok(Change::Time { milliseconds: tree }),
        _ => Err(
            "the kind of a change is put (1), delete (2), range (3), create (4, 8), drop (5), restart (6), \
                  time (7) or old value (9)",
        ),
    }
}

fn encode_bound(bound: Bound<&[u8]>) -> (u64, &[u8]) {
    match bound {
        Bound::Unbounded => (layout::WAL_UNBOUNDED as u64, &[]),
        Bound::Included(key) => (layout::WAL_INCLUDED as u64, key),
        Bound::Excluded(key) => (layout::WAL_EXCLUDED as u64, key),
    }
}

fn decode_bound(kind: u64, key: &[u8]) -> Result<Bound<&[u8]>, Malformed> {
    match kind as usize {
        layout::WAL_UNBOUNDED if key.is_empty() => Ok(Bound::Unbounded),
        layout::WAL_INCLUDED => Ok(Bound::Included(key)),
        layout::WAL_EXCLUDED => Ok(Bound::Excluded(key)),
        _ => Err("a bound is unbounded (0), included (1) or excluded (2)"),
    }
}
