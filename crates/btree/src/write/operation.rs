//! Operations on pairs and their outcomes.

use std::fmt::Debug;
use std::ops::Bound;

use honeycomb_layout::value_reference;
use honeycomb_memory::Version;

use crate::forest::{Forest, Root};

/// A function of values.
pub trait ValueFunction: Debug + Sync {
    /// Returns the new value, of the same length, or `None` if the function has no result for this value.
    /// Depends on nothing but the value. The caller holds a lock, so other writers wait.
    fn apply(&self, value: &[u8]) -> Option<Vec<u8>>;
}

/// A write to one key.
#[derive(Debug, Clone, Copy)]
pub enum Operation<'a> {
    /// Inserts a pair. Rejected if the key exists.
    Insert(&'a [u8]),
    /// Changes the value of a pair. Rejected if the key is absent.
    Update(&'a [u8]),
    /// Inserts a pair or changes its value.
    Put(&'a [u8]),
    /// Deletes a pair if it exists.
    Delete,
    /// Changes the value of a pair if it equals `expected`.
    CompareAndSwap {
        /// The expected value.
        expected: &'a [u8],
        /// The new value.
        value: &'a [u8],
    },
    /// Deletes a pair if its value equals `expected`.
    CompareAndDelete {
        /// The expected value.
        expected: &'a [u8],
    },
    /// Changes the value of a pair that has not changed since it was read at `version`. May be rejected
    /// although the pair is unchanged, because a consolidation increases the version. Never succeeds after a
    /// change.
    CompareVersionAndSwap {
        /// The version that was returned with the value.
        version: Version,
        /// The new value.
        value: &'a [u8],
    },
    /// Adds to a counter: a little-endian value of eight bytes that wraps on overflow. An absent counter is
    /// 0.
    Add(i64),
    /// Applies a function to the value of a pair. Rejected if the key is absent, or if the function has no
    /// result.
    Function(&'a dyn ValueFunction),
}

impl<'a> Operation<'a> {
    /// Returns the value that the operation stores, if it supplies one.
    pub(crate) fn value(&self) -> Option<&'a [u8]> {
        match *self {
            Self::Insert(value)
            | Self::Update(value)
            | Self::Put(value)
            | Self::CompareAndSwap { value, .. }
            | Self::CompareVersionAndSwap { value, .. } => Some(value),
            Self::Delete | Self::CompareAndDelete { .. } | Self::Add(_) | Self::Function(_) => None,
        }
    }

    /// Returns the bytes of the new value in a leaf: all of them, or those of the reference to an overflow
    /// value; 0 if the operation has no value of its own.
    #[inline]
    pub(crate) fn stored_bytes(&self, forest: &Forest) -> usize {
        let bytes = self.value().map_or(0, <[u8]>::len);
        if forest.is_overflow(bytes) { value_reference::SIZE } else { bytes }
    }

    /// Returns whether the outcome may contain the version of the pair.
    pub(crate) fn returns_version(&self) -> bool {
        matches!(
            self,
            Self::CompareAndSwap { .. } | Self::CompareAndDelete { .. } | Self::CompareVersionAndSwap { .. }
        )
    }
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The pair was inserted.
    Inserted,
    /// The value of the pair was changed.
    Updated,
    /// The pair was deleted.
    Deleted,
    /// The counter was changed.
    Added {
        /// Its new value.
        sum: u64,
    },
    /// The counter was absent and was inserted.
    // Not a flag of `Added`: beside a payload of one word in each variant, the compiler passes outcomes in
    // two registers. With the flag it copies seven bytes in two overlapping parts, which a processor can read
    // back only after it has completed all earlier stores, those to the log block included.
    AddedFirst {
        /// Its value.
        sum: u64,
    },
    /// Rejected because the key exists.
    Exists,
    /// The key is absent: the operation was rejected, or there was nothing to delete.
    Absent,
    /// Rejected because the pair differs from the expected one.
    // In a box because it is rare: a small outcome is copied faster.
    Mismatch(Box<Existing>),
    /// Rejected because the value is not a counter.
    NotCounter {
        /// Length of the value; a counter has eight bytes.
        bytes: usize,
    },
    /// A function was applied to the value. This was the pair before, with version 0.
    Original(Box<Existing>),
    /// Rejected because the value does not consist of elements of the function.
    NotElements {
        /// Length of the value.
        bytes: usize,
    },
    /// The condition is met: no pair of the range was written.
    Unchanged,
    /// Rejected because a pair of the range may have been written.
    Changed {
        /// The version of that write, or of the leaf that may contain it.
        version: Version,
    },
    /// The pairs of the range were deleted.
    RangeDeleted {
        /// Number of deleted pairs.
        pairs: u64,
    },
}

/// The pair that differs from the expected one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Existing {
    /// The value of the pair.
    pub value: Vec<u8>,
    /// The version of the pair.
    pub version: Version,
}

impl Outcome {
    /// Returns whether the operation has changed anything.
    #[must_use]
    pub fn wrote(&self) -> bool {
        match *self {
            Self::Inserted | Self::Updated | Self::Deleted | Self::Original(_) => true,
            Self::Added { .. } | Self::AddedFirst { .. } => true,
            Self::RangeDeleted { pairs } => pairs > 0,
            _ => false,
        }
    }

    /// Returns the new value of a counter that was changed or inserted.
    #[must_use]
    pub fn sum(&self) -> Option<u64> {
        match *self {
            Self::Added { sum } | Self::AddedFirst { sum } => Some(sum),
            _ => None,
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
    /// The operation on the key.
    pub operation: Operation<'a>,
}

/// The keys of a tree between two bounds.
#[derive(Debug, Clone, Copy)]
pub struct TreeRange<'a> {
    /// The tree.
    pub root: Root,
    /// The lower bound.
    pub lower: Bound<&'a [u8]>,
    /// The upper bound.
    pub upper: Bound<&'a [u8]>,
}

/// One entry of a batch with conditions or range deletions.
#[derive(Debug, Clone, Copy)]
pub enum BatchEntry<'a> {
    /// A write to one key.
    Write(BatchOperation<'a>),
    /// Rejects the batch if a pair of a range was inserted, updated or deleted after `since`. May reject it
    /// although no pair has changed, because a leaf that was rebuilt does not keep the versions of its pairs.
    /// Never accepts it after a change. Writes of the batch itself do not count.
    Unchanged {
        /// The range.
        range: TreeRange<'a>,
        /// A version that was visible to readers.
        since: Version,
    },
    /// Deletes all pairs of a range.
    DeleteRange(TreeRange<'a>),
}

/// The outcome of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchOutcome {
    /// All entries were applied.
    Applied {
        /// The version of all its writes; 0 without MVCC, or if the batch changed nothing.
        version: Version,
        /// The outcome of each entry, in order.
        outcomes: Vec<Outcome>,
    },
    /// No entry was applied.
    Rejected {
        /// Index of the entry that was rejected.
        index: usize,
        /// The reason.
        outcome: Outcome,
    },
}

/// The effect of an operation on a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// No change.
    Keep,
    /// The pair has this value.
    Store(Vec<u8>),
    /// The pair is absent.
    Remove,
}

/// Returns the effect of an operation on the pair of another index, which has no versions, and its outcome.
#[must_use]
pub fn effect_of(operation: &Operation<'_>, existing: Option<&[u8]>) -> (Effect, Outcome) {
    match decide(operation, existing.map(|value| (value, 0))) {
        Decision::Keep(outcome) => (Effect::Keep, outcome),
        Decision::Store(value, outcome) => (Effect::Store(value.bytes().to_vec()), outcome),
        Decision::Remove => (Effect::Remove, Outcome::Deleted),
    }
}

/// The effect of an operation on the existing pair.
pub(crate) enum Decision<'a> {
    /// No change.
    Keep(Outcome),
    /// Store a value.
    Store(StoredValue<'a>, Outcome),
    /// Remove the pair.
    Remove,
}

/// A value as it is stored in an item.
pub(crate) enum StoredValue<'a> {
    Given(&'a [u8]),
    Counter([u8; 8]),
    Computed(Vec<u8>),
    /// The reference to an overflow value.
    Reference([u8; value_reference::SIZE]),
}

impl StoredValue<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Given(bytes) => bytes,
            Self::Counter(bytes) => bytes,
            Self::Computed(bytes) => bytes,
            Self::Reference(bytes) => bytes,
        }
    }
}

