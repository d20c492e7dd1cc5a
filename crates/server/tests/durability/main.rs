//! Durable servers: restarts, faults of the disk, and the state that commands and metrics show.

mod changes;
mod checkpoints;
#[path = "../common.rs"]
mod common;
mod failed_log;
mod gate;
mod waits;

use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_server::Config;
use honeycomb_store::{Storage, SyncPolicy};
use honeycomb_testing::{DiskFault, SimulatedDisk};

use common::{Client, Running, dialogue, open_durable as open, start_durable as start, start_with_store};

#[test]
fn a_restart_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let config = || Config {
        directory: Some(folder.path().to_owned()),
        memory_bytes: 64 << 20,
        cores: 1,
        ..Config::default()
    };
    let running = start_with_store(config(), config().open_store().unwrap());
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("SET a 1", "OK"),
            ("INCRBY a 41", "42"),
            ("MSET b 2 c 3", "OK"),
            ("DEL c", "1"),
            ("SETEX short 1 x", "OK"),
            ("SETEX long 100000 x", "OK"),
            ("MULTI", "OK"),
            ("SET d 4", "QUEUED"),
            ("APPEND d 5", "QUEUED"),
            ("EXEC", "[OK 2]"),
            ("SELECT 3", "OK"),
            ("SET other 1", "OK"),
            ("SWAPDB 1 3", "OK"),
            ("SET other 2", "OK"),
            ("BGSAVE", "Background saving started"),
            ("SAVE", "OK"),
            ("SET after 1", "OK"),
            ("WAITAOF 1 0 0", "[1 0]"),
        ],
    );
    running.server.stop().unwrap();
    drop((client, running.store));
    let running = start_with_store(config(), config().open_store().unwrap());
    running.time.advance(5000);
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("GET a", "'42'"),
            ("MGET b c d", "['2' nil '45']"),
            ("GET short", "nil"),
            ("TTL long", "99995"),
            ("SELECT 1", "OK"),
            ("GET other", "'1'"),
            ("SELECT 3", "OK"),
            ("MGET other after", "['2' '1']"),
            ("CONFIG GET append*", "['appendfsync' 'always' 'appendonly' 'yes']"),
            ("CONFIG SET appendfsync everysec", "OK"),
        ],
    );
    assert_eq!(running.store.sync_policy(), Some(SyncPolicy::EverySecond));
    client.send(&[b"CONFIG", b"SET", b"save", b"3600 1 300 100"]);
    assert_eq!(common::show(&client.receive()), "OK");
    assert_eq!(client.reply_text("CONFIG GET save"), "['save' '300 1']");
    running.server.stop().unwrap();
}

/// After a power cut there are both the pairs of the transaction and the swap, or neither.
#[test]
fn a_transaction_with_a_swap_is_one_record() {
    let running = start(Arc::new(SimulatedDisk::default()), SyncPolicy::Always);
    let mut client = Client::connect(&running);
    dialogue(&mut client, &[("SET a 1", "OK")]);
    let records = || running.store.durability_statistics().unwrap().records;
    for (swap, value) in [("SWAPDB 0 1", "nil"), ("SWAPDB 1 0", "'2'")] {
        let before = records();
        dialogue(&mut client, &[("MULTI", "OK"), ("SET b 2", "QUEUED"), (swap, "QUEUED")]);
        dialogue(&mut client, &[("EXEC", "[OK OK]")]);
        assert_eq!(records(), before + 1, "{swap}");
        dialogue(&mut client, &[("GET b", value)]);
    }
    running.server.stop().unwrap();
}

