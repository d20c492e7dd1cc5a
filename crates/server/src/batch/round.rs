//! The state that all batches of a round share, and the limits of a batch.

use honeycomb_store::{Batch, Error, Reads};

use crate::arguments::Arguments;
use crate::command::{Command, CommandRef};
use crate::commands::by_number;
use crate::commands::categories::writes;
use crate::config::Config;
use crate::counts::Counts;
use crate::failure::Failure;
use crate::lost_writes::LostWrites;
use crate::pause::Paused;
use crate::server_state::ServerState;
use crate::session::{Queue, Session};

/// Maximum number of commands of one connection in a batch. A range read counts as the number of pairs that
/// it may return.
pub(super) const COMMANDS_MAX: usize = 1024;
/// Bytes that a batch of reads returns, approximately. Further commands execute later or alone.
pub(super) const FOUND_BYTES: usize = 256 << 10;
/// Bytes that a batch writes, approximately. A larger batch needs fewer instructions per write.
pub(super) const WRITTEN_BYTES: usize = 1 << 20;
/// Maximum length of a value that a batch reads or writes. A command with a longer value executes alone.
pub(super) const VALUE_BYTES_MAX: usize = 64 << 10;

/// The state that does not change during a round.
pub(super) struct Round<'r> {
    pub(super) shared: &'r ServerState,
    pub(super) config: &'r Config,
    pub(super) counts: &'r Counts,
    /// Start of the iteration, in milliseconds since 1970.
    pub(super) now: u64,
    /// The clients that are paused.
    pub(super) paused: Option<Paused>,
    pub(super) lost: Option<LostWrites>,
}

impl Round<'_> {
    /// Returns an error if the reply of a command would depend on lost writes.
    pub(super) fn check_lost(
        &self,
        session: &Session,
        command: (&Command, &Arguments<'_>),
    ) -> Result<(), Failure> {
        let check = |lost: LostWrites| lost.check(self.shared, session.database, command);
        self.lost.map_or(Ok(()), check)
    }

    /// Returns whether a command must wait for the end of a pause. `EXEC` waits if one of its commands does.
    pub(super) fn delays(&self, command: Option<CommandRef>, session: &Session) -> bool {
        let Some(command) = command.filter(|_| self.paused.is_some()) else { return false };
        let queue = session.queue.iter().filter(|_| command.name == "exec");
        let mut queued = queue.flat_map(Queue::commands).map(by_number);
        has_effect(&command) || queued.any(|command| has_effect(&command))
    }

    /// Executes reads as one batch.
    pub(super) fn read(&self, reads: &mut Reads) -> Result<(), Error> {
        if reads.is_empty() {
            return Ok(());
        }
        self.counts.read_batches.add(reads.len() as u64, 1);
        self.shared.store.read(reads)
    }
}

/// Returns whether a command writes pairs or sends messages. As in Redis, a pause of writes delays both.
fn has_effect(command: &Command) -> bool {
    writes(command) || command.name == "publish"
}

/// Removes all writes from a batch. Keeps its memory if that is little.
pub(super) fn clear(batch: &mut Batch) {
    match batch.bytes() {
        0..=WRITTEN_BYTES => batch.clear(),
        _ => *batch = Batch::default(),
    }
}