/// Decides the effect of an operation. `existing` has the value and the version of the existing pair.
pub(crate) fn decide<'a>(operation: &Operation<'a>, existing: Option<(&[u8], Version)>) -> Decision<'a> {
    use StoredValue::Given;
    let stored = stored(existing);
    let mismatch = |(value, version): (&[u8], Version)| {
        Decision::Keep(Outcome::Mismatch(Box::new(Existing { value: value.to_vec(), version })))
    };
    match (*operation, existing) {
        (Operation::Put(value), _) | (Operation::Insert(value), None) => {
            Decision::Store(Given(value), stored)
        }
        (Operation::Insert(_), Some(_)) => Decision::Keep(Outcome::Exists),
        (Operation::Add(delta), existing) => add(delta, existing.map(|(value, _)| value)),
        (_, None) => Decision::Keep(Outcome::Absent),
        (Operation::Update(value), Some(_)) => Decision::Store(Given(value), stored),
        (Operation::Delete, Some(_)) => Decision::Remove,
        (Operation::Function(function), Some((value, _))) => call(function, value),
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

/// Returns the outcome of an operation that stores a value.
#[inline(always)]
fn stored(existing: Option<(&[u8], Version)>) -> Outcome {
    if existing.is_some() { Outcome::Updated } else { Outcome::Inserted }
}

fn call<'a>(function: &dyn ValueFunction, value: &[u8]) -> Decision<'a> {
    let Some(computed) = function.apply(value) else {
        return Decision::Keep(Outcome::NotElements { bytes: value.len() });
    };
    assert_eq!(computed.len(), value.len(), "a function does not change the length of a value");
    let original = Existing { value: value.to_vec(), version: 0 };
    Decision::Store(StoredValue::Computed(computed), Outcome::Original(Box::new(original)))
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
    let outcome = if existing.is_some() { Outcome::Added { sum } } else { Outcome::AddedFirst { sum } };
    Decision::Store(StoredValue::Counter(sum.to_le_bytes()), outcome)
}
