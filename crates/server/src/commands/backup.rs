//! `RI.BACKUP`: reads a checkpoint over the wire. `honeycomb backup` uses it.

use honeycomb_protocol::resp::Replies;
use honeycomb_store::Backup;

use crate::arguments::{Arguments, integer, is};
use crate::awaited_checkpoint::AwaitedCheckpoint;
use crate::command::{Command, CommandForm, Keys};
use crate::context::Context;
use crate::failure::Failure;
use crate::task::errand::Errand;
use crate::task::progress::Progress;

/// Maximum bytes of a part.
const PART_BYTES_MAX: i64 = 4 << 20;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "ri.backup",
    arity: -2,
    keys: Keys::None,
    form: CommandForm::Errand(begin),
    usage: "START | INFO number | READ number offset count | END number",
    summary: "Writes a checkpoint and returns its number, version, pairs and bytes; returns these of an open \
        backup; returns a part of its bytes, which are an image for `honeycomb restore`; closes it.",
}];

enum Request {
    Start(AwaitedCheckpoint),
    Info { number: u64 },
    Read { number: u64, offset: u64, count: usize },
    End { number: u64 },
}

fn begin(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Box<dyn Errand>, Failure> {
    let natural = |at: usize| {
        integer(&arguments[at])
            .ok()
            .and_then(|number| u64::try_from(number).ok())
            .ok_or_else(|| Failure::other("number and offset must be integers from 0 on"))
    };
    let request = match arguments.len() {
        2 if is(&arguments[1], "start") => Request::Start(AwaitedCheckpoint::request(&context.shared.store)?),
        3 if is(&arguments[1], "info") => Request::Info { number: natural(2)? },
        3 if is(&arguments[1], "end") => Request::End { number: natural(2)? },
        5 if is(&arguments[1], "read") => {
            let count = integer(&arguments[4])?;
            if !(1..=PART_BYTES_MAX).contains(&count) {
                return Err(Failure::other(format!("count is {count}: allowed are 1 to {PART_BYTES_MAX}")));
            }
            Request::Read { number: natural(2)?, offset: natural(3)?, count: count as usize }
        }
        _ => return Err(Failure::Syntax),
    };
    Ok(Box::new(request))
}

impl Errand for Request {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        let Context { shared, now, .. } = *context;
        match self {
            Self::Start(checkpoint) => {
                if !checkpoint.is_complete(&shared.store)? {
                    return Ok(Progress::Wait);
                }
                describe(&shared.backups.add(&shared.store, now)?.lock(), context.replies);
            }
            Self::Info { number } => {
                describe(&shared.backups.find(&shared.store, now, *number)?.lock(), context.replies);
            }
            Self::Read { number, offset, count } => {
                let mut part = vec![0; *count];
                let backup = shared.backups.find(&shared.store, now, *number)?;
                let read = backup.lock().read_at(*offset, &mut part)?;
                context.replies.bulk(&part[..read]);
            }
            Self::End { number } => {
                shared.backups.end(*number)?;
                context.replies.ok();
            }
        }
        Ok(Progress::Done)
    }
}

fn describe(backup: &Backup, replies: &mut Replies) {
    replies.array(4);
    for number in [backup.number(), backup.version(), backup.pairs(), backup.bytes()] {
        replies.integer(number as i64);
    }
}
