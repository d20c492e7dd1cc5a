//! Functions that the embedding program has registered, as clients call them: their results, functions
//! without operands, and types that differ from the registered ones.
#![allow(missing_docs)]

mod common;

use std::sync::Arc;

use honeycomb_protocol::resp::Reply;
use honeycomb_server::Config;
use honeycomb_store::Store;
use honeycomb_store::unordered::{Element, FIRST_REGISTERED, Functions};

use common::{Client, Running, dialogue, show, start_with_store};

/// An update without operands: twice the element.
const DOUBLE: u32 = FIRST_REGISTERED;
/// An update with one operand: the element times ten, and the operand.
const APPEND_DIGIT: u32 = FIRST_REGISTERED + 1;
/// An update with three operands: the element and their sum.
const ADD_THREE: u32 = FIRST_REGISTERED + 2;
/// A predicate without operands: whether the element is odd.
const ODD: u32 = FIRST_REGISTERED + 3;
/// A predicate with one operand, of signed numbers: whether the element is less.
const BELOW: u32 = FIRST_REGISTERED + 4;

/// Starts a server of one core with these functions. Database 1 is unordered.
fn start() -> Running {
    let mut functions = Functions::default();
    let double = functions.register_update(Element::U16, 0, Box::new(|it, _| 2 * it));
    let append = functions.register_update(Element::U16, 1, Box::new(|it, by| 10 * it + by[0]));
    let three = functions.register_update(Element::U16, 3, Box::new(|it, by| it + by.iter().sum::<u64>()));
    let odd = functions.register_predicate(Element::U16, 0, Box::new(|it, _| it % 2 == 1));
    let below = |it: u64, by: &[u64]| (it as u16).cast_signed() < (by[0] as u16).cast_signed();
    let below = functions.register_predicate(Element::I16, 1, Box::new(below));
    let numbers = [double, append, three, odd, below].map(Result::unwrap);
    assert_eq!(numbers, [DOUBLE, APPEND_DIGIT, ADD_THREE, ODD, BELOW]);
    let store = honeycomb_store::Config {
        memory_bytes: 32 << 20,
        functions: Arc::new(functions),
        ..honeycomb_store::Config::default()
    };
    let config = Config { cores: 1, databases: 2, unordered: vec![1], ..Config::default() };
    start_with_store(config, Store::open(store).unwrap())
}

