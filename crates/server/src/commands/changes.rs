//! `RI.CHANGES`: the committed changes of a range, from a version on.

use std::ops::Bound;

use honeycomb_protocol::resp::Replies;
use honeycomb_store::{Table, TableChange, TableChangeKind, Version};

use crate::arguments::{Arguments, integer};
use crate::change_streams::Subject;
use crate::command::{Command, CommandForm, Keys};
use crate::commands::ordered::between;
use crate::context::Context;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::task::errand::Errand;
use crate::task::progress::Progress;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "ri.changes",
    arity: 4,
    keys: Keys::None,
    form: CommandForm::Errand(begin),
    usage: "lower upper after",
    summary: "Returns the next changes of a range in the log after a version, and the version for the next \
        call. `$` is the newest version.",
}];

/// A poll of a stream.
struct Poll {
    table: Table,
    subject: Subject,
    after: Version,
}

fn begin(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Box<dyn Errand>, Failure> {
    let range = between(arguments)?;
    let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
    let table = context.table().clone();
    let (lower, upper) = (owned(range.lower), owned(range.upper));
    let after = match &arguments[3] {
        b"$" => context.shared.store.read_version(),
        number => integer(number)?.try_into().map_err(|_| {
            Failure::other("the version is negative: allowed are 0 to 9223372036854775807 and $")
        })?,
    };
    let subject = Subject { table: table.name().to_owned(), lower, upper };
    Ok(Box::new(Poll { table, subject, after }))
}

impl Errand for Poll {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        let Context { shared, now, .. } = *context;
        let streams = &shared.change_streams;
        let mut stream = streams.take((&shared.store, &self.table), &self.subject, self.after)?;
        let changes = stream.poll()?;
        let replies = &mut *context.replies;
        replies.array(2);
        replies.integer(stream.version() as i64);
        replies.array(changes.len());
        changes.iter().for_each(|change| reply(change, replies));
        streams.keep(self.subject.clone(), stream, now);
        Ok(Progress::Done)
    }
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
