//! A client of batch datagrams: `cargo run -p honeycomb-client --example fruit -- 127.0.0.1:6380`, while
//! `honeycomb serve --batch 127.0.0.1:6380` runs.

use std::error::Error;
use std::time::Duration;

use honeycomb_client::{Client, Config, Operation, Outcome};

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("where is the server? Say ADDRESS:PORT")?;
    let mut client = Client::connect(address.parse()?, Config::default())?;

    // One operation, and its answer.
    client.put(b"apple", b"red")?;
    println!("insert of an apple: {}", client.insert(b"apple", b"green")?);

    // Many in a packet or a few, and all answers.
    let colours = [("pear", "green"), ("plum", "blue"), ("quince", "yellow")];
    let puts = colours.map(|(key, value)| Operation::Put { key: key.as_bytes(), value: value.as_bytes() });
    client.call(&puts, |place, outcome| println!("put of a {}: {outcome:?}", colours[place].0))?;

    // Many, each sent when its packet is full or has waited long enough; answers as they come.
    for key in ["apple", "cherry"] {
        client.submit(&Operation::Get(key.as_bytes()))?.ok_or("too many on their way")?;
    }
    let from_p = Operation::Range { from: b"p", pairs_max: 2, floor_start: false, backward: false };
    client.submit(&from_p)?.ok_or("too many on their way")?;
    while client.outstanding() > 0 {
        client.poll(Duration::from_secs(1), |ticket, outcome| match outcome {
            Outcome::Value(value) => println!("{ticket:?}: {}", String::from_utf8_lossy(value)),
            Outcome::Pairs { pairs, more } => println!("{ticket:?}: {} pairs, more: {more}", pairs.len()),
            other => println!("{ticket:?}: {other:?}"),
        })?;
    }
    Ok(())
}
