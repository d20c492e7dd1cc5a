//! What can be done to one pair, and what came of it.

use std::ops::Bound;

use honeycomb_layout::value_reference;

use honeycomb_memory::Version;

use crate::forest::Root;

/// A write to one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation<'a> {
    /// Adds a pair; refused if the key exists.
    Insert(&'a [u8]),
    /// Changes a value; refused if the key is absent.
    Update(&'a [u8]),
    /// Adds or changes.
    Put(&'a [u8]),
    /// Removes a pair, if it is there.
    Delete,
    /// Changes a value that equals `expected`.
    CompareAndSwap {
        /// What the value must be.
        expected: &'a [u8],
        /// What it becomes.
        value: &'a [u8],
    },
    /// Removes a pair whose value equals `expected`.
    CompareAndDelete {
        /// What the value must be.
        expected: &'a [u8],
    },
    /// Changes the value of a pair that has not changed since `version` was read with it. May be refused
    /// without a change (the version grows when a leaf is merged); never succeeds after one.
    CompareVersionAndSwap {
        /// The version that came with the value.
        version: Version,
        /// What the value becomes.
        value: &'a [u8],
    },
    /// Adds to a counter: a value of eight bytes, little-endian, wrapping. An absent one counts as 0.
    Add(i64),
}

impl<'a> Operation<'a> {
    /// The value that the operation would store, if it brings one.
    pub(crate) fn value(&self) -> Option<&'a [u8]> {
        match *self {
            Self::Insert(value)
            | Self::Update(value)
            | Self::Put(value)
            | Self::CompareAndSwap { value, .. }
            | Self::CompareVersionAndSwap { value, .. } => Some(value),
            Self::Delete | Self::CompareAndDelete { .. } | Self::Add(_) => None,
        }
    }

    /// Whether the version of the pair may be part of what comes of it.
    pub(crate) fn returns_version(&self) -> bool {
        matches!(
            self,
            Self::CompareAndSwap { .. } | Self::CompareAndDelete { .. } | Self::CompareVersionAndSwap { .. }
        )
    }
}

/// What came of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The pair is new.
    Inserted,
    /// The pair was there and has a new value.
    Updated,
    /// The pair is gone.
    Deleted,
    /// The counter has a new value.
    Added {
        /// The value it has now.
        sum: u64,
        /// Whether it was absent.
        inserted: bool,
    },
    /// Refused: the key exists.
    Exists,
    /// Refused, or nothing to delete: the key is absent.
    Absent,
    /// Refused: the pair is not what was expected.
    Mismatch {
        /// Its value.
        value: Vec<u8>,
        /// Its version.
        version: Version,
    },
    /// Refused: the value is not a counter.
    NotCounter {
        /// Bytes of the value; a counter has eight.
        bytes: usize,
    },
    /// No pair of the range was written.
    Unchanged,
    /// Refused: a pair of the range may have been written.
    Changed {
        /// The version of that write, or of the leaf that may hold it.
        version: Version,
    },
    /// The pairs of the range are gone.
    RangeDeleted {
        /// How many there were.
        pairs: u64,
    },
}

impl Outcome {
    /// Whether the operation changed anything.
    #[must_use]
    pub fn wrote(&self) -> bool {
        match *self {
            Self::Inserted | Self::Updated | Self::Deleted | Self::Added { .. } => true,
            Self::RangeDeleted { pairs } => pairs > 0,
            _ => false,
        }
    }
}

/// One operation of a batch.
#[derive(Debug, Clone, Copy)]
pub struct BatchOperation<'a> {
    /// The tree.
    pub root: Root,
    /// The key.
    pub key: &'a [u8],
    /// What to do to it.
    pub operation: Operation<'a>,
}

/// The keys of a tree between two bounds.
#[derive(Debug, Clone, Copy)]
pub struct TreeRange<'a> {
    /// The tree.
    pub root: Root,
    /// Where the range begins.
    pub lower: Bound<&'a [u8]>,
    /// Where the range ends.
    pub upper: Bound<&'a [u8]>,
}

