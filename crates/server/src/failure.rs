//! Errors of commands, with the texts that Redis clients expect.

use honeycomb_protocol::resp::Replies;
use honeycomb_store::{Error, Version};

use crate::embedder::Panicked;
use crate::tally;

/// An error reply. The stored pairs have not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("ERR syntax error")]
    Syntax,
    #[error("ERR value is not an integer or out of range")]
    NotInteger,
    #[error("ERR increment or decrement would overflow")]
    Overflow,
    #[error("ERR invalid expire time in '{0}' command")]
    Expiry(&'static str),
    #[error("ERR value is not a valid float")]
    NotFloat,
    #[error("ERR bit offset is not an integer or out of range")]
    BitOffset,
    #[error("ERR offset is out of range")]
    Offset,
    #[error("ERR string exceeds maximum allowed size ({} bytes)", crate::envelope::DATA_BYTES_MAX)]
    TooLong,
    #[error("ERR key of {0} bytes: a key has 1 to {max} bytes", max = honeycomb_layout::KEY_BYTES_MAX)]
    KeyLength(usize),
    #[error("ERR unknown command '{0}'")]
    UnknownCommand(String),
    #[error("ERR wrong number of arguments for '{0}' command")]
    Arity(&'static str),
    #[error("ERR no such key")]
    NoSuchKey,
    #[error("ERR source and destination objects are the same")]
    SameKey,
    #[error("ERR DUMP payload version or checksum are wrong")]
    Payload,
    #[error("ERR Bad data format")]
    DataFormat,
    #[error("BUSYKEY Target key name already exists.")]
    BusyKey,
    #[error("ERR DB index is out of range")]
    Database,
    #[error(
        "ERR database {0} is unordered: this command needs the order of keys, which only ordered databases \
         have"
    )]
    Unordered(usize),
    #[error("ERR the values that a transaction reads from unordered databases take more than {0} bytes")]
    ReadsTooLong(usize),
    /// A stream of changes of the database would go on in another table.
    #[error(
        "ERR version too old: SWAPDB has given database {number} another table at version {version}; read \
         the database and continue from there"
    )]
    Swapped { number: usize, version: Version },
    #[error("ERR invalid cursor")]
    Cursor,
    #[error("ERR no such snapshot")]
    Snapshot,
    #[error("NOAUTH Authentication required.")]
    NotAuthenticated,
    #[error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH \
         <user> <pass> option can be used to authenticate the client and select the RESP protocol version \
         at the same time"
    )]
    NotAuthenticatedByHello,
    #[error("WRONGPASS invalid username-password pair or user is disabled.")]
    WrongPassword,
    #[error("NOPROTO unsupported protocol version")]
    Version,
    #[error("EXECABORT Transaction discarded because of previous errors.")]
    Aborted,
    #[error("EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command")]
    AbortedByArity,
    #[error(
        "EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'."
    )]
    AbortedByMemory,
    #[error("EXECABORT Transaction discarded because of: MISCONF Errors writing to the AOF file: {0}")]
    AbortedByLog(String),
    #[error("ERR {0}")]
    Other(String),
    #[error("ERR {0}")]
    Panicked(#[from] Panicked),
    #[error("ERR the replies take more than client-output-buffer-limit, which is {0} bytes")]
    RepliesTooLong(usize),
    /// The batch had no space for the reads of the command, which then executes alone.
    #[error("ERR other reads have left no room for this one")]
    NoRoom,
    /// The command exceeds its budget and executes in the background.
    #[error("ERR the command reads or writes too much for the thread of its core")]
    Long,
    /// The client of a command in the background has disconnected, or the server ends.
    #[error("ERR nobody waits for the command any more")]
    Cancelled,
    /// The command swaps tables and executes while all cores wait.
    #[error("ERR only work for which all cores wait can swap tables")]
    NotExclusive,
    #[error("ERR the commands since MULTI take more than client-query-buffer-limit, which is {0} bytes")]
    QueueTooLong(usize),
    #[error(
        "ERR more than {0} commands since MULTI access whole ranges or tables (DBSIZE, FLUSHALL, FLUSHDB, \
         MEMORY, RANDOMKEY, RI.DELRANGE)"
    )]
    TooManyStoreCommands(usize),
    #[error(
        "ERR the writes of a transaction take more than a fourth of maxmemory-clients or than \
             client-query-buffer-limit: {0} bytes"
    )]
    TransactionTooLong(usize),
    /// The lease of the snapshot has ended. A task restarts with another snapshot unless the client has named
    /// this one.
    #[error("ERR snapshot too old: its lease has ended")]
    SnapshotLost,
    /// All snapshots are in use. A task waits for a free one.
    #[error("ERR all snapshots are in use")]
    NoSnapshot,
    #[error(
        "ERR the watched pairs take more than a fourth of maxmemory-clients or than \
             client-query-buffer-limit: {0} bytes"
    )]
    WatchedTooLong(usize),
    #[error("ERR all clients together take more than maxmemory-clients, which is {0} bytes")]
    ClientsTooLong(usize),
    #[error("OOM command not allowed when used memory > 'maxmemory'.")]
    OutOfMemory,
    /// The log refuses writes.
    #[error("MISCONF Errors writing to the AOF file: {0}")]
    Refused(String),
}

impl Failure {
    /// Replies the error. It replaces all bytes of the replies after `before`.
    pub(crate) fn reply_after(&self, before: usize, replies: &mut Replies) {
        let message = self.to_string();
        tally::failed(&message);
        replies.truncate(before);
        replies.error(&message);
    }

    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self::Other(message.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::OutOfMemory { .. } => Self::OutOfMemory,
            Error::ValueLength { .. } => Self::TooLong,
            Error::DiskFull | Error::ReadOnly { .. } | Error::NotDurable { .. } => {
                Self::Refused(error.to_string())
            }
            Error::NoRoom => Self::NoRoom,
            Error::TooManySnapshots { .. } => Self::NoSnapshot,
            Error::SnapshotTooOld => Self::SnapshotLost,
            other => Self::Other(other.to_string()),
        }
    }
}
