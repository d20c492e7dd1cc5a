//! HTTP requests sent to the port for Redis clients, for example by a browser.
#![allow(missing_docs)]

mod common;

use honeycomb_server::Config;

use common::{Client, start, start_with};

const POST: &[u8] = b"POST / HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nSET a 1\r\n";
const PUT: &[u8] = b"PUT / HTTP/1.1\r\nhost: bees:6379\r\nContent-Length: 9\r\n\r\nSET a 1\r\n";
const ARRAY: &[u8] = b"*1\r\n$4\r\nPost\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n";

#[test]
fn commands_in_http_requests_are_not_executed() {
    let running = start();
    for request in [POST, PUT, ARRAY] {
        for before in [&b""[..], b"SET b 1\r\nGET b\r\n", b"MULTI\r\n"] {
            let mut client = Client::connect(&running);
            client.send_bytes(&[before, request, b"EXEC\r\nSET a 2\r\n"].concat());
            // Earlier commands are answered.
            let answers = before.split(|byte| *byte == b'\n').count() - 1 + usize::from(request == PUT);
            (0..answers).for_each(|_| drop(client.receive()));
            assert!(client.is_closed());
            assert_eq!(Client::connect(&running).reply_text("GET a"), "nil", "{}", request.escape_ascii());
        }
    }
    assert_eq!(Client::connect(&running).reply_text("GET b"), "'1'");
}

#[test]
fn http_closes_the_connection_before_authentication_too() {
    let running = start_with(Config { cores: 1, password: Some("secret".into()), ..Config::default() });
    let mut client = Client::connect(&running);
    client.send_bytes(b"POST / HTTP/1.1\r\nAUTH secret\r\nSET a 1\r\n");
    assert!(client.is_closed());
    let mut client = Client::connect(&running);
    client.reply_to("AUTH secret");
    assert_eq!(client.reply_text("GET a"), "nil");
    // Only the first word counts.
    assert_eq!(client.reply_text("SET POST host:"), "OK");
    assert_eq!(client.reply_text("POSTS"), "!ERR unknown command 'POSTS'");
}