/// After a power cut either all ordered databases are empty, or none is.
#[test]
fn flushall_is_one_record_for_all_ordered_databases() {
    let running = start(Arc::new(SimulatedDisk::default()), SyncPolicy::Always);
    let mut client = Client::connect(&running);
    for database in ["SELECT 2", "SELECT 1", "SELECT 0"] {
        dialogue(&mut client, &[(database, "OK"), ("MSET a 1 b 2", "OK")]);
    }
    let records = || running.store.durability_statistics().unwrap().records;
    let before = records();
    dialogue(&mut client, &[("FLUSHALL", "OK"), ("DBSIZE", "0"), ("SELECT 1", "OK"), ("DBSIZE", "0")]);
    assert_eq!(records(), before + 1);
    running.server.stop().unwrap();
}

#[test]
fn a_full_disk_refuses_writes_and_allows_reads() {
    let disk = SimulatedDisk::default();
    let running = start(Arc::new(disk.clone()), SyncPolicy::Always);
    let mut client = Client::connect(&running);
    assert_eq!(client.reply_text("SET a 1"), "OK");
    disk.fill();
    let value = "x".repeat(5000);
    let replies = (0..40).map(|number| client.reply_text(&format!("SET k{number} {value}")));
    let refused = replies.filter(|reply| reply != "OK").collect::<Vec<_>>();
    assert!(!refused.is_empty() && refused.iter().all(|reply| reply.starts_with("!MISCONF ")), "{refused:?}");
    for line in ["INCR n", "DEL a", "FLUSHALL", "MSET x 1 y 2", "SETEX e 100 1", "APPEND a 1"] {
        let reply = client.reply_text(line);
        assert!(reply.starts_with("!MISCONF ") && reply.contains("disk is full"), "{line}: {reply}");
    }
    assert_eq!(client.reply_text("GET a"), "'1'");
    assert!(client.reply_text("INFO persistence").contains("aof_last_write_status:err"));
    assert!(client.reply_text("INFO errorstats").contains("errorstat_MISCONF"));
    disk.add_room();
    let start = Instant::now();
    while client.reply_text("SET a 2") != "OK" {
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(5));
    }
    assert!(client.reply_text("INFO persistence").contains("aof_last_write_status:ok"));
    running.server.stop().unwrap();
}

/// Otherwise nobody could read the pairs of a server that has ended on a full disk.
#[test]
fn a_server_starts_on_a_full_disk_and_can_be_read() {
    let disk = SimulatedDisk::default();
    let running = start(Arc::new(disk.clone()), SyncPolicy::Always);
    dialogue(&mut Client::connect(&running), &[("MSET a 1 b 2", "OK")]);
    running.server.stop().unwrap();
    drop(running.store);
    let spares: Vec<_> = disk.files().into_iter().filter(|(name, _)| name.ends_with(".spare")).collect();
    spares.iter().for_each(|(name, _)| disk.remove(name).unwrap());
    disk.fill();
    let running = start(Arc::new(disk.clone()), SyncPolicy::Always);
    let mut client = Client::connect(&running);
    dialogue(&mut client, &[("GET a", "'1'"), ("DBSIZE", "2"), ("RI.RANGE - +", "['a' '1' 'b' '2']")]);
    let refused = client.reply_text("SET a 2");
    assert!(refused.starts_with("!MISCONF ") && refused.contains("disk is full"), "{refused}");
    assert!(client.reply_text("INFO persistence").contains("aof_last_write_status:err"));
    disk.add_room();
    wait_for(&mut client, "persistence", "aof_last_write_status:ok");
    dialogue(&mut client, &[("SET a 2", "OK"), ("GET a", "'2'")]);
    running.server.stop().unwrap();
}

