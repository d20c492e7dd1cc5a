//! A key drawn at random.

use crate::arguments::Arguments;
use crate::command::{Command, CommandForm, Keys};
use crate::context::Context;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "randomkey",
    arity: 1,
    keys: Keys::None,
    form: CommandForm::Serve(randomkey),
    usage: "",
    summary: "A key of the table drawn at random; each is about as likely as any other.",
}];

/// Pairs that are drawn until one is found that has not expired.
const DRAWS_MAX: usize = 100;

fn randomkey(context: &mut Context<'_>, _: &Arguments<'_>) -> Result<(), Failure> {
    for _ in 0..DRAWS_MAX {
        let (table, now, mut drawn) = (context.table(), context.now, None);
        let found = table.sample_leaf(1, &mut draw, &mut |key, value| {
            let is_alive = Envelope::open(value).is_some_and(|envelope| envelope.is_alive(now));
            drawn = is_alive.then(|| key.to_vec());
        });
        if found == 0 {
            break;
        }
        if let Some(key) = drawn
            && is_there(context, &key)?
        {
            context.replies.bulk(&key);
            return Ok(());
        }
    }
    context.replies.null();
    Ok(())
}

/// Whether the transaction that the command is a part of, if it is, has left the pair there.
fn is_there(context: &mut Context<'_>, key: &[u8]) -> Result<bool, Failure> {
    let (databases, session, now) = (&context.shared.databases, &*context.session, context.now);
    match context.transaction.as_deref_mut() {
        Some(transaction) => {
            Ok(Keyspace::in_transaction(databases, session, now, transaction).get_to_write(key)?.is_some())
        }
        None => Ok(true),
    }
}

/// A number below another one.
fn draw(below: usize) -> usize {
    // Without random bytes of the system a key is still a key.
    let random = getrandom::u64().unwrap_or(0);
    ((u128::from(random) * below as u128) >> 64) as usize
}
