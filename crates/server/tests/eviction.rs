//! Eviction: which pairs the server deletes when memory is full, and which writes it rejects.
#![allow(missing_docs)]

mod common;

use honeycomb_protocol::resp::{Reply, encode};
use honeycomb_server::{Config, Eviction, Policy};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use common::{Client, Running, dialogue, show, start_with_store};

const REJECTED: &str = "!OOM command not allowed when used memory > 'maxmemory'.";
const BATCH: usize = 100;

fn start(policy: Policy, memory_bytes: usize) -> Running {
    let eviction = Eviction { policy, ..Eviction::default() };
    let config = Config { cores: 1, memory_bytes, eviction, ..Config::default() };
    let store = config.open_store().unwrap();
    start_with_store(config, store)
}

/// Sends a `SET` with these options for each number, in batches. Returns how many the server rejected.
fn set(client: &mut Client, numbers: std::ops::Range<usize>, name: &str, options: &[&str]) -> usize {
    let mut rejected = 0;
    for first in numbers.clone().step_by(BATCH) {
        let numbers = first..(first + BATCH).min(numbers.end);
        let mut bytes = Vec::new();
        for number in numbers.clone() {
            let key = format!("{name}:{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut words = vec![&b"SET"[..], key.as_bytes(), &[b'v'; 200]];
            words.extend(options.iter().map(|option| option.as_bytes()));
            encode(&words, &mut bytes);
        }
        client.send_bytes(&bytes);
        rejected += numbers.filter(|_| matches!(client.receive(), Reply::Error(_))).count();
    }
    rejected
}

/// A write that is too large for the space that small writes leave.
fn long_set() -> String {
    format!("SET a {}", "v".repeat(20_000))
}

/// Counts the pairs with a name. During eviction a count may lose its snapshot because memory is short.
fn count(client: &mut Client, name: &str) -> u64 {
    for _ in 0..1000 {
        if let Reply::Integer(count) = client.reply_to(&format!("RI.COUNT [{name}: ({name};")) {
            return count as u64;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("RI.COUNT keeps failing")
}

fn info(client: &mut Client, field: &str) -> u64 {
    let text = client.reply_text("INFO");
    let rest = text.split(&format!("{field}:")).nth(1).unwrap_or_else(|| panic!("no {field} in {text}"));
    rest.split("\\r").next().unwrap().parse().unwrap()
}

#[test]
fn expired_pairs_are_deleted_before_a_write_is_rejected() {
    let running = start(Policy::NoEviction, 16 << 20);
    let mut client = Client::connect(&running);
    assert!(set(&mut client, 0..65_000, "old", &["PX", "1000"]) > 0, "the store is not full");
    assert_eq!(client.reply_text(&long_set()), REJECTED);
    // Rejected writes have left no entries in the index of deadlines.
    let entries = running.store.table(".deadlines").unwrap();
    assert_eq!(entries.pair_count(), client.reply_text("DBSIZE").parse::<u64>().unwrap());
    let remaining: usize = client.reply_text("DBSIZE").parse().unwrap();
    running.time.advance(1000);
    assert_eq!(set(&mut client, 0..remaining / 2, "new", &[]), 0);
    assert_eq!(info(&mut client, "evicted_keys"), 0);
}

#[test]
fn no_write_is_rejected_if_all_pairs_may_be_evicted() {
    for policy in [Policy::AllKeysLru, Policy::AllKeysLfu, Policy::AllKeysRandom] {
        let running = start(policy, 16 << 20);
        let mut client = Client::connect(&running);
        assert_eq!(set(&mut client, 0..150_000, "pair", &[]), 0, "{policy:?}");
        assert_eq!(set(&mut client, 0..20_000, "late", &["EX", "100"]), 0, "{policy:?}");
        let (evicted, remaining) =
            (info(&mut client, "evicted_keys"), client.reply_text("DBSIZE").parse::<u64>().unwrap());
        // More pairs may have been evicted between the two queries.
        assert!((169_000..=170_000).contains(&(evicted + remaining)), "{evicted} {remaining}");
        assert!(remaining > 10_000, "{policy:?}: {remaining} pairs remain");
        // The same is true for a command that reads and then writes, and for one that writes several pairs.
        for number in 0..2000 {
            let value = "v".repeat(2000);
            assert_eq!(client.reply_text(&format!("APPEND long{number} {value}")), "2000");
            assert_eq!(client.reply_text(&format!("MSET m{number} {value} n{number} {value}")), "OK");
        }
    }
}

/// A write for which its batch had no room executes alone, and its event is sent once.
#[test]
fn a_write_that_evicts_pairs_has_one_event() {
    let running = start(Policy::NoEviction, 4 << 20);
    let (mut client, mut watcher) = (Client::connect(&running), Client::connect(&running));
    assert!(set(&mut client, 0..20_000, "old", &[]) > 0, "the store is not full");
    client.reply_to("CONFIG SET notify-keyspace-events E$");
    client.reply_to("CONFIG SET maxmemory-policy allkeys-random");
    watcher.reply_to("SUBSCRIBE __keyevent@0__:set");
    assert_eq!(set(&mut client, 0..2000, "new", &[]), 0);
    client.reply_to("SET last 1");
    let events: Vec<_> = std::iter::repeat_with(|| show(&watcher.receive()))
        .take_while(|event| *event != "['message' '__keyevent@0__:set' 'last']")
        .collect();
    assert_eq!(events.len(), 2000);
}

#[test]
fn volatile_policies_evict_only_pairs_with_a_deadline() {
    for policy in [Policy::VolatileLru, Policy::VolatileLfu, Policy::VolatileRandom, Policy::VolatileTtl] {
        let running = start(policy, 16 << 20);
        let mut client = Client::connect(&running);
        assert_eq!(set(&mut client, 0..10_000, "lasting", &[]), 0);
        assert_eq!(set(&mut client, 0..60_000, "volatile", &["EX", "1000"]), 0, "{policy:?}");
        assert!(info(&mut client, "evicted_keys") > 10_000);
        assert_eq!(count(&mut client, "lasting"), 10_000);
        // Once no such pair is left, writes are rejected.
        assert!(set(&mut client, 10_000..62_000, "lasting", &[]) > 0);
        assert_eq!(client.reply_text(&long_set()), REJECTED);
        assert_eq!(count(&mut client, "volatile"), 0);
    }
}

#[test]
fn volatile_ttl_evicts_the_pair_that_expires_first() {
    let running = start(Policy::VolatileTtl, 16 << 20);
    let mut client = Client::connect(&running);
    for (name, seconds) in [("soon", "1000"), ("late", "2000"), ("soonest", "500")] {
        assert_eq!(set(&mut client, 0..10_000, name, &["EX", seconds]), 0);
    }
    while info(&mut client, "evicted_keys") < 5000 {
        assert_eq!(set(&mut client, 0..20_000, "more", &["EX", "3000"]), 0);
        running.time.advance(10);
        assert_eq!(set(&mut client, 20_000..30_000, "more", &["EX", "3000"]), 0);
    }
    let [soonest, soon, late] = ["soonest", "soon", "late"].map(|name| count(&mut client, name));
    assert!(soonest == 0 || soon == 10_000, "{soonest} {soon}");
    assert!(soon == 0 || late == 10_000, "{soon} {late}");
}

/// Returns the hit rate of a cache with this policy under a skewed workload.
fn hit_rate(policy: Policy) -> f64 {
    let running = start(policy, 4 << 20);
    let mut client = Client::connect(&running);
    let mut random = SmallRng::seed_from_u64(7);
    let (mut hits, mut reads) = (0, 0);
    for round in 0..1500 {
        // Ranks that approximate a Zipf distribution of exponent 1: their logarithm is uniform.
        let ranks: Vec<_> = (0..BATCH).map(|_| 200_000_f64.powf(random.random::<f64>()) as u64).collect();
        let key = |rank: &u64| format!("{:016x}", rank.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes();
        let mut bytes = Vec::new();
        ranks.iter().for_each(|rank| encode(&[&b"GET"[..], &key(rank)], &mut bytes));
        client.send_bytes(&bytes);
        let missing: Vec<_> = ranks.iter().filter(|_| client.receive() == Reply::Null).collect();
        if round >= 1000 {
            reads += BATCH;
            hits += BATCH - missing.len();
        }
        bytes.clear();
        missing.iter().for_each(|rank| encode(&[&b"SET"[..], &key(rank), &[b'v'; 300]], &mut bytes));
        client.send_bytes(&bytes);
        missing.iter().for_each(|_| assert_eq!(client.receive(), Reply::Simple("OK".to_owned())));
        running.time.advance(100);
    }
    hits as f64 / reads as f64
}

#[test]
fn lru_and_lfu_have_a_higher_hit_rate_than_random() {
    let [random, lru, lfu] = [Policy::AllKeysRandom, Policy::AllKeysLru, Policy::AllKeysLfu].map(hit_rate);
    println!("hit rates: random {random:.3}, least recently used {lru:.3}, least frequently used {lfu:.3}");
    assert!(lru > random + 0.02, "{lru} {random}");
    assert!(lfu > random + 0.02, "{lfu} {random}");
}

#[test]
fn idle_time_and_frequency_of_pairs() {
    let running = start(Policy::NoEviction, 16 << 20);
    let mut client = Client::connect(&running);
    running.time.advance(5000);
    dialogue(
        &mut client,
        &[("SET a 1", "OK"), ("SET b 1", "OK"), ("OBJECT IDLETIME a", "5"), ("GET b", "'1'")],
    );
    running.time.advance(3000);
    dialogue(
        &mut client,
        &[
            ("TTL b", "-1"),
            ("EXISTS b", "1"),
            ("TYPE b", "string"),
            ("OBJECT IDLETIME b", "3"),
            ("TOUCH b", "1"),
            ("OBJECT IDLETIME b", "0"),
            ("OBJECT IDLETIME c", "nil"),
        ],
    );
    assert!(
        client
            .reply_text("OBJECT FREQ a")
            .starts_with("!ERR An LFU maxmemory policy is not selected, access")
    );
    dialogue(
        &mut client,
        &[
            ("CONFIG SET maxmemory-policy allkeys-lfu", "OK"),
            ("CONFIG GET maxmemory-policy", "['maxmemory-policy' 'allkeys-lfu']"),
        ],
    );
    dialogue(&mut client, &[("SET a 1", "OK"), ("OBJECT FREQ a", "6"), ("OBJECT FREQ b", "0")]);
    assert!(
        client
            .reply_text("OBJECT IDLETIME a")
            .starts_with("!ERR An LFU maxmemory policy is selected, idle time")
    );
    let error = client.reply_text("CONFIG SET maxmemory-policy some");
    assert!(
        error.contains("maxmemory-policy') - maxmemory-policy is some: allowed are noeviction, allkeys-lru,"),
        "{error}"
    );
}

#[test]
fn writes_above_a_lowered_limit_are_rejected() {
    let running = start(Policy::NoEviction, 16 << 20);
    let mut client = Client::connect(&running);
    assert_eq!(set(&mut client, 0..20_000, "pair", &[]), 0);
    let aborted = REJECTED.replace("!", "!EXECABORT Transaction discarded because of: ");
    dialogue(
        &mut client,
        &[
            ("SET a 1", "OK"),
            ("CONFIG GET maxmemory", "['maxmemory' '16777216']"),
            (
                "CONFIG SET maxmemory 17mb",
                "!ERR maxmemory is 17825792: allowed are 1 to the bytes of memory, which are 16777216, and 0 \
                 for all of them",
            ),
            ("CONFIG SET maxmemory 2mb", "OK"),
            ("CONFIG GET maxmemory", "['maxmemory' '2097152']"),
            ("SET a 2", REJECTED),
            ("SET a 2 EX 10", REJECTED),
            ("APPEND a 2", REJECTED),
            ("INCR a", REJECTED),
            ("MSET a 2 b 2", REJECTED),
            ("COPY a b", REJECTED),
            ("GET a", "'1'"),
            ("EXPIRE a 100", "1"),
            ("PERSIST a", "1"),
            ("RENAME a b", "OK"),
            ("GETDEL b", "'1'"),
            ("MULTI", "OK"),
            ("SET a 1", REJECTED),
            ("EXEC", "!EXECABORT Transaction discarded because of previous errors."),
            ("CONFIG SET maxmemory 0", "OK"),
            ("MULTI", "OK"),
            ("SET a 1", "QUEUED"),
        ],
    );
    let mut other = Client::connect(&running);
    dialogue(&mut other, &[("CONFIG SET maxmemory 1", "OK"), ("MULTI", "OK"), ("GET a", "QUEUED")]);
    dialogue(&mut client, &[("EXEC", &aborted), ("EXEC", "!ERR EXEC without MULTI"), ("GET a", "nil")]);
    dialogue(&mut other, &[("EXEC", "[nil]"), ("MULTI", "OK"), ("DISCARD", "OK")]);
    dialogue(&mut other, &[("CONFIG SET maxmemory 4mb", "OK"), ("SET a 1", REJECTED), ("FLUSHALL", "OK")]);
    assert_eq!(info(&mut client, "maxmemory"), 4 << 20);
    // The memory is reclaimed once no operation reads it.
    while client.reply_text("SET a 1") == REJECTED {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(set(&mut client, 0..40_000, "pair", &[]) > 10_000);
    assert!(info(&mut client, "used_memory_dataset") <= (4 << 20) + (1 << 20));
}

#[test]
fn pairs_are_evicted_at_a_lowered_limit() {
    for policy in [Policy::AllKeysLru, Policy::AllKeysLfu, Policy::AllKeysRandom, Policy::VolatileTtl] {
        let running = start(policy, 32 << 20);
        let mut client = Client::connect(&running);
        client.reply_to("CONFIG SET maxmemory 8mb");
        assert_eq!(set(&mut client, 0..80_000, "pair", &["EX", "1000"]), 0, "{policy:?}");
        let (used, remaining) = (info(&mut client, "used_memory_dataset"), count(&mut client, "pair"));
        assert!(used <= 9 << 20 && remaining > 10_000, "{policy:?} {used} {remaining}");
        // A lower limit takes effect without a write.
        client.reply_to("CONFIG SET maxmemory 4mb");
        let began = std::time::Instant::now();
        while info(&mut client, "used_memory_dataset") > 4 << 20 {
            assert!(began.elapsed().as_secs() < 20, "{policy:?}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(count(&mut client, "pair") > 3000, "{policy:?}");
    }
}

#[test]
fn lookups_of_a_no_touch_client_do_not_update_access_statistics() {
    let running = start(Policy::NoEviction, 16 << 20);
    let (mut client, mut watcher) = (Client::connect(&running), Client::connect(&running));
    dialogue(
        &mut client,
        &[("SET a 1", "OK"), ("OBJECT IDLETIME a", "0"), ("GET a", "'1'"), ("CLIENT NO-TOUCH ON", "OK")],
    );
    running.time.advance(3000);
    for line in ["GET a", "MGET a b", "GETEX a", "STRLEN a", "APPEND a", "MULTI", "GET a", "EXEC"] {
        client.reply_to(line);
        assert_eq!(watcher.reply_text("OBJECT IDLETIME a"), "3", "{line}");
    }
    // Writes and TOUCH update the access statistics.
    dialogue(&mut client, &[("SET a 1", "OK"), ("OBJECT IDLETIME a", "0")]);
    running.time.advance(4000);
    dialogue(&mut client, &[("GET a", "'1'"), ("OBJECT IDLETIME a", "4"), ("TOUCH a", "1")]);
    dialogue(&mut watcher, &[("OBJECT IDLETIME a", "0")]);
    running.time.advance(5000);
    dialogue(&mut client, &[("CLIENT NO-TOUCH OFF", "OK"), ("OBJECT IDLETIME a", "5"), ("GET a", "'1'")]);
    dialogue(&mut client, &[("OBJECT IDLETIME a", "0"), ("CLIENT NO-TOUCH ON", "OK"), ("RESET", "RESET")]);
    running.time.advance(6000);
    dialogue(
        &mut client,
        &[("PING", "PONG"), ("GET a", "'1'"), ("OBJECT IDLETIME a", "0"), ("CLIENT NO-TOUCH ON", "OK")],
    );
    dialogue(&mut client, &[("CONFIG SET maxmemory-policy allkeys-lfu", "OK"), ("SET b 1", "OK")]);
    let before = watcher.reply_text("OBJECT FREQ b");
    (0..100).for_each(|_| drop(client.reply_to("GET b")));
    assert_eq!(watcher.reply_text("OBJECT FREQ b"), before);
}

#[test]
fn restore_sets_idle_time_and_frequency() {
    let running = start(Policy::NoEviction, 16 << 20);
    let mut client = Client::connect(&running);
    running.time.advance(5000);
    client.reply_to("SET a 1");
    let Reply::Bulk(payload) = client.reply_to("DUMP a") else { panic!("no payload") };
    let restore = |client: &mut Client, key: &str, options: &str| {
        let mut words = vec![&b"RESTORE"[..], key.as_bytes(), b"0", &payload, b"REPLACE"];
        words.extend(options.split(' ').map(str::as_bytes));
        client.send(&words);
        assert_eq!(client.receive(), Reply::Simple("OK".to_owned()));
    };
    // No client has requested an idle time yet.
    restore(&mut client, "b", "IDLETIME 1000");
    assert_eq!(client.reply_text("OBJECT IDLETIME b"), "1000");
    restore(&mut client, "c", "IDLETIME 77");
    restore(&mut client, "d", "FREQ 200");
    restore(&mut client, "e", "IDLETIME 9223372036854775807");
    dialogue(&mut client, &[("OBJECT IDLETIME c", "77"), ("OBJECT IDLETIME d", "0")]);
    assert!(client.reply_text("OBJECT IDLETIME e").parse::<u64>().unwrap() > 100 * 86_400);
    dialogue(&mut client, &[("GET b", "'1'"), ("OBJECT IDLETIME b", "0")]);
    client.reply_to("CONFIG SET maxmemory-policy allkeys-lfu");
    restore(&mut client, "c", "FREQ 200");
    restore(&mut client, "d", "FREQ 0");
    restore(&mut client, "e", "IDLETIME 5");
    dialogue(&mut client, &[("OBJECT FREQ c", "200"), ("OBJECT FREQ d", "0"), ("OBJECT FREQ e", "6")]);
}
