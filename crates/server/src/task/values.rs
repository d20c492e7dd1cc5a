//! `GET` and `MGET` of long values: copies a part per slice, all of one version.

use std::ops::Range;

use honeycomb_store::{Snapshot, Table};

use crate::arguments::Arguments;
use crate::command::{CommandRef, Keys};
use crate::context::Context;
use crate::envelope::{Envelope, HEADER_BYTES_MAX};
use crate::failure::Failure;
use crate::tally;
use crate::task::progress::Progress;

/// Bytes of a value that a slice copies.
const PART_BYTES: usize = 64 << 10;

/// The values of the keys of a command.
pub(crate) struct Values {
    table: Table,
    snapshot: Option<Snapshot>,
    now: u64,
    is_array: bool,
    /// The arguments whose values remain.
    keys: Range<usize>,
    began: bool,
    /// The progress in the first of the values, once it has begun.
    copied: Option<Copied>,
    part: Vec<u8>,
}

/// A value in progress: offsets in the stored value, which begins with its envelope.
struct Copied {
    at: usize,
    end: usize,
}

impl Values {
    pub(crate) fn new(
        context: &Context<'_>,
        named: CommandRef,
        arguments: &Arguments<'_>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            table: context.ordered()?.clone(),
            snapshot: None,
            now: context.now,
            is_array: named.keys == Keys::All,
            keys: 1..arguments.len(),
            began: false,
            copied: None,
            part: Vec::new(),
        })
    }

    /// Returns the same task for the version of a snapshot.
    pub(super) fn of(self, snapshot: Option<Snapshot>) -> Self {
        Self { snapshot, ..self }
    }

    /// Restarts after the snapshot was lost.
    pub(super) fn restart(&mut self) {
        self.keys.start = 1;
        (self.snapshot, self.copied, self.began) = (None, None, false);
    }

    pub(super) fn step(
        &mut self,
        context: &mut Context<'_>,
        arguments: &Arguments<'_>,
    ) -> Result<Progress, Failure> {
        if self.snapshot.is_none() {
            self.snapshot = Some(context.shared.store.snapshot()?);
        }
        if !std::mem::replace(&mut self.began, true) && self.is_array {
            context.replies.array(self.keys.len());
        }
        let mut budget = PART_BYTES;
        while budget > 0 && !self.keys.is_empty() && !context.replies.exceed_limit() {
            let spent = self.advance(context, &arguments[self.keys.start], budget)?;
            budget = budget.saturating_sub(spent);
        }
        if self.keys.is_empty() { Ok(Progress::Done) } else { Ok(Progress::More) }
    }

    /// Copies the next part of the first value. Returns the cost in bytes, with a minimum for the lookup.
    fn advance(&mut self, context: &mut Context<'_>, key: &[u8], budget: usize) -> Result<usize, Failure> {
        const LOOK_UP: usize = 512;
        let Some(snapshot) = &self.snapshot else { return Err(Failure::NoSnapshot) };
        if self.copied.is_none() {
            self.part.clear();
            let total = if self.table.allows_key(key) {
                snapshot.get_part(&self.table, key, 0, HEADER_BYTES_MAX, &mut self.part)?
            } else {
                None
            };
            match total.map(|total| Envelope::begins(&self.part, total)).transpose()? {
                Some((header, expires_at)) if Envelope::is_alive_at(expires_at, self.now) => {
                    let end = total.unwrap_or(header);
                    context.replies.begin_bulk(end - header);
                    self.copied = Some(Copied { at: header, end });
                    tally::looked_up(true);
                }
                _ => {
                    tally::looked_up(false);
                    context.replies.null();
                    self.keys.start += 1;
                }
            }
            return Ok(LOOK_UP);
        }
        let Some(Copied { at, end }) = &mut self.copied else { return Ok(LOOK_UP) };
        let bytes = (*end - *at).min(budget);
        let copy = |out: &mut Vec<u8>| snapshot.get_part(&self.table, key, *at, bytes, out);
        context.replies.part_of_bulk(copy)?;
        *at += bytes;
        if at == end {
            context.replies.end_bulk();
            self.copied = None;
            self.keys.start += 1;
        }
        Ok(LOOK_UP + bytes)
    }
}
