//! The context in which a command executes.

use honeycomb_protocol::resp::Replies;
use honeycomb_store::{Table, TableHandle};

use crate::budget::Budget;
use crate::failure::Failure;
use crate::server_state::ServerState;
use crate::session::Session;
use crate::tally;
use crate::transaction::OptimisticTransaction;

/// The state that a command may use.
pub(crate) struct Context<'c> {
    pub(crate) shared: &'c ServerState,
    pub(crate) session: &'c mut Session,
    pub(crate) replies: &'c mut Replies,
    /// The transaction that the command belongs to, between `MULTI` and `EXEC`.
    pub(crate) transaction: Option<&'c mut OptimisticTransaction>,
    /// The time in milliseconds since 1970. It is constant during a command.
    pub(crate) now: u64,
    /// The budget of the command.
    pub(crate) budget: Budget,
}

impl<'c> Context<'c> {
    /// Adds the lookups that this thread counted in this iteration to the counts of its core. Call it before
    /// reading the counts.
    pub(crate) fn flush_counts(&self) {
        tally::add_to(&self.shared.counts[self.session.client.core]);
    }

    /// Returns the table that the client has selected.
    pub(crate) fn table(&self) -> &'c TableHandle {
        self.shared.table(self.number())
    }

    /// Returns the table that the client has selected, for a command that needs an order.
    pub(crate) fn ordered(&self) -> Result<&'c Table, Failure> {
        self.shared.databases.ordered(self.number())
    }

    fn number(&self) -> usize {
        let number = self.session.database;
        self.transaction.as_ref().map_or(number, |within| within.swaps.number(number))
    }
}
