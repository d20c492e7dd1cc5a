//! Functions in batch datagrams, in databases of both kinds.
#![allow(missing_docs)]

mod common;

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use honeycomb_client::{
    Client, Config as ClientConfig, FunctionForm, Operation, Outcome, RangeForm, RangeFunction, RangeTerm,
};
use honeycomb_protocol::PAYLOAD_BYTES;
use honeycomb_protocol::batch::{Header, Item, Items, Kind, RequestDatagram};
use honeycomb_server::{Config, Datagrams};
use honeycomb_store::unordered::{BuiltIn, Element};

use common::{Client as RedisClient, Running, dialogue, start_with};

/// Database 1 is unordered.
fn start() -> Running {
    let batch = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let datagrams = Datagrams { batch, ..Datagrams::default() };
    start_with(Config { cores: 1, databases: 2, unordered: vec![1], datagrams, ..Config::default() })
}

fn client_of(running: &Running, table: u16) -> Client {
    let config = ClientConfig { table, ..ClientConfig::default() };
    Client::connect(running.server.batch_address().unwrap(), config).unwrap()
}

fn number(function: BuiltIn, element: Element) -> u16 {
    function.number(element).try_into().unwrap()
}

fn bytes(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn term(offset: u16, function: u16, operands: &[u8]) -> RangeTerm<'_> {
    RangeTerm { offset, function, operands }
}

/// The bytes of a reduction without conditions.
fn reduction(function: u16, operands: &[u8]) -> Vec<u8> {
    let form = RangeForm::Reduce(term(0, function, operands));
    RangeFunction { form, conditions: Vec::new() }.bytes()
}

fn outcome(client: &mut Client, operation: &Operation<'_>) -> String {
    let mut text = String::new();
    client.call(&[*operation], |_, outcome| text = format!("{outcome:?}")).unwrap();
    text
}

/// An update of a scalar returns its original, and is an event as other writes are.
#[test]
fn updates_have_keyspace_notifications() {
    let running = start();
    let (mut client, mut watcher) = (client_of(&running, 0), RedisClient::connect(&running));
    client.put(b"count", &5_u64.to_le_bytes()).unwrap();
    watcher.reply_to("CONFIG SET notify-keyspace-events EA");
    watcher.reply_to("PSUBSCRIBE *");
    let mut apply = |key: &[u8], form| {
        let add = number(BuiltIn::Add, Element::U64);
        client.apply(key, form, add, &3_u64.to_le_bytes()).unwrap()
    };
    assert_eq!(apply(b"absent", FunctionForm::UpdateScalar), None);
    apply(b"count", FunctionForm::Reduce);
    apply(b"count", FunctionForm::UpdateScalar);
    client.put(b"last", b"").unwrap();
    let event = |key| format!("['pmessage' '*' '__keyevent@0__:set' '{key}']");
    assert_eq!(common::show(&watcher.receive()), event("count"));
    assert_eq!(common::show(&watcher.receive()), event("last"));
}

#[test]
fn functions_return_originals_results_and_elements() {
    let running = start();
    for table in [0, 1] {
        let mut client = client_of(&running, table);
        let add = number(BuiltIn::Add, Element::U64);
        let three = 3_u64.to_le_bytes();
        assert_eq!(client.apply(b"count", FunctionForm::UpdateScalar, add, &three).unwrap(), None);
        client.put(b"count", &5_u64.to_le_bytes()).unwrap();
        let original = client.apply(b"count", FunctionForm::UpdateScalar, add, &three).unwrap();
        assert_eq!(original.unwrap(), 5_u64.to_le_bytes());
        assert_eq!(client.get(b"count").unwrap().unwrap(), 8_u64.to_le_bytes());

        let u16_of = |function| number(function, Element::U16);
        client.put(b"v", &bytes(&[1, 20, 300])).unwrap();
        let (each, vector) = (FunctionForm::UpdateVectorWithScalar, FunctionForm::UpdateVectorWithVector);
        let updated = client.apply(b"v", each, u16_of(BuiltIn::Add), &bytes(&[10])).unwrap();
        assert_eq!(updated.unwrap(), b"", "the original of a vector is not returned");
        client.apply(b"v", vector, u16_of(BuiltIn::Subtract), &bytes(&[1, 2, 3])).unwrap().unwrap();
        assert_eq!(client.get(b"v").unwrap().unwrap(), bytes(&[10, 28, 307]));
        let sum = client.apply(b"v", FunctionForm::Reduce, u16_of(BuiltIn::Add), &bytes(&[1])).unwrap();
        assert_eq!(sum.unwrap(), bytes(&[346]));
        let greater =
            client.apply(b"v", FunctionForm::Filter, u16_of(BuiltIn::Greater), &bytes(&[10])).unwrap();
        assert_eq!(greater.unwrap(), bytes(&[28, 307]));
    }
}