fn bytes(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn set(client: &mut Client, key: &str, numbers: &[u16]) {
    client.send(&[b"SET", key.as_bytes(), &bytes(numbers)]);
    assert_eq!(show(&client.receive()), "OK");
}

#[test]
fn updates_change_values() {
    let running = start();
    let mut client = Client::connect(&running);
    for database in ["SELECT 0", "SELECT 1"] {
        client.reply_to(database);
        set(&mut client, "k", &[4]);
        for (arguments, result) in [
            (format!("{DOUBLE} SCALAR"), 8),
            (format!("{DOUBLE} EACH"), 16),
            (format!("{APPEND_DIGIT} SCALAR 5"), 165),
            (format!("{ADD_THREE} EACH 1 20 300"), 486),
        ] {
            let before = client.reply_to("GET k");
            assert_eq!(client.reply_to(&format!("KV.UPDATE k u16 {arguments}")), before, "{arguments}");
            assert_eq!(client.reply_to("GET k"), Reply::Bulk(bytes(&[result])), "{arguments}");
        }
        set(&mut client, "v", &[1, 2, 3]);
        client.reply_to(&format!("KV.UPDATE v u16 {DOUBLE} EACH"));
        assert_eq!(client.reply_to("GET v"), Reply::Bulk(bytes(&[2, 4, 6])));
        let (number, vector) = (APPEND_DIGIT.to_string(), bytes(&[7, 8, 9]));
        client.send(&[b"KV.UPDATE", b"v", b"u16", number.as_bytes(), b"VECTOR", &vector]);
        assert_eq!(client.receive(), Reply::Bulk(bytes(&[2, 4, 6])));
        assert_eq!(client.reply_to("GET v"), Reply::Bulk(bytes(&[27, 48, 69])));
        // The function applies to the sum and the element, from the first element on.
        set(&mut client, "digits", &[1, 2, 3]);
        assert_eq!(client.reply_text(&format!("KV.REDUCE digits u16 {APPEND_DIGIT} 4")), "'4123'");
    }
}

#[test]
fn predicates_without_operands_filter_values_and_ranges() {
    let running = start();
    let mut client = Client::connect(&running);
    for database in ["SELECT 1", "SELECT 0"] {
        client.reply_to(database);
        set(&mut client, "v", &[1, 2, 3, 5, 8]);
        let filtered = client.reply_to(&format!("KV.FILTER v u16 {ODD}"));
        assert_eq!(filtered, Reply::Bulk(bytes(&[1, 3, 5])));
    }
    client.reply_to("DEL v");
    for number in 0..10_u16 {
        set(&mut client, &format!("k{number}"), &[number, number / 3]);
    }
    // The first elements 0 to 9, the second ones 0 0 0 1 1 1 2 2 2 3.
    let keys = |reply: Reply| -> String {
        let Reply::Array(items) = reply else { panic!("{reply:?}") };
        items.iter().step_by(2).map(|key| show(key).trim_matches('\'').replace('k', "")).collect()
    };
    let odd = format!("u16 {ODD}");
    assert_eq!(client.reply_text(&format!("RI.COUNT - + WHERE 2 {odd}")), "4");
    assert_eq!(client.reply_text(&format!("RI.COUNT - + WHERE 0 {odd} WHERE 2 {odd}")), "3");
    assert_eq!(client.reply_text(&format!("RI.COUNT - + WHERE 0 {odd} WHERE 0 i16 {BELOW} 4")), "2");
    let filtered = client.reply_to(&format!("RI.FILTER - + 9 WHERE 2 {odd}"));
    assert_eq!(keys(filtered), "3459");
    assert_eq!(keys(client.reply_to(&format!("RI.TOP - + 2 u16 WHERE 0 {odd}"))), "97");
    let reduced = client.reply_text(&format!("RI.REDUCE - + u16 {APPEND_DIGIT} 0 OFFSET 2 WHERE 0 {odd}"));
    assert_eq!(reduced, "'1123'");
    let reduced = client.reply_text(&format!("RI.REDUCE - + u16 add 0 WHERE 2 {odd} OFFSET 0"));
    assert_eq!(reduced, "'21'");
}

/// Also for a type of the same width, whose elements the function would take for those of its own.
#[test]
fn types_of_registered_functions_are_checked() {
    let running = start();
    let mut client = Client::connect(&running);
    for database in ["SELECT 1", "SELECT 0"] {
        client.reply_to(database);
        set(&mut client, "k", &[4]);
        let error = |number: u32, registered: &str, named: &str| {
            format!("!ERR function {number} has elements of the type {registered}, not {named}")
        };
        dialogue(
            &mut client,
            &[
                (&format!("KV.UPDATE k i16 {DOUBLE} SCALAR"), &error(DOUBLE, "u16", "i16")),
                (&format!("KV.UPDATE k u32 {DOUBLE} EACH"), &error(DOUBLE, "u16", "u32")),
                (&format!("KV.REDUCE k i16 {APPEND_DIGIT} 0"), &error(APPEND_DIGIT, "u16", "i16")),
                (&format!("KV.FILTER k i16 {ODD}"), &error(ODD, "u16", "i16")),
                (&format!("KV.FILTER k u16 {BELOW} 9"), &error(BELOW, "i16", "u16")),
                ("KV.FILTER k u16 1029", "!ERR no function has the number 1029"),
                ("MULTI", "OK"),
                (&format!("KV.UPDATE k i16 {DOUBLE} SCALAR"), "QUEUED"),
                (&format!("KV.UPDATE k u16 {DOUBLE} SCALAR"), "QUEUED"),
                ("EXEC", &format!("[{} '\\x04\\x00']", error(DOUBLE, "u16", "i16"))),
            ],
        );
        assert_eq!(client.reply_to("GET k"), Reply::Bulk(bytes(&[8])));
    }
    let error = |number: u32, registered: &str, named: &str| {
        format!("!ERR function {number} has elements of the type {registered}, not {named}")
    };
    dialogue(
        &mut client,
        &[
            (&format!("RI.COUNT - + WHERE 0 i16 {ODD}"), &error(ODD, "u16", "i16")),
            (&format!("RI.FILTER - + 1 WHERE 0 f32 {ODD}"), &error(ODD, "u16", "f32")),
            (&format!("RI.TOP - + 1 u8 WHERE 0 u16 {BELOW} 1"), &error(BELOW, "i16", "u16")),
            (&format!("RI.REDUCE - + i16 {APPEND_DIGIT} 0"), &error(APPEND_DIGIT, "u16", "i16")),
        ],
    );
}

#[test]
fn numbers_of_operands_are_checked() {
    let running = start();
    let mut client = Client::connect(&running);
    set(&mut client, "k", &[4]);
    for line in [
        format!("KV.UPDATE k u16 {DOUBLE} SCALAR 1"),
        format!("KV.UPDATE k u16 {APPEND_DIGIT} SCALAR"),
        format!("KV.UPDATE k u16 {ADD_THREE} EACH 1 2"),
        format!("KV.FILTER k u16 {ODD} 1"),
        format!("KV.FILTER k i16 {BELOW}"),
        format!("RI.COUNT - + WHERE 0 u16 {ODD} 1"),
        format!("RI.COUNT - + WHERE 0 i16 {BELOW}"),
        format!("RI.FILTER - + 1 WHERE 0 i16 {BELOW}"),
    ] {
        let error = client.reply_text(&line);
        assert!(error.starts_with("!ERR operands of"), "{line}: {error}");
    }
    let reduced = client.reply_text(&format!("KV.REDUCE k u16 {DOUBLE} 0"));
    assert!(reduced.contains("must have 1 for a vector or a reduction"), "{reduced}");
    assert_eq!(client.reply_to("GET k"), Reply::Bulk(bytes(&[4])));
}