#[test]
fn metrics_describe_the_log() {
    let disk = SimulatedDisk::default();
    let metrics = Some(([127, 0, 0, 1], 0).into());
    let store = open(Arc::new(disk.clone()), SyncPolicy::Always);
    let running = start_with_store(Config { metrics, cores: 1, ..Config::default() }, store);
    let mut client = Client::connect(&running);
    dialogue(&mut client, &[("SET a 1", "OK"), ("SAVE", "OK"), ("SET a 2", "OK")]);
    let text = scrape(&running);
    for line in [
        "honeycomb_checkpoints_total 1",
        "honeycomb_checkpoints_failed_total 0",
        "honeycomb_checkpoint_age_seconds ",
        "honeycomb_log_refuses_writes 0.0",
        "honeycomb_log_queued_bytes 0.0",
        "honeycomb_log_write_seconds_bucket{le=\"+Inf\"}",
        "honeycomb_log_write_seconds_sum ",
        "honeycomb_log_sync_seconds_bucket{le=\"+Inf\"}",
        "honeycomb_log_failed 0.0",
        "honeycomb_log_records_total ",
        "honeycomb_log_groups_total ",
        "honeycomb_log_syncs_total ",
        "honeycomb_log_bytes_total ",
        "honeycomb_log_files ",
        "honeycomb_log_archived_files_total 0",
        "honeycomb_log_archive_fails 0.0",
        "honeycomb_durable_version_total ",
        "honeycomb_change_streams 0.0",
        "honeycomb_change_stream_lag 0.0",
    ] {
        assert!(text.contains(&format!("\n{line}")), "{line} is not in:\n{text}");
    }
    // Under `always` each write syncs, and under `no` none does.
    let number = |name: &str| {
        let text = scrape(&running);
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
        line.parse::<u64>().unwrap()
    };
    let counts = ["honeycomb_log_write_seconds_count", "honeycomb_log_sync_seconds_count"];
    let [writes, syncs] = counts.map(number);
    assert_eq!((number("honeycomb_log_groups_total"), syncs), (writes, writes));
    dialogue(&mut client, &[("CONFIG SET appendfsync no", "OK"), ("SET a 3", "OK")]);
    let began = Instant::now();
    while number(counts[0]) == writes {
        assert!(began.elapsed() < Duration::from_secs(60), "the write has no time");
    }
    assert_eq!(number(counts[1]), syncs);
    dialogue(&mut client, &[("CONFIG SET appendfsync always", "OK")]);
    disk.fail_write(".log", DiskFault::Error);
    client.send(&[b"SET", b"a", b"3"]);
    assert_eq!(client.socket.read(&mut [0; 16]).unwrap_or(0), 0, "the outcome is unknown");
    let failed = scrape(&running);
    assert!(failed.contains("\nhoneycomb_log_refuses_writes 1.0\n"), "{failed}");
    assert!(failed.contains("\nhoneycomb_log_failed 1.0\n"), "{failed}");
    running.server.stop().unwrap();
}

/// Returns the metrics of a server.
fn scrape(running: &Running) -> String {
    let mut exporter = std::net::TcpStream::connect(running.server.metrics().unwrap()).unwrap();
    exporter.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    exporter.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_server_in_memory_says_so() {
    let running = common::start();
    let mut client = Client::connect(&running);
    for line in ["SAVE", "BGSAVE", "BGREWRITEAOF", "SHUTDOWN SAVE"] {
        let reply = client.reply_text(line);
        assert!(reply.starts_with("!ERR ") && reply.contains("in memory only"), "{line}: {reply}");
    }
    dialogue(
        &mut client,
        &[
            ("WAITAOF 0 0 0", "[0 0]"),
            ("LASTSAVE", &(common::BEGIN / 1000).to_string()),
            ("CONFIG GET appendonly", "['appendonly' 'no']"),
            ("CONFIG GET dir", "['dir' '']"),
        ],
    );
    running.server.stop().unwrap();
}

/// Whether no byte arrives within a time in which a reply usually arrives.
fn is_silent(client: &mut Client) -> bool {
    client.socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let received = client.socket.peek(&mut [0]);
    client.socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    received.is_err()
}

/// Waits until a section of `INFO` has a line.
fn wait_for(client: &mut Client, section: &str, line: &str) {
    let (began, mut info) = (Instant::now(), String::new());
    while !info.contains(line) {
        assert!(began.elapsed() < Duration::from_secs(60), "{line}: {info}");
        info = client.reply_text(&format!("INFO {section}"));
    }
}
