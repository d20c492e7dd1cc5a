//! Reads through the simulated accelerator of `rtl/` return what clients have written.

use std::io::{Read, Write};
use std::net::TcpStream;

mod server_process;

use server_process::serve;

const PAIRS: usize = 300;

fn key(number: usize) -> String {
    format!("key:{number:05}")
}

fn value(number: usize) -> String {
    format!("value {}", number * number)
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

fn array(texts: &[String]) -> String {
    format!("*{}\r\n{}", texts.len(), texts.iter().map(|text| bulk(text)).collect::<String>())
}

/// Sends commands and checks the bytes of their replies.
fn expect(client: &mut TcpStream, commands: &str, expected: &str) {
    client.write_all(commands.as_bytes()).unwrap();
    let mut replies = vec![0; expected.len()];
    client.read_exact(&mut replies).unwrap();
    assert_eq!(String::from_utf8(replies).unwrap(), expected);
}

#[test]
fn reads_return_written_pairs() {
    let (mut server, address) = serve(&["--accelerator", "rtl"]);
    let mut client = TcpStream::connect(address).unwrap();
    let set = |number| format!("SET {} \"{}\"\r\n", key(number), value(number));
    expect(&mut client, &(0..PAIRS).map(set).collect::<String>(), &"+OK\r\n".repeat(PAIRS));
    expect(&mut client, &format!("DEL {}\r\nSET {} anew\r\n", key(7), key(8)), ":1\r\n+OK\r\n");
    let stored = |number| match number {
        7 | PAIRS => "$-1\r\n".to_owned(),
        8 => bulk("anew"),
        number => bulk(&value(number)),
    };
    for number in [0, 7, 8, 150, PAIRS - 1, PAIRS] {
        expect(&mut client, &format!("GET {}\r\n", key(number)), &stored(number));
    }
    let range = "RI.RANGE [key:00006 + COUNT 4 FIELDS KEY\r\n";
    expect(&mut client, range, &array(&[6, 8, 9, 10].map(key)));
    let scan = format!("RI.SCAN {} REVERSE COUNT 1\r\n", key(PAIRS));
    expect(&mut client, &scan, &array(&[key(PAIRS - 1), value(PAIRS - 1)]));
    server.kill().unwrap();
    server.wait().unwrap();
}
