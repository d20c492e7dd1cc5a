//! Sessions of batch clients, up to the configured number and a limit of memory. Each has a window of its
//! newest writes.

use std::collections::HashMap;
use std::net::SocketAddr;

use honeycomb_protocol::batch::{Header, Kind, Tokens, Window};

use crate::server_state::ServerState;

/// Maximum bytes of memory of the windows of a core. The window of 64 requests of one write each takes 3 KiB.
const BYTES_MAX: usize = 16 << 20;

/// The sessions of a core, by name.
#[derive(Debug)]
pub(super) struct Sessions {
    tokens: Tokens,
    sessions: HashMap<u64, Session>,
    sessions_max: usize,
    /// Bytes of memory of all windows.
    bytes: usize,
    /// A logical clock of session uses.
    moment: u64,
}

#[derive(Debug)]
struct Session {
    /// The only client that may use the session.
    client: SocketAddr,
    window: Window,
    /// Bytes of memory of the window at its last change.
    bytes: usize,
    /// The time of the last use.
    moment: u64,
}

impl Sessions {
    pub(super) fn new(shared: &ServerState) -> Self {
        Self {
            tokens: shared.tokens.clone(),
            sessions: HashMap::new(),
            sessions_max: shared.config().datagrams.sessions_max,
            bytes: 0,
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

    /// Stores the outcomes of the writes of a request. Ends other sessions if all use too much memory.
    pub(super) fn finish(&mut self, (name, client): (u64, SocketAddr), identifier: u64, outcomes: &[u8]) {
        let Some(window) = self.window(name, client) else { return };
        window.finish(identifier, outcomes);
        let bytes = window.memory_bytes();
        if let Some(session) = self.sessions.get_mut(&name) {
            self.bytes = self.bytes - session.bytes + bytes;
            session.bytes = bytes;
        }
        while self.bytes > BYTES_MAX && self.sessions.len() > 1 {
            self.end_oldest();
        }
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
        self.sessions
            .insert(name, Session { client, window: Window::default(), bytes: 0, moment: self.moment });
        Header { session: name, attempt: hello.attempt, ..Header::of(Kind::Session) }
    }

    /// Ends the least recently used session if the number of sessions has reached its maximum.
    fn make_room(&mut self) {
        if self.sessions.len() >= self.sessions_max {
            self.end_oldest();
        }
    }

    fn end_oldest(&mut self) {
        let oldest = self.sessions.iter().min_by_key(|(_, session)| session.moment).map(|(name, _)| *name);
        let ended = oldest.and_then(|name| self.sessions.remove(&name));
        self.bytes -= ended.map_or(0, |session| session.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_state::tests::state;

    #[test]
    fn sessions_have_a_limit_of_memory() {
        let (shared, outcomes) = (state(), vec![1; 32 << 10]);
        let mut sessions = Sessions::new(&shared);
        let hello = |identifier| Header { identifier, ..Header::of(Kind::Hello) };
        let mut newest = (0, SocketAddr::from(([127, 0, 0, 1], 1)));
        for port in 1..100 {
            let client = SocketAddr::from(([127, 0, 0, 1], port));
            let token = sessions.reply_hello(&hello(0), client, &shared).identifier;
            newest = (sessions.reply_hello(&hello(token), client, &shared).session, client);
            for identifier in 1..=64 {
                sessions.window(newest.0, client).unwrap().begin(identifier);
                sessions.finish(newest, identifier, &outcomes);
            }
            let counted: usize = sessions.sessions.values().map(|one| one.window.memory_bytes()).sum();
            assert_eq!(sessions.bytes, counted);
            assert!(counted <= BYTES_MAX, "{counted}");
        }
        assert!(sessions.sessions.len() >= 6, "{} sessions", sessions.sessions.len());
        assert!(sessions.window(newest.0, newest.1).is_some(), "the newest one is there");
    }
}