/// One entry of a batch that also has conditions, or removes ranges.
#[derive(Debug, Clone, Copy)]
pub enum BatchEntry<'a> {
    /// A write to one key.
    Write(BatchOperation<'a>),
    /// Refuses the batch unless no pair of a range was inserted, updated or deleted after a version. May
    /// refuse it without a change (a leaf that was rebuilt does not know the versions of its pairs); never
    /// holds after one. What the batch itself writes does not count.
    Unchanged {
        /// The range.
        range: TreeRange<'a>,
        /// The version, which was visible to readers.
        since: Version,
    },
    /// Removes every pair in a range.
    DeleteRange(TreeRange<'a>),
}

/// What came of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchOutcome {
    /// All of it was applied.
    Applied {
        /// The version they all share; 0 without MVCC, or if nothing had to be changed.
        version: Version,
        /// The outcome of each operation, in the order given.
        outcomes: Vec<Outcome>,
    },
    /// Nothing was applied.
    Refused {
        /// The operation that was refused, by its place in the batch.
        index: usize,
        /// Why.
        outcome: Outcome,
    },
}

/// What an operation decides on seeing the pair as it is.
pub(crate) enum Decision<'a> {
    /// Leave it.
    Keep(Outcome),
    /// Store a value.
    Store(StoredValue<'a>, Outcome),
    /// Remove the pair.
    Remove,
}

/// A value to store, as it stands in the item.
pub(crate) enum StoredValue<'a> {
    Given(&'a [u8]),
    Counter([u8; 8]),
    /// Out of line: its reference.
    Reference([u8; value_reference::SIZE]),
}

impl StoredValue<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Given(bytes) => bytes,
            Self::Counter(bytes) => bytes,
            Self::Reference(bytes) => bytes,
        }
    }
}

/// Decides an operation on a pair whose value and version are `existing`.
#[inline]
pub(crate) fn decide<'a>(operation: &Operation<'a>, existing: Option<(&[u8], Version)>) -> Decision<'a> {
    use StoredValue::Given;
    let stored = if existing.is_some() { Outcome::Updated } else { Outcome::Inserted };
    let mismatch = |(value, version): (&[u8], Version)| {
        Decision::Keep(Outcome::Mismatch { value: value.to_vec(), version })
    };
    match (*operation, existing) {
        (Operation::Put(value), _) => Decision::Store(Given(value), stored),
        (Operation::Insert(value), None) => Decision::Store(Given(value), stored),
        (Operation::Insert(_), Some(_)) => Decision::Keep(Outcome::Exists),
        (Operation::Add(delta), existing) => add(delta, existing.map(|(value, _)| value)),
        (_, None) => Decision::Keep(Outcome::Absent),
        (Operation::Update(value), Some(_)) => Decision::Store(Given(value), stored),
        (Operation::Delete, Some(_)) => Decision::Remove,
        (Operation::CompareAndSwap { expected, value }, Some(pair)) => {
            if pair.0 == expected {
                Decision::Store(Given(value), stored)
            } else {
                mismatch(pair)
            }
        }
        (Operation::CompareAndDelete { expected }, Some(pair)) => {
            if pair.0 == expected {
                Decision::Remove
            } else {
                mismatch(pair)
            }
        }
        (Operation::CompareVersionAndSwap { version, value }, Some(pair)) => {
            if pair.1 == version {
                Decision::Store(Given(value), stored)
            } else {
                mismatch(pair)
            }
        }
    }
}

fn add<'a>(delta: i64, existing: Option<&[u8]>) -> Decision<'a> {
    let counter = match existing.map(<[u8; 8]>::try_from) {
        None => 0,
        Some(Ok(bytes)) => u64::from_le_bytes(bytes),
        Some(Err(_)) => {
            return Decision::Keep(Outcome::NotCounter { bytes: existing.map_or(0, <[u8]>::len) });
        }
    };
    let sum = counter.wrapping_add_signed(delta);
    let outcome = Outcome::Added { sum, inserted: existing.is_none() };
    Decision::Store(StoredValue::Counter(sum.to_le_bytes()), outcome)
}