/// Many increments of one counter in one request: each sees the previous one.
#[test]
fn updates_of_one_key_execute_in_order() {
    let running = start();
    for table in [0, 1] {
        let mut client = client_of(&running, table);
        client.put(b"count", &[0; 8]).unwrap();
        let one = 1_u64.to_le_bytes();
        let (form, function) = (FunctionForm::UpdateScalar, number(BuiltIn::Add, Element::U64));
        let increment = Operation::Function { key: b"count", form, function, operands: &one };
        let mut originals = vec![Vec::new(); 100];
        let mut note = |index: usize, outcome: Outcome<'_>| match outcome {
            Outcome::Value(value) => originals[index] = value.to_vec(),
            other => panic!("{other:?}"),
        };
        client.call(&[increment; 100], &mut note).unwrap();
        let expected: Vec<Vec<u8>> = (0..100_u64).map(|count| count.to_le_bytes().to_vec()).collect();
        assert_eq!(originals, expected);
    }
}

#[test]
fn functions_that_are_not_applicable_change_nothing() {
    let running = start();
    for table in [0, 1] {
        let mut client = client_of(&running, table);
        client.put(b"k", &[7; 9]).unwrap();
        let (u64_add, u8_add) = (number(BuiltIn::Add, Element::U64), number(BuiltIn::Add, Element::U8));
        let cases: [(FunctionForm, u16, &[u8]); 8] = [
            (FunctionForm::UpdateScalar, u64_add, &[1; 8]),
            (FunctionForm::UpdateScalar, u8_add, &[1]),
            (FunctionForm::UpdateVectorWithScalar, u8_add, &[1; 2]),
            (FunctionForm::UpdateVectorWithVector, u8_add, &[1; 8]),
            (FunctionForm::Reduce, u8_add, &[]),
            (FunctionForm::Reduce, number(BuiltIn::Less, Element::U8), &[1]),
            (FunctionForm::Filter, u8_add, &[1]),
            (FunctionForm::UpdateVectorWithScalar, u16::MAX, &[1]),
        ];
        for (form, function, operands) in cases {
            let operation = Operation::Function { key: b"k", form, function, operands };
            assert_eq!(outcome(&mut client, &operation), "NotApplicable", "{operation:?}");
            let no_key = Operation::Function { key: b"", form, function, operands };
            assert_eq!(outcome(&mut client, &no_key), "KeyLength", "{operation:?}");
        }
        assert_eq!(client.get(b"k").unwrap().unwrap(), [7; 9]);
    }
}

#[test]
fn values_have_at_most_64_kib() {
    let running = start();
    for table in [0, 1] {
        let (mut client, mut redis) = (client_of(&running, table), RedisClient::connect(&running));
        redis.reply_text(&format!("SELECT {table}"));
        for (length, allowed) in [((64 << 10) - 1, true), (64 << 10, true), ((64 << 10) + 1, false)] {
            redis.reply_text("DEL k");
            redis.reply_text(&format!("SETRANGE k {} x", length - 1));
            let of = |form| Operation::Function {
                key: b"k",
                form,
                function: number(BuiltIn::Maximum, Element::U8),
                operands: &[9],
            };
            let reduced = outcome(&mut client, &of(FunctionForm::Reduce));
            assert_eq!(reduced, if allowed { "Value([120])" } else { "TooLarge" }, "{length}");
            let updated = outcome(&mut client, &of(FunctionForm::UpdateVectorWithScalar));
            assert_eq!(updated, if allowed { "Done" } else { "TooLarge" }, "{length}");
            let first = redis.reply_text("GETRANGE k 0 0");
            assert_eq!(first == "'\\t'", allowed, "{length}: {first}");
        }
    }
}

