//! Commands and transactions with very many keys are atomic.
#![allow(missing_docs)]

mod common;

use common::{Client, show, start};

fn keys(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| format!("k{number:06}").into_bytes()).collect()
}

/// Sends a command with these arguments and returns the reply.
fn reply_to_words<'w>(client: &mut Client, name: &'w [u8], words: impl Iterator<Item = &'w [u8]>) -> String {
    client.send(&std::iter::once(name).chain(words).collect::<Vec<_>>());
    show(&client.receive())
}

fn all_in_one_command(count: usize) {
    let running = start();
    let (mut client, keys) = (Client::connect(&running), keys(count));
    let pairs = || keys.iter().flat_map(|key| [&key[..], b"1"]);
    assert_eq!(reply_to_words(&mut client, b"MSET", pairs()), "OK");
    assert_eq!(client.reply_text("DBSIZE"), count.to_string());
    assert_eq!(reply_to_words(&mut client, b"EXISTS", keys.iter().map(|key| &key[..])), count.to_string());
    assert_eq!(reply_to_words(&mut client, b"MSETNX", pairs()), "0");
    assert_eq!(reply_to_words(&mut client, b"DEL", keys.iter().map(|key| &key[..])), count.to_string());
    assert_eq!(client.reply_text("DBSIZE"), "0");
    // An invalid key at the end: the command writes no pair.
    assert_ne!(reply_to_words(&mut client, b"MSET", pairs().chain([&b""[..], b"1"])), "OK");
    assert_eq!(client.reply_text("DBSIZE"), "0");
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
    let (mut client, keys) = (Client::connect(&running), keys(100_000));
    client.reply_to("MULTI");
    for chunk in keys.chunks(1000) {
        chunk.iter().for_each(|key| client.send(&[b"SET", key, b"1"]));
        chunk.iter().for_each(|_| assert_eq!(show(&client.receive()), "QUEUED"));
    }
    let answer = client.reply_text("EXEC");
    assert_eq!(answer.matches("OK").count(), keys.len(), "{}", &answer[..answer.len().min(200)]);
    assert_eq!(client.reply_text("DBSIZE"), keys.len().to_string());
}
