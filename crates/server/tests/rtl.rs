//! Reads through the simulated accelerator of `rtl/` return what clients have written.
#![allow(missing_docs)]

mod common;

use honeycomb_protocol::resp::Reply;
use honeycomb_server::{Accelerator, Config};

use common::{Client, start_with};

const PAIRS: usize = 300;

fn key(number: usize) -> Vec<u8> {
    format!("key:{number:05}").into_bytes()
}

fn value(number: usize) -> Vec<u8> {
    format!("value {}", number * number).into_bytes()
}

fn bulk(bytes: Vec<u8>) -> Reply {
    Reply::Bulk(bytes)
}

#[test]
fn reads_return_written_pairs() {
    let running = start_with(Config { cores: 1, accelerator: Accelerator::Rtl, ..Config::default() });
    let mut client = Client::connect(&running);
    for number in 0..PAIRS {
        client.send(&[b"SET", &key(number), &value(number)]);
    }
    client.send(&[b"DEL", &key(7)]);
    client.send(&[b"SET", &key(8), b"anew"]);
    for number in [0, 7, 8, 150, PAIRS - 1, PAIRS] {
        client.send(&[b"GET", &key(number)]);
    }
    let range: [&[u8]; 7] = [b"RI.RANGE", b"[key:00006", b"+", b"COUNT", b"4", b"FIELDS", b"KEY"];
    client.send(&range);
    client.send(&[b"RI.SCAN", &key(PAIRS), b"REVERSE", b"COUNT", b"1"]);
    for _ in 0..PAIRS {
        assert_eq!(client.receive(), Reply::Simple("OK".to_owned()));
    }
    assert_eq!(client.receive(), Reply::Integer(1));
    assert_eq!(client.receive(), Reply::Simple("OK".to_owned()));
    let expected = [value(0), vec![], b"anew".to_vec(), value(150), value(PAIRS - 1), vec![]];
    for value in expected {
        assert_eq!(client.receive(), if value.is_empty() { Reply::Null } else { bulk(value) });
    }
    assert_eq!(client.receive(), Reply::Array([6, 8, 9, 10].map(|number| bulk(key(number))).to_vec()));
    assert_eq!(client.receive(), Reply::Array(vec![bulk(key(PAIRS - 1)), bulk(value(PAIRS - 1))]));
}
