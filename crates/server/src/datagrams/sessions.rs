//! Sessions of batch clients, up to the configured number. Each has a window of its newest writes.

use std::collections::HashMap;
use std::net::SocketAddr;

use honeycomb_protocol::batch::{Header, Kind, Tokens, Window};

use crate::server_state::ServerState;

/// The sessions of a core, by name.
#[derive(Debug)]
pub(super) struct Sessions {
    tokens: Tokens,
    sessions: HashMap<u64, Session>,
    sessions_max: usize,
    /// A logical clock of session uses.
    moment: u64,
}

#[derive(Debug)]
struct Session {
    /// The only client that may use the session.
    client: SocketAddr,
    window: Window,
    /// The time of the last use.
    moment: u64,
}

impl Sessions {
    pub(super) fn new(shared: &ServerState) -> Self {
        Self {
            tokens: shared.tokens.clone(),
            sessions: HashMap::new(),
            sessions_max: shared.config().datagrams.sessions_max,
            moment: 0,
        }
    }

    /// Returns the window of a session if it belongs to the client.
    pub(super) fn window(&mut self, name: u64, client: SocketAddr) -> Option<&mut Window> {
        let session = self.sessions.get_mut(&name).filter(|session| session.client == client)?;
        self.moment += 1;
        session.moment = self.moment;
        Some(&mut session.window)
    }

    /// Replies to a hello with a token, or with a session if the hello contains a valid token.
    pub(super) fn reply_hello(&mut self, hello: &Header, client: SocketAddr, shared: &ServerState) -> Header {
        let now = shared.time.milliseconds();
        if !self.tokens.is_valid(hello.identifier, client, now) {
            let identifier = self.tokens.token(client, now);
            return Header { identifier, attempt: hello.attempt, ..Header::of(Kind::Token) };
        }
        let name = self.tokens.session(client, shared.clients.next_id());
        self.make_room();
        self.moment += 1;
        self.sessions.insert(name, Session { client, window: Window::default(), moment: self.moment });
        Header { session: name, attempt: hello.attempt, ..Header::of(Kind::Session) }
    }

    /// Ends the least recently used session if the number of sessions has reached its maximum.
    fn make_room(&mut self) {
        if self.sessions.len() < self.sessions_max {
            return;
        }
        let oldest = self.sessions.iter().min_by_key(|(_, session)| session.moment).map(|(name, _)| *name);
        oldest.map(|name| self.sessions.remove(&name));
    }
}
