//! HTTP at the port of Redis clients.
#![allow(missing_docs)]

mod common;

use common::{Client, start, start_with};
use honeycomb_server::Config;

const POST: &[u8] = b"POST / HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nSET a 1\r\n";
const PUT: &[u8] = b"PUT / HTTP/1.1\r\nhost: bees:6379\r\nContent-Length: 9\r\n\r\nSET a 1\r\n";
const ARRAY: &[u8] = b"*1\r\n$4\r\nPost\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n";

#[test]
fn nothing_of_what_is_posted_is_carried_out() {
    let running = start();
    for request in [POST, PUT, ARRAY] {
        for before in [&b""[..], b"SET b 1\r\nGET b\r\n", b"MULTI\r\n"] {
            let mut client = Client::of(&running);
            client.send_bytes(&[before, request, b"EXEC\r\nSET a 2\r\n"].concat());
            // What came before is answered.
            let answers = before.split(|byte| *byte == b'\n').count() - 1 + usize::from(request == PUT);
            (0..answers).for_each(|_| drop(client.answer()));
            assert!(client.is_ended());
            assert_eq!(Client::of(&running).shown("GET a"), "nil", "{}", request.escape_ascii());
        }
    }
    assert_eq!(Client::of(&running).shown("GET b"), "'1'");
}

#[test]
fn the_connection_ends_also_before_authentication() {
    let running = start_with(Config { cores: 1, password: Some("secret".into()), ..Config::default() });
    let mut client = Client::of(&running);
    client.send_bytes(b"POST / HTTP/1.1\r\nAUTH secret\r\nSET a 1\r\n");
    assert!(client.is_ended());
    let mut client = Client::of(&running);
    client.ask("AUTH secret");
    assert_eq!(client.shown("GET a"), "nil");
    // Only the first word counts.
    assert_eq!(client.shown("SET POST host:"), "OK");
    assert_eq!(client.shown("POSTS"), "!ERR unknown command 'POSTS'");
}
