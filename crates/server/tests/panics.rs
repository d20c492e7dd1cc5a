//! A function of the embedding program that panics ends the command of a client with an error. The core goes
//! on.
#![allow(missing_docs)]

mod common;

use std::net::SocketAddr;
use std::sync::Arc;

use honeycomb_client::{
    Client as BatchClient, Config as ClientConfig, FunctionForm, Operation, RangeForm, RangeFunction,
    RangeTerm,
};
use honeycomb_server::{Config, Datagrams};
use honeycomb_store::Store;
use honeycomb_store::unordered::{Element, FIRST_REGISTERED, Functions};

use common::{Client, Running, dialogue, start_with_store};

const UPDATE: u32 = FIRST_REGISTERED;
const PREDICATE: u32 = FIRST_REGISTERED + 1;
const PANICKED: &str =
    "!ERR a function of the embedding program panicked: the error output of the server has the reason";

/// Starts a server of one core, with functions that panic. Database 1 is unordered.
fn start() -> Running {
    let mut functions = Functions::default();
    let update = functions.register_update(Element::U8, 1, Box::new(|_, _| panic!("the update fails")));
    let predicate =
        functions.register_predicate(Element::U8, 1, Box::new(|_, _| panic!("the predicate fails")));
    assert_eq!((update.unwrap(), predicate.unwrap()), (UPDATE, PREDICATE));
    let store = honeycomb_store::Config {
        memory_bytes: 32 << 20,
        functions: Arc::new(functions),
        ..honeycomb_store::Config::default()
    };
    let batch = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let datagrams = Datagrams { batch, ..Datagrams::default() };
    let config = Config { cores: 1, databases: 2, unordered: vec![1], datagrams, ..Config::default() };
    start_with_store(config, Store::open(store).unwrap())
}

#[test]
fn commands_whose_functions_panic_are_errors() {
    let running = start();
    let mut client = Client::connect(&running);
    for database in ["SELECT 0", "SELECT 1"] {
        let update = format!("KV.UPDATE k u8 {UPDATE} SCALAR 1");
        let transaction = format!("[OK {PANICKED} 'a']");
        dialogue(
            &mut client,
            &[
                (database, "OK"),
                ("SET k a", "OK"),
                (&update, PANICKED),
                (&format!("KV.UPDATE k u8 {UPDATE} EACH 1"), PANICKED),
                (&format!("KV.UPDATE k u8 {UPDATE} VECTOR x"), PANICKED),
                (&format!("KV.REDUCE k u8 {UPDATE} 0"), PANICKED),
                (&format!("KV.FILTER k u8 {PREDICATE} 0"), PANICKED),
                ("MULTI", "OK"),
                ("SET other b", "QUEUED"),
                (&update, "QUEUED"),
                ("GET k", "QUEUED"),
                ("EXEC", &transaction),
                ("MGET k other", "['a' 'b']"),
            ],
        );
    }
}

/// Each function takes a lease of a snapshot, which ends with it.
#[test]
fn functions_over_ranges_that_panic_keep_no_snapshot() {
    let running = start();
    let mut client = Client::connect(&running);
    // More than a page, so that the function is called before the end of the range.
    let pairs: Vec<_> = (0..3000).map(|number| format!("k{number} a")).collect();
    assert_eq!(client.reply_text(&format!("MSET {}", pairs.join(" "))), "OK");
    for _ in 0..100 {
        let reply = client.reply_text(&format!("RI.REDUCE - + u8 {UPDATE} 0"));
        assert!(reply.starts_with("!ERR") && reply.contains("panicked"), "{reply}");
    }
    assert_eq!(running.store.statistics().snapshots.count, 0);
    assert_eq!(client.reply_text("RI.COUNT - +"), "3000");
}

#[test]
fn datagrams_whose_functions_panic_fail() {
    let running = start();
    for table in [0, 1] {
        let config = ClientConfig { table, ..ClientConfig::default() };
        let mut client = BatchClient::connect(running.server.batch_address().unwrap(), config).unwrap();
        client.put(b"k", b"a").unwrap();
        let (update, predicate) = (UPDATE.try_into().unwrap(), PREDICATE.try_into().unwrap());
        let term = |function| RangeTerm { offset: 0, function, operands: b"a" };
        let count = RangeFunction { form: RangeForm::Count, conditions: vec![term(predicate)] }.bytes();
        let reduce = RangeFunction { form: RangeForm::Reduce(term(update)), conditions: Vec::new() }.bytes();
        let apply = |form, function| Operation::Function { key: b"k", form, function, operands: b"a" };
        let mut operations = vec![
            apply(FunctionForm::UpdateScalar, update),
            apply(FunctionForm::Reduce, update),
            apply(FunctionForm::Filter, predicate),
        ];
        let ranges =
            [&count, &reduce].map(|function| Operation::RangeFunction { from: b"", to: b"", function });
        operations.extend(ranges.into_iter().filter(|_| table == 0));
        for operation in operations {
            let mut outcome = String::new();
            client.call(&[operation], |_, got| outcome = format!("{got:?}")).unwrap();
            assert_eq!(outcome, "Failed", "{operation:?}");
        }
        assert_eq!(client.get(b"k").unwrap().unwrap(), b"a");
    }
    assert_eq!(running.store.statistics().snapshots.count, 0);
}

/// The function that stops the server is one of the embedding program, too.
#[test]
fn a_shutdown_whose_function_panics_is_an_error() {
    let running = start();
    running.server.on_shutdown(|| panic!("the function fails"));
    let mut client = Client::connect(&running);
    dialogue(&mut client, &[("SHUTDOWN", PANICKED), ("PING", "PONG")]);
}
