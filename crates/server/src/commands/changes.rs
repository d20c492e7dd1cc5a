//! `RI.CHANGES` and `RI.WATCH`: the committed changes of a range, from a version on.

use std::ops::Bound;

use honeycomb_protocol::resp::Version as Protocol;
use honeycomb_store::{ChangePosition, ChangeStream};

use crate::arguments::{Arguments, Options};
use crate::change_messages::Shown;
use crate::change_streams::Subject;
use crate::command::{Command, CommandForm, Keys};
use crate::commands::ordered::between;
use crate::context::Context;
use crate::failure::Failure;
use crate::task::errand::Errand;
use crate::task::progress::Progress;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "ri.changes",
        arity: -4,
        keys: Keys::None,
        form: CommandForm::Errand(begin),
        usage: "lower upper after [OLD]",
        summary: "Returns the next changes of a range in the log after a version, and the position for the \
            next call: a version, or version:changes within a long one. `$` is the newest version. With OLD \
            each put and each deletion has the value before it.",
    },
    Command {
        name: "ri.watch",
        arity: -4,
        keys: Keys::None,
        form: CommandForm::Serve(watch),
        usage: "lower upper after [OLD]",
        summary: "Sends the changes of a range in the log after a version as push messages, until RESET or \
            HELLO 2. It needs RESP3.",
    },
];

/// A poll of a stream. Its database is that of the client when the poll executes: `SWAPDB` may give the
/// number another table before.
struct Poll {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    after: ChangePosition,
    /// Whether the client requests the values before changes.
    has_old: bool,
}

fn begin(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Box<dyn Errand>, Failure> {
    Ok(Box::new(parse(context, arguments)?))
}

fn watch(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let poll = parse(context, arguments)?;
    if context.replies.version() != Protocol::Resp3 {
        return Err(Failure::other("RI.WATCH needs RESP3 (HELLO 3); RI.CHANGES does not"));
    }
    if context.session.watching.is_some() {
        return Err(Failure::other("this client has a watch: RESET ends it"));
    }
    let (stream, _) = poll.stream(context)?;
    let Context { shared, session, replies, .. } = context;
    let database = (session.database, shared.databases.swap_version(session.database));
    let watch = (stream, database, poll.has_old);
    session.watching = Some(shared.watches.add(session.client.clone(), watch, shared.client_limit()));
    replies.ok();
    Ok(())
}

fn parse(context: &Context<'_>, arguments: &Arguments<'_>) -> Result<Poll, Failure> {
    let range = between(arguments)?;
    let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
    let (lower, upper) = (owned(range.lower), owned(range.upper));
    let after = match &arguments[3] {
        b"$" => context.shared.store.read_version().into(),
        position => {
            let text = str::from_utf8(position).unwrap_or_default();
            text.parse().map_err(|error| Failure::other(format!("{error}; $ is the newest version")))?
        }
    };
    let (mut options, mut has_old) = (Options::from(arguments, 4), false);
    while let Some(word) = options.word() {
        match &*word {
            b"OLD" => has_old = true,
            _ => return Err(Failure::Syntax),
        }
    }
    Ok(Poll { lower, upper, after, has_old })
}

impl Poll {
    /// Returns the stream of the database of the client.
    fn stream(&self, context: &Context<'_>) -> Result<(ChangeStream, Subject), Failure> {
        let (shared, table) = (context.shared, context.table());
        shared.databases.check_not_swapped(context.session.database, self.after.version())?;
        let (lower, upper) = (self.lower.clone(), self.upper.clone());
        let subject = Subject { table: table.name().to_owned(), lower, upper };
        let stream = shared.change_streams.take((&shared.store, table), &subject, self.after)?;
        Ok((stream, subject))
    }
}

impl Errand for Poll {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        let Context { shared, now, .. } = *context;
        let (mut stream, subject) = self.stream(context)?;
        let changes = stream.poll()?;
        let shown = Shown::of(&changes, stream.position(), self.has_old);
        let failure = shown.failure();
        // A stream with an error is behind it, where the next poll does not begin.
        match failure {
            Some(failure) if shown.is_empty() => return Err(failure),
            Some(_) => {}
            None => shared.change_streams.keep(subject, stream, now),
        }
        context.replies.array(2);
        shown.write(context.replies);
        Ok(Progress::Done)
    }
}
