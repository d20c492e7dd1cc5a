//! Changes as replies and as messages.

use std::ops::Bound;

use honeycomb_protocol::resp::Replies;
use honeycomb_store::{TableChange, TableChangeKind, Version};

use crate::envelope::Envelope;

/// Appends the version of a stream, and its changes.
pub(crate) fn write_changes(version: Version, changes: &[TableChange], replies: &mut Replies) {
    replies.integer(version as i64);
    replies.array(changes.len());
    changes.iter().for_each(|change| reply(change, replies));
}

/// The value before the change is the last element, if it is known.
fn reply(TableChange { version, kind, old }: &TableChange, replies: &mut Replies) {
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
    if let Some(old) = old {
        replies.bulk(open(old).data);
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
