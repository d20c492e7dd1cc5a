//! Reads of a server whose log has failed under the policy `always`.
//!
//! The writes that were in progress then are visible, but the next start may not have them. So a reply that
//! depends on one of them never leaves. Instead of no reply, its client gets an error. Gets of all other keys
//! go on, and so does everything after a change of the policy.

use honeycomb_store::{Store, SyncPolicy, Version};

use crate::arguments::Arguments;
use crate::command::Command;
use crate::commands::categories::writes;
use crate::failure::Failure;
use crate::held::has_failed;
use crate::needed_version::needed_version;
use crate::server_state::ServerState;

/// The error of a read, after that of the log.
const ADVICE: &str =
    "the reply may depend on a write that is not durable; CONFIG SET appendfsync no allows it";

/// States that readers see writes that will never be durable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LostWrites {
    /// All writes up to this version are durable, and no later one.
    durable: Version,
}

impl LostWrites {
    /// Returns `None` if all writes that readers see are durable or may still become so.
    pub(crate) fn of(store: &Store) -> Option<Self> {
        if !has_failed(store) || store.sync_policy() != Some(SyncPolicy::Always) {
            return None;
        }
        let durable = store.durable_version();
        (store.read_version() > durable).then_some(Self { durable })
    }

    /// Returns whether a reply that needs a version can leave.
    pub(crate) fn allows(self, needed: Version) -> bool {
        needed <= self.durable
    }

    /// Returns an error if a command writes, or if its reply depends on lost writes.
    pub(crate) fn check(
        self,
        shared: &ServerState,
        number: usize,
        (command, arguments): (&Command, &Arguments<'_>),
    ) -> Result<(), Failure> {
        let needed = needed_version(&shared.databases, number, (command, arguments));
        if needed.is_some_and(|version| self.allows(version)) || command.name == "config" {
            return Ok(());
        }
        let Err(error) = shared.store.check_writable() else { return Ok(()) };
        if command.name == "exec" {
            return Err(Failure::AbortedByLog(error.to_string()));
        }
        Err(match writes(command) {
            true => error.into(),
            false => Failure::Refused(format!("{error}; {ADVICE}")),
        })
    }
}