#[test]
fn pairs_keep_their_deadlines() {
    let running = start();
    for table in [0, 1] {
        let (mut client, mut redis) = (client_of(&running, table), RedisClient::connect(&running));
        dialogue(&mut redis, &[(&format!("SELECT {table}"), "OK"), ("SET k a PX 50", "OK")]);
        let (each, or) = (FunctionForm::UpdateVectorWithScalar, number(BuiltIn::Or, Element::U8));
        assert!(client.apply(b"k", each, or, b"\x02").unwrap().is_some());
        dialogue(&mut redis, &[("GET k", "'c'"), ("PTTL k", "50")]);
        running.time.advance(51);
        assert_eq!(client.apply(b"k", each, or, b"\x02").unwrap(), None);
    }
}

/// A repeated request returns the originals of the first execution.
#[test]
fn a_repeated_update_is_answered_but_not_executed_again() {
    let running = start();
    let (socket, server) = (UdpSocket::bind("127.0.0.1:0").unwrap(), running.server.batch_address().unwrap());
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let answer = |datagram: &[u8]| {
        let mut buffer = vec![0; 1 << 16];
        socket.send_to(datagram, server).unwrap();
        let length = socket.recv(&mut buffer).unwrap();
        buffer.truncate(length);
        buffer
    };
    let header = |datagram: &[u8]| Header::parse(&answer(datagram)).unwrap().0;
    let token = header(&Header::of(Kind::Hello).bytes()).identifier;
    let session = header(&Header { identifier: token, ..Header::of(Kind::Hello) }.bytes()).session;
    client_of(&running, 0).put(b"short", &[1]).unwrap();
    client_of(&running, 0).put(b"long", &1_u64.to_le_bytes()).unwrap();
    let request = |attempt| {
        let mut requests = RequestDatagram::new(PAYLOAD_BYTES);
        for (key, element) in [(&b"short"[..], Element::U8), (b"long", Element::U64), (b"none", Element::U8)]
        {
            let operands = &1_u64.to_le_bytes()[..element.bytes()];
            let (form, function) = (FunctionForm::UpdateScalar, number(BuiltIn::Add, element));
            assert!(requests.push(&Operation::Function { key, form, function, operands }));
        }
        assert!(requests.push(&Operation::Get(b"short")));
        let header = Header { session, identifier: 1, attempt, ..Header::of(Kind::Request) };
        requests.datagram(header).to_vec()
    };
    for (attempt, read) in [(1, 1), (2, 2), (3, 2)] {
        let answer = answer(&request(attempt));
        let (header, rest) = Header::parse(&answer).unwrap();
        let items: Vec<Item<'_>> = Items::new(header.count, rest).collect::<Result<_, _>>().unwrap();
        let one = 1_u64.to_le_bytes();
        let expected = [Item::Found(&[1]), Item::Found(&one), Item::Absent, Item::Found(&[read])];
        assert_eq!(items, expected, "attempt {attempt}");
    }
}

/// Sums, counts, and filters with many and with few matching pairs, of ranges that one operation does not
/// visit as a whole, beside loops.
#[test]
fn functions_of_ranges_agree_with_loops() {
    const PAIRS: u32 = 50_000;
    let running = start();
    let mut client = client_of(&running, 0);
    let key = |number: u32| [&b"k"[..], &number.to_be_bytes()].concat();
    let value = |number: u32| [&[number as u8, 9][..], &number.to_le_bytes()].concat();
    let pairs: Vec<_> = (0..PAIRS).map(|number| (key(number), value(number))).collect();
    let puts: Vec<_> = pairs.iter().map(|(key, value)| Operation::Put { key, value }).collect();
    client.call(&puts, |_, outcome| assert_eq!(outcome, Outcome::Done)).unwrap();
    client.put(b"z", b"short").unwrap();
    let (add, least) = (number(BuiltIn::Add, Element::U32), number(BuiltIn::Minimum, Element::U32));
    let [greater, equal] = [BuiltIn::Greater, BuiltIn::Equal].map(|function| number(function, Element::U8));
    let five = 5_u32.to_le_bytes();
    for (from, to) in [(0, PAIRS), (17, 18), (1000, 1000), (30_000, 49_999)] {
        let sum = (from..to).fold(5_u32, u32::wrapping_add);
        let range = (&key(from)[..], &key(to)[..]);
        let fold = term(2, add, &five);
        assert_eq!(client.reduce_range(range, fold, &[]).unwrap(), sum.to_le_bytes());
        assert_eq!(client.count_range(range, &[]).unwrap(), u64::from(to - from));
        for bound in [100, 254, 255] {
            let mut found = Vec::new();
            let note = |key: &[u8], value: &[u8]| found.push((key.to_vec(), value.to_vec()));
            let operands = [bound];
            let (above, nine) = (term(0, greater, &operands), term(1, equal, &[9]));
            client.filter_range(range, &[above, nine], note).unwrap();
            let expected = &pairs[from as usize..to as usize];
            let mut expected = expected.iter().filter(|(_, value)| value[0] > bound);
            assert!(found.iter().eq(expected.by_ref()), "{from}..{to} above {bound}");
            assert_eq!(client.count_range(range, &[above, nine]).unwrap(), found.len() as u64);
            assert_eq!(client.count_range(range, &[above, term(1, equal, &[8])]).unwrap(), 0);
            let numbers = (from..to).filter(|number| *number as u8 > bound);
            let sum = numbers.fold(5_u32, u32::wrapping_add).to_le_bytes();
            assert_eq!(client.reduce_range(range, fold, &[nine, above]).unwrap(), sum);
        }
    }
    let nine = 9_u32.to_le_bytes();
    let all = client.reduce_range((b"", b""), term(2, least, &nine), &[]).unwrap();
    assert_eq!(all, 0_u32.to_le_bytes());
    assert_eq!(client.reduce_range((&key(PAIRS), b""), term(2, add, &[1; 4]), &[]).unwrap(), [1; 4]);
}

