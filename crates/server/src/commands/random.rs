//! `RANDOMKEY`: draws keys of pairs that have not expired.

use honeycomb_store::TableHandle;
use honeycomb_store::unordered::WalkedPairs;

use crate::arguments::Arguments;
use crate::command::{Command, CommandForm, Keys};
use crate::context::Context;
use crate::envelope::{Envelope, HEADER_BYTES_MAX};
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "randomkey",
    arity: 1,
    keys: Keys::None,
    form: CommandForm::Store(randomkey),
    usage: "",
    summary: "Returns a random key of the table, drawn approximately uniformly.",
}];

/// Maximum number of draws in search of a pair that has not expired.
const DRAWS_MAX: usize = 100;

fn randomkey(context: &mut Context<'_>, _: &Arguments<'_>) -> Result<(), Failure> {
    let (table, now) = (context.table(), context.now);
    let written = context.transaction.as_deref_mut().map_or_else(Vec::new, |within| within.put_keys(table));
    for _ in 0..DRAWS_MAX {
        let Some(drawn) = draw_from(&written, table, now) else { break };
        if let Some(key) = drawn
            && exists_here(context, &key)?
        {
            context.replies.bulk(&key);
            return Ok(());
        }
    }
    // The transaction may have deleted most stored pairs.
    context.replies.bulk_or_null(written.get(draw(written.len())).map(Vec::as_slice));
    Ok(())
}

/// Returns a random key among those that a transaction has written and those of the table, like
/// [`draw_key`].
fn draw_from(written: &[Vec<u8>], table: &TableHandle, now: u64) -> Option<Option<Vec<u8>>> {
    let drawn = written.get(draw(written.len() + table.pair_count() as usize));
    drawn.map_or_else(|| draw_key(table, now), |key| Some(Some(key.clone())))
}

/// Returns a random key, or `Some(None)` if its pair has expired; `None` if the table has no pairs.
fn draw_key(table: &TableHandle, now: u64) -> Option<Option<Vec<u8>>> {
    let alive = |key: &[u8], value: &[u8]| {
        let is_alive = Envelope::open(value).is_some_and(|envelope| envelope.is_alive(now));
        is_alive.then(|| key.to_vec())
    };
    match table {
        TableHandle::Ordered(table) => {
            let mut drawn = None;
            table.sample_leaf(1, &mut draw, &mut |key, value| drawn = Some(alive(key, value)));
            drawn
        }
        TableHandle::Unordered(table) => {
            let mut pairs = WalkedPairs::default();
            table.sample(&mut draw, HEADER_BYTES_MAX, &mut pairs).then(|| {
                let (key, value) = pairs.iter().nth(draw(pairs.len()))?;
                alive(key, value)
            })
        }
    }
}

/// Returns false if the command is part of a transaction that has deleted the pair.
fn exists_here(context: &mut Context<'_>, key: &[u8]) -> Result<bool, Failure> {
    let (databases, session, now) = (&context.shared.databases, &*context.session, context.now);
    match context.transaction.as_deref_mut() {
        Some(transaction) => {
            Ok(Keyspace::in_transaction(databases, session, now, transaction).get_to_write(key)?.is_some())
        }
        None => Ok(true),
    }
}

/// Draws a random number below a bound.
fn draw(below: usize) -> usize {
    // If the system supplies no random bytes, the draw is not random but still valid.
    let random = getrandom::u64().unwrap_or(0);
    ((u128::from(random) * below as u128) >> 64) as usize
}
