//! What the server knows of a client, and what its commands may touch.

use honeycomb_protocol::resp::Replies;
use honeycomb_store::Table;

use crate::shared::Shared;

/// The state of a connection that its commands change.
#[derive(Debug)]
pub(crate) struct Session {
    /// Unique in the server's life.
    pub(crate) id: u64,
    pub(crate) address: String,
    pub(crate) name: Vec<u8>,
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
    pub(crate) commands: Vec<Vec<Vec<u8>>>,
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
    pub(crate) fn new(id: u64, address: String, authenticated: bool) -> Self {
        Self {
            id,
            address,
            name: Vec::new(),
            database: 0,
            authenticated,
            queue: None,
            watched: Vec::new(),
            closing: false,
        }
    }

    /// As it was when the client came.
    pub(crate) fn reset(&mut self, authenticated: bool) {
        *self = Self::new(self.id, std::mem::take(&mut self.address), authenticated);
    }
}

impl Context<'_> {
    /// The table that the client has selected.
    pub(crate) fn table(&self) -> &Table {
        self.shared.table(self.session.database)
    }
}
