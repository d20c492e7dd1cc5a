//! Detects HTTP requests at the port of Redis clients. A web page can make the browser of its reader send
//! requests to any address that the browser can reach, and the server would execute each line that is a
//! command.

use crate::arguments::is;
use crate::server_state::ServerState;
use crate::session::Session;

/// The first words of HTTP requests with a body, and of a header line that precedes the body in requests with
/// other methods.
const BEGINNINGS: [&str; 2] = ["post", "host:"];

/// Closes the connection if the name of a command shows that the client speaks HTTP. Nothing that follows
/// executes.
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