#[test]
fn functions_of_ranges_see_living_pairs_before_the_writes_of_their_packet() {
    let running = start();
    let (mut client, mut redis) = (client_of(&running, 0), RedisClient::connect(&running));
    dialogue(&mut redis, &[("SET a \x01 PX 50", "OK"), ("SET b \x02", "OK")]);
    let function = reduction(number(BuiltIn::Add, Element::U8), &[0]);
    let sum = Operation::RangeFunction { from: b"", to: b"", function: &function };
    let mut texts = Vec::new();
    client
        .call(&[Operation::Put { key: b"c", value: &[9] }, sum], |_, it| texts.push(format!("{it:?}")))
        .unwrap();
    let pair = |sum: u8| format!("Pairs {{ pairs: [([], [{sum}])], more: false }}");
    assert_eq!(texts, ["Done", &pair(3)]);
    running.time.advance(51);
    assert_eq!(outcome(&mut client, &sum), pair(11));
}

#[test]
fn invalid_functions_of_ranges() {
    let running = start();
    let (add, less) = (number(BuiltIn::Add, Element::U8), number(BuiltIn::Less, Element::U8));
    let with = |form, condition| RangeFunction { form, conditions: vec![condition] }.bytes();
    let cases = [
        b"".to_vec(),
        b"\x09".to_vec(),
        b"\x03".to_vec(),
        [&reduction(add, b"\0")[..], b"\0"].concat(),
        reduction(add, b""),
        reduction(less, b"\0"),
        with(RangeForm::Reduce(term(0, add, b"\0")), term(0, add, b"\0")),
        with(RangeForm::Filter, term(0, add, b"\0")),
        with(RangeForm::Count, term(0, less, b"\0\0")),
    ];
    for function in cases {
        let operation = Operation::RangeFunction { from: b"", to: b"", function: &function };
        assert_eq!(outcome(&mut client_of(&running, 0), &operation), "NotApplicable", "{operation:?}");
        assert_eq!(outcome(&mut client_of(&running, 1), &operation), "Failed", "{operation:?}");
    }
}

#[test]
fn functions_of_ranges_have_at_most_eight_conditions() {
    let running = start();
    let mut client = client_of(&running, 0);
    client.put(b"a", &[7]).unwrap();
    let condition = term(0, number(BuiltIn::Less, Element::U8), &[9]);
    for (conditions, allowed) in [(7, true), (8, true), (9, false)] {
        let conditions = vec![condition; conditions];
        let count = client.count_range((b"", b""), &conditions);
        assert_eq!(count.ok(), allowed.then_some(1), "{}", conditions.len());
    }
}

