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

fn reply(TableChange { version, kind }: &TableChange, replies: &mut Replies) {
    let mut begin = |length, name: &str| {
        replies.array(length);
        replies.integer(*version as i64);
        replies.bulk(name.as_bytes());
    };
    match kind {
        TableChangeKind::Put { key, value } => {
            begin(5, "put");
            replies.bulk(key);
            // Only a program that shares the store writes other values.
            let envelope = Envelope::open(value).unwrap_or(Envelope { data: value, expires_at: None });
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
}

/// A bound as an argument of the command.
fn bound(bound: &Bound<Vec<u8>>, unbounded: &[u8]) -> Vec<u8> {
    match bound {
        Bound::Included(key) => [b"[", &key[..]].concat(),
        Bound::Excluded(key) => [b"(", &key[..]].concat(),
        Bound::Unbounded => unbounded.to_vec(),
    }
}
