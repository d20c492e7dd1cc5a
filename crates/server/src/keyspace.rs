//! What a command sees of a table: keys and values that have not expired.

use honeycomb_store::{Reads, Table};

use crate::databases::Databases;
use crate::deadlines::Deadlines;
use crate::envelope::{DATA_BYTES_MAX, Envelope};
use crate::failure::Failure;
use crate::recency;
use crate::session::Session;
use crate::tally;
use crate::transaction::OptimisticTransaction;

/// The pairs of a table as one command reads and writes them.
pub(crate) struct Keyspace<'k> {
    databases: &'k Databases,
    number: usize,
    table: &'k Table,
    now: u64,
    /// Whether lookups count as uses of pairs.
    touches: bool,
    source: ValueSource<'k>,
}

/// Where values come from.
enum ValueSource<'k> {
    /// Gets that were run ahead, with those of other commands: the next one is at this place.
    Ahead(&'k Reads, usize),
    /// What a transaction reads and writes.
    Transaction(&'k mut OptimisticTransaction),
}

impl<'k> Keyspace<'k> {
    /// Of a command that only reads its keys, each once and in the order of its arguments. They were read
    /// from `first` on.
    pub(crate) fn ahead(
        databases: &'k Databases,
        session: &Session,
        now: u64,
        reads: &'k Reads,
        first: usize,
    ) -> Self {
        let Session { database: number, touches, .. } = *session;
        let (table, source) = (databases.table(number), ValueSource::Ahead(reads, first));
        Self { databases, number, table, now, touches, source }
    }

    /// Of a command in a transaction.
    pub(crate) fn within(
        databases: &'k Databases,
        session: &Session,
        now: u64,
        transaction: &'k mut OptimisticTransaction,
    ) -> Self {
        let Session { database: number, touches, .. } = *session;
        let table = databases.table(transaction.swaps.number(number));
        Self { databases, number, table, now, touches, source: ValueSource::Transaction(transaction) }
    }

    /// The number of its table.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The number of another table, as clients write it.
    pub(crate) fn other_number(&self, number: i64) -> Result<usize, Failure> {
        self.databases.number(number)
    }

    /// The pairs of the table of another number, in the same transaction.
    pub(crate) fn of(&mut self, number: usize) -> Keyspace<'_> {
        let Self { databases, now, touches, .. } = *self;
        let (_, transaction) = self.writable();
        let table = databases.table(transaction.swaps.number(number));
        Keyspace { databases, number, table, now, touches, source: ValueSource::Transaction(transaction) }
    }

    /// Milliseconds since 1970, the same throughout the command.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// The value of a key, for a command that returns something of it. A key that no pair can have, as it is
    /// too long or empty, is absent.
    #[inline]
    pub(crate) fn get(&mut self, key: &[u8]) -> Result<Option<Envelope<'_>>, Failure> {
        self.touch(key);
        self.peek(key)
    }

    /// The same, which does not count as a use of the pair.
    #[inline]
    pub(crate) fn peek(&mut self, key: &[u8]) -> Result<Option<Envelope<'_>>, Failure> {
        let found = self.find(key)?;
        tally::looked_up(found.is_some());
        Ok(found)
    }

    /// The value of a key, for a command that is about to write: the statistics of lookups do not count it.
    pub(crate) fn get_to_write(&mut self, key: &[u8]) -> Result<Option<Envelope<'_>>, Failure> {
        self.touch(key);
        self.find(key)
    }

    /// A command of the client uses a pair. Only what it writes counts if it has said `CLIENT NO-TOUCH ON`.
    #[inline]
    fn touch(&self, key: &[u8]) {
        if self.touches {
            recency::note(self.table, key);
        }
    }

    #[inline]
    fn find(&mut self, key: &[u8]) -> Result<Option<Envelope<'_>>, Failure> {
        let now = self.now;
        let pair = match &mut self.source {
            ValueSource::Ahead(reads, next) => {
                *next += 1;
                reads.value(*next - 1)?
            }
            ValueSource::Transaction(_) if !self.table.allows_key(key) => None,
            ValueSource::Transaction(transaction) => transaction.get(self.table, key)?,
        };
        let Some(pair) = pair else { return Ok(None) };
        let foreign = || Failure::other("the pair was not written by a server");
        let envelope = Envelope::open(pair).ok_or_else(foreign)?;
        if let Some(deadline) = envelope.expires_at.filter(|_| !envelope.is_alive(now)) {
            Deadlines::found_expired(self.table, key, deadline);
            return Ok(None);
        }
        Ok(Some(envelope))
    }

    /// Refuses what no pair can be made of.
    pub(crate) fn check_pair(&self, key: &[u8], data: &[u8]) -> Result<(), Failure> {
        if !self.table.allows_key(key) {
            return Err(Failure::KeyLength(key.len()));
        }
        if data.len() > DATA_BYTES_MAX { Err(Failure::TooLong) } else { Ok(()) }
    }

    /// Puts a value in place of any other. One that has expired already deletes the pair.
    pub(crate) fn put(&mut self, key: &[u8], data: &[u8], expires_at: Option<u64>) -> Result<(), Failure> {
        self.check_pair(key, data)?;
        let (envelope, now) = (Envelope { data, expires_at }, self.now);
        recency::note(self.table, key);
        let (table, transaction) = self.writable();
        if envelope.is_alive(now) {
            return transaction.put(table, key, envelope);
        }
        transaction.delete(table, key);
        Ok(())
    }

    /// Deletes a pair, be it there or not.
    pub(crate) fn delete(&mut self, key: &[u8]) {
        let (table, transaction) = self.writable();
        if table.allows_key(key) {
            transaction.delete(table, key);
        }
    }

    /// Its table.
    pub(crate) fn table(&self) -> &'k Table {
        self.table
    }

    fn writable(&mut self) -> (&Table, &mut OptimisticTransaction) {
        match &mut self.source {
            ValueSource::Transaction(transaction) => (self.table, transaction),
            ValueSource::Ahead(..) => unreachable!("a command that is said to read writes"),
        }
    }
}
