//! A client of batch datagrams: `cargo run -p honeycomb-client --example fruit -- 127.0.0.1:6380`, while
//! `honeycomb serve --batch 127.0.0.1:6380` runs.

use std::error::Error;
use std::time::Duration;

use honeycomb_client::{Client, Config, Operation, Outcome};

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("usage: fruit ADDRESS:PORT")?;
    let mut client = Client::connect(address.parse()?, Config::default())?;

    // One operation and its outcome.
    client.put(b"apple", b"red")?;
    println!("insert of an apple: {}", client.insert(b"apple", b"green")?);

    // Many operations in a few datagrams, waiting for all outcomes.
    let colours = [("pear", "green"), ("plum", "blue"), ("quince", "yellow")];
    let puts = colours.map(|(key, value)| Operation::Put { key: key.as_bytes(), value: value.as_bytes() });
    client.call(&puts, |index, outcome| println!("put of a {}: {outcome:?}", colours[index].0))?;

    // Many operations without waiting: a datagram is sent when it is full or after a short delay. Outcomes
    // arrive in any order.
    for key in ["apple", "cherry"] {
        client.submit(&Operation::Get(key.as_bytes()))?.ok_or("too many requests in flight")?;
    }
    let from_p = Operation::Range { from: b"p", pairs_max: 2, floor_start: false, backward: false };
    client.submit(&from_p)?.ok_or("too many requests in flight")?;
    while client.outstanding() > 0 {
        client.poll(Duration::from_secs(1), |ticket, outcome| match outcome {
            Outcome::Value(value) => println!("{ticket:?}: {}", String::from_utf8_lossy(value)),
            Outcome::Pairs { pairs, more } => println!("{ticket:?}: {} pairs, more: {more}", pairs.len()),
            other => println!("{ticket:?}: {other:?}"),
        })?;
    }
    Ok(())
}
