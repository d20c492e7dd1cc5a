//! Changes as replies and as messages.

use std::ops::Bound;

use honeycomb_protocol::resp::Replies;
use honeycomb_store::{ChangePosition, OldValue, TableChange, TableChangeKind, Version};

use crate::envelope::Envelope;
use crate::failure::Failure;

/// Changes that a client receives.
pub(crate) struct Shown<'c> {
    changes: &'c [TableChange],
    /// The position after them.
    position: ChangePosition,
    /// Whether the client has requested old values.
    has_old: bool,
    /// The version of the next change, if its old value was requested and is not in the log.
    missing: Option<Version>,
}

impl<'c> Shown<'c> {
    /// The changes up to a position, or those before the first one without a requested old value.
    pub(crate) fn of(changes: &'c [TableChange], position: ChangePosition, has_old: bool) -> Self {
        let Some(missing) = changes.iter().find(|change| has_old && lacks_old_value(change)) else {
            return Self { changes, position, has_old, missing: None };
        };
        let missing = missing.version;
        let end = changes.partition_point(|change| change.version < missing);
        Self { changes: &changes[..end], position: (missing - 1).into(), has_old, missing: Some(missing) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The error after these changes, if the next one has no old value.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let failure = |version| {
            Failure::other(format!(
                "no old values in the log: old-values was off at version {version}; continue without OLD, or \
                 after this version"
            ))
        };
        self.missing.map(failure)
    }

    /// Appends the position, which is an integer after whole versions, and the changes.
    pub(crate) fn write(&self, replies: &mut Replies) {
        match self.position {
            ChangePosition::After(version) => replies.integer(version as i64),
            within @ ChangePosition::Within { .. } => replies.bulk(within.to_string().as_bytes()),
        }
        replies.array(self.changes.len());
        self.changes.iter().for_each(|change| reply(change, self.has_old, replies));
    }
}

/// Whether a change could have an old value that the log does not have.
fn lacks_old_value(TableChange { kind, old, .. }: &TableChange) -> bool {
    *old == OldValue::Unknown && !matches!(kind, TableChangeKind::DeleteRange { .. })
}

/// Appends a change. The value before a put or a deletion is the last element. Without a request for it, a
/// change has this element only if the value is known.
fn reply(TableChange { version, kind, old }: &TableChange, has_old: bool, replies: &mut Replies) {
    let is_range = matches!(kind, TableChangeKind::DeleteRange { .. });
    let old = match old {
        OldValue::Value(value) => Some(Some(value)),
        _ => (has_old && !is_range).then_some(None),
    };
    let mut begin = |length, name: &str| {
        replies.array(length + usize::from(old.is_some()));
        replies.integer(*version as i64);
        replies.bulk(name.as_bytes());
    };
    match kind {
        TableChangeKind::Put { key, value } => {
            begin(5, "put");
            replies.bulk(key);
            let envelope = open(value);
            replies.bulk(envelope.data);
            replies.integer(envelope.expires_at.map_or(-1, |time| time as i64));
        }
        TableChangeKind::Delete { key } => {
            begin(3, "delete");
            replies.bulk(key);
        }
        TableChangeKind::DeleteRange { lower, upper } => {
            begin(4, "delrange");
            replies.bulk(&bound(lower, b"-"));
            replies.bulk(&bound(upper, b"+"));
        }
    }
    match old {
        Some(Some(value)) => replies.bulk(open(value).data),
        Some(None) => replies.null(),
        None => {}
    }
}

/// Opens a value. Only a program that shares the store writes others.
fn open(value: &[u8]) -> Envelope<'_> {
    Envelope::open(value).unwrap_or(Envelope { data: value, expires_at: None })
}

/// A bound as an argument of the command.
fn bound(bound: &Bound<Vec<u8>>, unbounded: &[u8]) -> Vec<u8> {
    match bound {
        Bound::Included(key) => [b"[", &key[..]].concat(),
        Bound::Excluded(key) => [b"(", &key[..]].concat(),
        Bound::Unbounded => unbounded.to_vec(),
    }
}
