//! Requests of HTTP at the port of Redis clients. A web page can have its reader's browser post to any
//! address that the browser reaches, and each line of it that is a command would be carried out.

use crate::arguments::is;
use crate::server_state::ServerState;
use crate::session::Session;

/// How a request of HTTP begins that has a body; and, if another method does, a line that precedes the body.
const BEGINNINGS: [&str; 2] = ["post", "host:"];

/// Ends the connection if a command's name says that HTTP is spoken: nothing that follows is carried out.
pub(crate) fn ends(shared: &ServerState, session: &mut Session, name: &[u8]) -> bool {
    if !BEGINNINGS.iter().any(|beginning| is(name, beginning)) {
        return false;
    }
    if shared.http_warning.is_time(shared.time.milliseconds()) {
        let address = &session.client.address;
        tracing::warn!(%address, "possible SECURITY ATTACK: a client speaks HTTP; connection closed");
    }
    session.closing = true;
    true
}
