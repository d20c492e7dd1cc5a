//! A table as commands see it: keys and values that have not expired.

use std::sync::Arc;

use honeycomb_store::unordered::Functions;
use honeycomb_store::{Reads, TableHandle, UnorderedTable};

use crate::arguments::Arguments;
use crate::budget::BYTES_MAX;
use crate::databases::Databases;
use crate::deadlines::Deadlines;
use crate::envelope::{DATA_BYTES_MAX, Envelope};
use crate::failure::Failure;
use crate::session::Session;
use crate::task::away::AwayTask;
use crate::transaction::OptimisticTransaction;
use crate::{recency, tally};

/// The pairs of a table as one command reads and writes them.
pub(crate) struct Keyspace<'k> {
    databases: &'k Databases,
    number: usize,
    table: &'k TableHandle,
    now: u64,
    /// Whether lookups count as uses of pairs.
    touches: bool,
    /// The task in the background that the command belongs to.
    away: Option<Arc<AwayTask>>,
    /// Whether the transaction consists of this command.
    is_alone: bool,
    source: ValueSource<'k>,
}

/// The source of values.
enum ValueSource<'k> {
    /// Gets that a batch has executed, with the position of the next one.
    Batch(&'k Reads, usize),
    /// The reads and writes of a transaction.
    Transaction(&'k mut OptimisticTransaction),
}

impl<'k> Keyspace<'k> {
    /// Returns the keyspace of a command that only reads its keys, each once and in the order of its
    /// arguments. The reads begin at `first`.
    pub(crate) fn of_batch(
        databases: &'k Databases,
        session: &Session,
        now: u64,
        reads: &'k Reads,
        first: usize,
    ) -> Self {
        let Session { database: number, touches, .. } = *session;
        let (table, source) = (databases.table(number), ValueSource::Batch(reads, first));
        Self { databases, number, table, now, touches, away: None, is_alone: false, source }
    }

    /// Returns the keyspace of a command in a transaction.
    pub(crate) fn in_transaction(
        databases: &'k Databases,
        session: &Session,
        now: u64,
        transaction: &'k mut OptimisticTransaction,
    ) -> Self {
        let Session { database: number, touches, .. } = *session;
        let (table, away) = (databases.table(transaction.swaps.number(number)), session.away.clone());
        let source = ValueSource::Transaction(transaction);
        Self { databases, number, table, now, touches, away, is_alone: false, source }
    }

    /// Returns the keyspace of a command whose transaction has no other commands.
    pub(crate) fn alone(
        databases: &'k Databases,
        session: &Session,
        now: u64,
        transaction: &'k mut OptimisticTransaction,
    ) -> Self {
        Self { is_alone: true, ..Self::in_transaction(databases, session, now, transaction) }
    }

    /// Returns the number of the table.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Converts the number of another table, as clients send it, to an index.
    pub(crate) fn other_number(&self, number: i64) -> Result<usize, Failure> {
        self.databases.number(number)
    }

    /// Returns the keyspace of another table in the same transaction.
    pub(crate) fn of(&mut self, number: usize) -> Keyspace<'_> {
        let Self { databases, now, touches, is_alone, .. } = *self;
        let away = self.away.clone();
        let (_, transaction) = self.writable();
        let (table, source) =
            (databases.table(transaction.swaps.number(number)), ValueSource::Transaction(transaction));
        Keyspace { databases, number, table, now, touches, away, is_alone, source }
    }

    /// Returns the time in milliseconds since 1970. It is constant during a command.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Returns the value of a key for a command that reads. An empty key or a too long one is absent.
    #[inline]
    pub(crate) fn get(&mut self, key: &[u8]) -> Result<Option<Envelope<'_>>, Failure> {
        self.touch(key);
        self.peek(key)
    }

    /// Returns the value of a key without counting a use of the pair.
    #[inline]
    pub(crate) fn peek(&mut self, key: &[u8]) -> Result<Option<Envelope<'_>>, Failure> {
        let found = self.find(key)?;
        tally::looked_up(found.is_some());
        Ok(found)
    }

    /// Returns how many keys of a command that only reads exist. A repeated key counts repeatedly. It does
    /// not count a use of the pairs.
    pub(crate) fn count_existing(&mut self, keys: &Arguments<'_>) -> Result<i64, Failure> {
        let mut existing = 0;
        if self.is_alone
            && let TableHandle::Unordered(table) = self.table
        {
            return self.count_at_one_moment(table, keys);
        }
        for key in keys.iter() {
            existing += i64::from(self.peek(key)?.is_some());
        }
        Ok(existing)
    }

    /// Counts keys of an unordered table. It reads only the beginnings of their values, which the commit of a
    /// transaction could not compare with those at another moment.
    fn count_at_one_moment(&mut self, table: &UnorderedTable, keys: &Arguments<'_>) -> Result<i64, Failure> {
        self.check_awaited()?;
        self.writable().1.check_pairs(keys.len())?;
        let allowed: Vec<&[u8]> = keys.iter().filter(|key| table.allows_key(key)).collect();
        let mut existing = 0;
        for (key, pair) in allowed.iter().zip(self.databases.beginnings(table, &allowed)?) {
            let is_alive = Self::alive(pair.as_deref(), self.now, || (self.table, key))?.is_some();
            tally::looked_up(is_alive);
            existing += i64::from(is_alive);
        }
        (allowed.len()..keys.len()).for_each(|_| tally::looked_up(false));
        Ok(existing)
    }

    /// Returns the value of a key for a command that will write. The statistics of lookups do not count it.
    pub(crate) fn get_to_write(&mut self, key: &[u8]) -> Result<Option<Envelope<'_>>, Failure> {
        self.touch(key);
        self.find(key)
    }

    /// Records a use of a pair. After `CLIENT NO-TOUCH ON` only writes count as uses.
    #[inline]
    fn touch(&self, key: &[u8]) {
        if self.touches {
            recency::note(self.table, key);
        }
    }

    #[inline]
    fn find(&mut self, key: &[u8]) -> Result<Option<Envelope<'_>>, Failure> {
        let (now, table) = (self.now, self.table);
        self.check_awaited()?;
        let pair = match &mut self.source {
            ValueSource::Batch(reads, next) => {
                *next += 1;
                reads.value(*next - 1)?
            }
            ValueSource::Transaction(_) if !table.allows_key(key) => None,
            ValueSource::Transaction(transaction) => transaction.get(table, key)?,
        };
        Self::alive(pair, now, || (table, key))
    }

    /// Returns the value of a key that a batch has read, like [`Keyspace::get`], for a client whose lookups
    /// count as uses if it `touches`. Calls `place` for the table and the key only if these are necessary:
    /// without them a get takes a tenth fewer instructions.
    #[inline(always)]
    pub(crate) fn read<'v, 'p>(
        pair: Option<&'v [u8]>,
        now: u64,
        touches: bool,
        place: impl Fn() -> (&'p TableHandle, &'p [u8]),
    ) -> Result<Option<Envelope<'v>>, Failure> {
        if touches && recency::is_recorded() {
            let (table, key) = place();
            recency::note(table, key);
        }
        let found = Self::alive(pair, now, place)?;
        tally::looked_up(found.is_some());
        Ok(found)
    }

    /// Returns an error if the command executes in the background and its client has disconnected.
    #[inline]
    fn check_awaited(&self) -> Result<(), Failure> {
        let is_cancelled = self.away.as_ref().is_some_and(|away| away.is_cancelled());
        if is_cancelled { Err(Failure::Cancelled) } else { Ok(()) }
    }

    /// Decodes a stored value. Returns `None` if it has expired.
    #[inline(always)]
    fn alive<'v, 'p>(
        pair: Option<&'v [u8]>,
        now: u64,
        place: impl FnOnce() -> (&'p TableHandle, &'p [u8]),
    ) -> Result<Option<Envelope<'v>>, Failure> {
        let Some(pair) = pair else { return Ok(None) };
        let envelope = Envelope::open(pair).ok_or_else(foreign)?;
        if let Some(deadline) = envelope.expires_at.filter(|_| !envelope.is_alive(now)) {
            let (table, key) = place();
            Deadlines::record_expired(table, key, deadline);
            return Ok(None);
        }
        Ok(Some(envelope))
    }

    /// Rejects invalid keys and too long values.
    pub(crate) fn check_pair(&self, key: &[u8], data: &[u8]) -> Result<(), Failure> {
        if !self.table.allows_key(key) {
            return Err(Failure::KeyLength(key.len()));
        }
        if data.len() > DATA_BYTES_MAX { Err(Failure::TooLong) } else { Ok(()) }
    }

    /// Returns an error if the command must not build a value of this length on the thread of its core. Call
    /// it before building a value that may be much longer than the arguments and the values read.
    pub(crate) fn check_budget(&self, bytes: usize) -> Result<(), Failure> {
        match &self.source {
            ValueSource::Batch(..) if bytes > BYTES_MAX => Err(Failure::NoRoom),
            ValueSource::Batch(..) => Ok(()),
            ValueSource::Transaction(transaction) => transaction.check_budget(bytes),
        }
    }

    /// Returns an error if the transaction may not write this number of further bytes of keys and stored
    /// values. A command that writes several pairs calls it before it writes the first one.
    pub(crate) fn check_written(&mut self, bytes: usize) -> Result<(), Failure> {
        self.writable().1.check_changed(bytes).map(drop)
    }

    /// Exchanges the tables of two numbers at the commit. Only the exclusive thread exchanges tables.
    pub(crate) fn swap(&mut self, first: usize, second: usize) -> Result<(), Failure> {
        self.check_budget(usize::MAX)?;
        let (_, transaction) = self.writable();
        transaction.swaps.push(first, second);
        Ok(())
    }

    /// Puts a value, replacing any other. A value that has already expired deletes the pair.
    pub(crate) fn put(&mut self, key: &[u8], data: &[u8], expires_at: Option<u64>) -> Result<(), Failure> {
        self.put_with(key, Envelope { data, expires_at }, true)
    }

    /// Puts a value like [`Keyspace::put`]. Notifications report its expiry if the command sets it, and does
    /// not only keep that of the pair.
    pub(crate) fn put_with(
        &mut self,
        key: &[u8],
        envelope: Envelope<'_>,
        sets_expiry: bool,
    ) -> Result<(), Failure> {
        self.check_awaited()?;
        self.check_pair(key, envelope.data)?;
        let (now, number) = (self.now, self.number);
        recency::note(self.table, key);
        let (table, transaction) = self.writable();
        if !envelope.is_alive(now) {
            transaction.note_put_expired(number, table, key);
            transaction.delete(table, key);
            return Ok(());
        }
        let replaced = transaction.put(table, key, envelope)?;
        if replaced.is_some_and(|pair| Envelope::has_expired(pair, now)) {
            transaction.note_expired(number, key);
        }
        transaction.note_put(number, key, sets_expiry && envelope.expires_at.is_some());
        Ok(())
    }

    /// Deletes a pair if it exists.
    pub(crate) fn delete(&mut self, key: &[u8]) {
        let number = self.number;
        let (table, transaction) = self.writable();
        if table.allows_key(key) {
            transaction.note_delete(number, table, key);
            transaction.delete(table, key);
        }
    }

    /// Returns the functions of `KV.UPDATE` and similar commands.
    pub(crate) fn functions(&self) -> &'k Functions {
        self.databases.functions()
    }

    /// Returns the table.
    pub(crate) fn table(&self) -> &'k TableHandle {
        self.table
    }

    fn writable(&mut self) -> (&TableHandle, &mut OptimisticTransaction) {
        match &mut self.source {
            ValueSource::Transaction(transaction) => (self.table, transaction),
            ValueSource::Batch(..) => unreachable!("a command that only reads wrote"),
        }
    }
}

#[cold]
fn foreign() -> Failure {
    Failure::other("the pair was not written by a server")
}