/// A packet has at most 16 functions over ranges, which visit at most 16 pages together. Others have no room.
#[test]
fn functions_of_ranges_are_bounded_in_a_packet() {
    let running = start();
    let mut client = client_of(&running, 0);
    let keys: Vec<_> = (0..20_000_u32).map(u32::to_be_bytes).collect();
    let puts: Vec<_> = keys.iter().map(|key| Operation::Put { key, value: &[1, 0] }).collect();
    client.call(&puts, |_, outcome| assert_eq!(outcome, Outcome::Done)).unwrap();
    let function = reduction(number(BuiltIn::Add, Element::U16), &[0; 2]);
    let count = Operation::RangeFunction { from: b"", to: b"", function: &function };
    for (operations, pages) in [(1, 16), (2, 8), (5, 3), (16, 1), (20, 1)] {
        let mut counts = vec![None; operations];
        let note = |index: usize, outcome: Outcome<'_>| match outcome {
            Outcome::Part { pairs: [(b"", sum)], last } => {
                let last = u32::from_be_bytes(last.try_into().unwrap());
                counts[index] = Some((u16::from_le_bytes((*sum).try_into().unwrap()), last + 1));
            }
            other => assert_eq!(other, Outcome::NoRoom),
        };
        client.call(&vec![count; operations], note).unwrap();
        let expected = |index| (index < 16).then_some((pages * 1024, u32::from(pages) * 1024));
        assert_eq!(counts, (0..operations).map(expected).collect::<Vec<_>>());
    }
}

/// A value that no datagram can have is read only if a write replaces or deletes it.
#[test]
fn operations_on_long_values_have_their_outcomes() {
    let running = start();
    let mut redis = RedisClient::connect(&running);
    let long = vec![b'v'; (4 << 20) + 1];
    let one = [1];
    let function = number(BuiltIn::Add, Element::U8);
    let of = |form| Operation::Function { key: b"long", form, function, operands: &one };
    for table in [0, 1] {
        assert_eq!(redis.reply_text(&format!("SELECT {table}")), "OK");
        let mut client = client_of(&running, table);
        for last in [Operation::Update { key: b"long", value: b"short" }, Operation::Delete(b"long")] {
            redis.send(&[b"SET", b"long", &long]);
            assert_eq!(common::show(&redis.receive()), "OK");
            let cases = [
                (Operation::Get(b"long"), "TooLarge"),
                (of(FunctionForm::Reduce), "TooLarge"),
                (of(FunctionForm::UpdateScalar), "TooLarge"),
                (Operation::Insert { key: b"long", value: b"new" }, "Exists"),
                (Operation::CompareAndSwap { key: b"long", expected: b"v", value: b"new" }, "Differs"),
            ];
            for (operation, expected) in cases {
                assert_eq!(outcome(&mut client, &operation), expected, "table {table}");
            }
            assert_eq!(outcome(&mut client, &last), "Done", "table {table}");
        }
        assert_eq!(redis.reply_text("EXISTS long"), "0");
        assert_eq!(outcome(&mut client, &Operation::Insert { key: b"long", value: b"short" }), "Done");
        assert_eq!(redis.reply_text("DEL long"), "1");
    }
}

/// Each range reads its first pair, which may be long, so the ranges of a request together have a limit.
#[test]
fn ranges_of_long_values_end_with_no_room() {
    let running = start();
    let (mut redis, mut client) = (RedisClient::connect(&running), client_of(&running, 0));
    let range = Operation::Range { from: b"", pairs_max: 1, floor_start: false, backward: false };
    let mut outcomes_with = |bytes: usize| {
        redis.send(&[b"SET", b"long", &vec![b'v'; bytes]]);
        assert_eq!(common::show(&redis.receive()), "OK");
        let mut outcomes = vec![String::new(); 4];
        client.call(&[range; 4], |index, outcome| outcomes[index] = format!("{outcome:?}")).unwrap();
        outcomes
    };
    // The first range of a batch is read in it, however long its value is.
    assert_eq!(outcomes_with(1 << 19), ["TooLarge"; 4]);
    assert_eq!(outcomes_with(1 << 20), ["TooLarge", "TooLarge", "TooLarge", "NoRoom"]);
    assert_eq!(outcomes_with((1 << 20) + 1), ["TooLarge", "TooLarge", "NoRoom", "NoRoom"]);
}

/// Each function would copy a long value, which its reply has no room for.
#[test]
fn long_answers_of_functions_of_ranges_end_with_no_room() {
    let running = start();
    let (mut client, mut redis) = (client_of(&running, 0), RedisClient::connect(&running));
    redis.send(&[b"SET", b"long", &vec![7; 1 << 20]]);
    redis.receive();
    let function = RangeFunction { form: RangeForm::Filter, conditions: Vec::new() }.bytes();
    let filter = Operation::RangeFunction { from: b"", to: b"", function: &function };
    let mut texts = Vec::new();
    client.call(&[filter; 3], |_, it| texts.push(format!("{it:?}"))).unwrap();
    assert_eq!(texts, ["TooLarge", "NoRoom", "NoRoom"]);
}
