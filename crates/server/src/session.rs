//! What the server knows of a client, and what its commands may touch.

use std::sync::Arc;

use honeycomb_protocol::resp::{Found, Replies, Requests};
use honeycomb_store::Table;

use crate::clients::Client;
use crate::command::OnKeys;
use crate::commands::Source;
use crate::failure::Failure;
use crate::shared::Shared;

/// The state of a connection that its commands change.
#[derive(Debug)]
pub(crate) struct Session {
    /// What others may know of it.
    pub(crate) client: Arc<Client>,
    pub(crate) database: usize,
    pub(crate) authenticated: bool,
    /// Commands since `MULTI`.
    pub(crate) queue: Option<Queue>,
    pub(crate) watched: Vec<Watched>,
    /// The connection ends once its replies are sent.
    pub(crate) closing: bool,
}

/// Commands that wait for `EXEC`.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) requests: Requests,
    /// What each of them does, and where its arguments are in the requests.
    pub(crate) handlers: Vec<(OnKeys, Found)>,
    /// One was refused: `EXEC` refuses them all.
    pub(crate) spoiled: bool,
}

/// A pair as it was when it was watched.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) table: Table,
    pub(crate) key: Vec<u8>,
    pub(crate) seen: Option<Vec<u8>>,
}

/// What a command that serves may touch.
pub(crate) struct Context<'c> {
    pub(crate) shared: &'c Shared,
    pub(crate) session: &'c mut Session,
    pub(crate) replies: &'c mut Replies,
}

impl Session {
    pub(crate) fn new(client: Arc<Client>, authenticated: bool) -> Self {
        Self { client, database: 0, authenticated, queue: None, watched: Vec::new(), closing: false }
    }

    /// A command failed before it was queued: its transaction will be refused, or is over.
    pub(crate) fn spoil(&mut self, failure: &Failure) {
        if *failure == Failure::AbortedByArity {
            self.queue = None;
            self.watched.clear();
        }
        self.queue.iter_mut().for_each(|queue| queue.spoiled = true);
    }

    /// As it was when the client came.
    pub(crate) fn reset(&mut self, authenticated: bool) {
        self.client.set_name(b"");
        *self = Self::new(self.client.clone(), authenticated);
    }
}

impl<'c> Context<'c> {
    /// The table that the client has selected.
    pub(crate) fn table(&self) -> &'c Table {
        self.shared.table(self.session.database)
    }

    /// Where its pairs are looked for.
    pub(crate) fn source(&self) -> Source<'c> {
        let shared = self.shared;
        Source { store: &shared.store, table: self.table(), now: shared.time.milliseconds() }
    }
}
