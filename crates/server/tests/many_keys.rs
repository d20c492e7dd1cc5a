//! Commands and transactions of very many keys: each takes effect as a whole.
#![allow(missing_docs)]

mod common;

use common::{Client, show, start};

fn keys(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| format!("k{number:06}").into_bytes()).collect()
}

/// Sends a command with all these words after its name: what is answered.
fn asked<'w>(client: &mut Client, name: &'w [u8], words: impl Iterator<Item = &'w [u8]>) -> String {
    client.send(&std::iter::once(name).chain(words).collect::<Vec<_>>());
    show(&client.answer())
}

fn all_in_one_command(count: usize) {
    let running = start();
    let (mut client, keys) = (Client::of(&running), keys(count));
    let pairs = || keys.iter().flat_map(|key| [&key[..], b"1"]);
    assert_eq!(asked(&mut client, b"MSET", pairs()), "OK");
    assert_eq!(client.shown("DBSIZE"), count.to_string());
    assert_eq!(asked(&mut client, b"EXISTS", keys.iter().map(|key| &key[..])), count.to_string());
    assert_eq!(asked(&mut client, b"MSETNX", pairs()), "0");
    assert_eq!(asked(&mut client, b"DEL", keys.iter().map(|key| &key[..])), count.to_string());
    assert_eq!(client.shown("DBSIZE"), "0");
    // A key that no pair can have, at the end: none is written.
    assert_ne!(asked(&mut client, b"MSET", pairs().chain([&b""[..], b"1"])), "OK");
    assert_eq!(client.shown("DBSIZE"), "0");
}

#[test]
fn a_hundred_thousand_keys_in_one_command() {
    all_in_one_command(100_000);
}

#[test]
fn half_a_million_keys_in_one_command() {
    all_in_one_command(500_000);
}

#[test]
fn a_hundred_thousand_keys_in_one_transaction() {
    let running = start();
    let (mut client, keys) = (Client::of(&running), keys(100_000));
    client.ask("MULTI");
    for some in keys.chunks(1000) {
        some.iter().for_each(|key| client.send(&[b"SET", key, b"1"]));
        some.iter().for_each(|_| assert_eq!(show(&client.answer()), "QUEUED"));
    }
    let answer = client.shown("EXEC");
    assert_eq!(answer.matches("OK").count(), keys.len(), "{}", &answer[..answer.len().min(200)]);
    assert_eq!(client.shown("DBSIZE"), keys.len().to_string());
}
