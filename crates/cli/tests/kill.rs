//! SIGKILL of a durable server under load, round after round: transactions are whole, expired pairs stay
//! away, and `honeycomb log` reads the files. Under `always` every acknowledged command is there after the
//! restart. Under `everysec` the newest may be lost, but none before one that is there, and none before a
//! `WAITAOF`.
//!
//! Each client has keys of its own, so it knows the state after each command. A command without a reply may
//! have happened or not. Half of the clients use an unordered database. Those of a database increment a
//! shared counter in optimistic transactions, one client swaps two databases, and one requests checkpoints.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use honeycomb_testing::number;

const CLIENTS: usize = 50;
const KEYS: usize = 5;

/// The state of the keys of a client.
type State = [Option<u64>; KEYS];

/// What a client has sent since the last start of the server.
#[derive(Clone)]
struct History {
    /// The first step is the state after the start.
    steps: Vec<Step>,
    /// The last step that the server must have after the next start.
    durable: usize,
}

/// A command, and the state after it.
#[derive(Clone)]
struct Step {
    state: State,
    /// Ticks before the command, and after its reply if there was one.
    began: u64,
    ended: Option<u64>,
}

/// The steps of a client that the server may have executed last, after a start.
struct Found {
    /// The tick before the first of them.
    began: u64,
    /// The tick after the reply to the command that follows the last of them.
    lost: Option<u64>,
}

/// The counter that all clients of a database increment.
#[derive(Debug, Default)]
struct SharedCounter {
    /// The counter after the last start.
    checked: AtomicU64,
    /// Increments that the server has acknowledged.
    known: AtomicU64,
    /// Increments without a reply.
    maybe: AtomicU64,
    /// Increments that conflicted with another client's.
    conflicts: AtomicU64,
}

/// Swaps of the last two databases. Each transaction increments a counter in the third and then swaps both,
/// so the sum of the counters determines everything.
#[derive(Default)]
struct SwapHistory {
    checked: u64,
    known: u64,
}

/// What all clients share.
struct Load {
    policy: &'static str,
    ticks: AtomicU64,
    /// Of the ordered and of the unordered database.
    counters: [SharedCounter; 2],
}

const COUNTER: &str = "shared-counter";
/// The ordered and the unordered database of the clients are 0 and 1; 2 and 3 are swapped.
const DATABASES: [&str; 4] = ["--databases", "4", "--unordered", "1,3"];
/// The step of each client that waits until its writes are durable.
const WAIT_INTERVAL: u64 = 16;
/// Between two requests for checkpoints.
const CHECKPOINT_INTERVAL: Duration = Duration::from_millis(20);

struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(address: &str) -> Option<Self> {
        let socket = TcpStream::connect(address).ok()?;
        socket.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
        Some(Self(BufReader::new(socket)))
    }

    /// Sends lines and returns the last reply line of each; `None` if the connection has ended.
    fn send(&mut self, lines: &[String]) -> Option<Vec<String>> {
        let text: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        self.0.get_mut().write_all(text.as_bytes()).ok()?;
        lines.iter().map(|_| self.reply()).collect()
    }

    fn reply(&mut self) -> Option<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        let line = line.strip_suffix("\r\n")?.to_owned();
        match line.as_bytes()[0] {
            b'$' if line != "$-1" => {
                let mut bytes = vec![0; line[1..].parse::<usize>().ok()? + 2];
                self.0.read_exact(&mut bytes).ok()?;
                bytes.truncate(bytes.len() - 2);
                String::from_utf8(bytes).ok()
            }
            b'*' if line != "*-1" => {
                let count = line[1..].parse().ok()?;
                let all = (0..count).map(|_| self.reply()).collect::<Option<Vec<_>>>()?;
                Some(all.join(","))
            }
            _ => Some(line),
        }
    }
}

#[test]
fn a_killed_server_has_everything_that_it_acknowledged() {
    kill_repeatedly("always", number("HONEYCOMB_SOAK_ROUNDS", 6));
}

#[test]
fn a_killed_server_that_syncs_each_second_has_a_prefix() {
    kill_repeatedly("everysec", number("HONEYCOMB_SOAK_ROUNDS", 4));
}

fn kill_repeatedly(policy: &'static str, rounds: u64) {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().to_str().unwrap();
    let load = Load { policy, ticks: AtomicU64::default(), counters: Default::default() };
    let (mut histories, mut swaps) = (vec![History::new([None; KEYS]); CLIENTS], SwapHistory::default());
    for round in 0..=rounds {
        let (server, address) = start_with(directory, &[&["--durability", policy][..], &DATABASES].concat());
        load.check_all(&mut histories, &mut swaps, &address);
        thread::scope(|scope| {
            for (client, history) in histories.iter_mut().enumerate() {
                let (load, address) = (&load, &address);
                scope.spawn(move || load.write_until_the_end(client, round, history, address));
            }
            scope.spawn(|| write_checkpoints(&address));
            scope.spawn(|| swaps.swap_until_the_end(&address));
            thread::sleep(Duration::from_millis(150 + 70 * (round % 4)));
            kill(server);
        });
        let verified = honeycomb(&["log", "verify", "--json", directory]);
        assert!(verified.status.success(), "{verified:?}");
    }
    for counter in load.counters {
        assert!(counter.conflicts.into_inner() > 0, "transactions conflict");
    }
    assert!(swaps.known > rounds, "databases are swapped");
    assert!(names(folder.path()).iter().any(|name| name.ends_with(".checkpoint")));
}

#[test]
fn the_log_can_be_listed_dumped_and_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().to_str().unwrap();
    let (server, address) = start(directory);
    let mut connection = Connection::open(&address).unwrap();
    // One after the other, so that each is durable before the next one.
    for (line, reply) in [("SET apple red", "+OK"), ("SET plum blue", "+OK"), ("DEL apple", ":1")] {
        assert_eq!(connection.send(&[line.to_owned()]).unwrap(), [reply]);
    }
    let in_use = honeycomb(&["log", "verify", directory]);
    assert_eq!(in_use.status.code(), Some(2));
    assert!(String::from_utf8(in_use.stderr).unwrap().contains("is in use"));
    let listed = honeycomb(&["log", "list", directory]);
    assert!(String::from_utf8(listed.stdout).unwrap().contains("valid up to version"), "beside a server");
    let dumped = honeycomb(&["log", "dump", directory]);
    let dumped = String::from_utf8(dumped.stdout).unwrap();
    let is_delete = |line: &str| line.starts_with("  delete ") && line.ends_with(" apple");
    assert!(dumped.lines().any(is_delete), "beside a server: {dumped}");
    kill(server);
    let text = |arguments: &[&str]| String::from_utf8(honeycomb(arguments).stdout).unwrap();
    assert!(text(&["log", "list", directory]).contains("0000000000000001.log"));
    let dump = text(&["log", "dump", "--json", directory]);
    let last: serde_json::Value = serde_json::from_str(dump.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["changes"][0]["change"], &last["changes"][0]["key"]),
        (&"delete".into(), &"apple".into())
    );
    let from = last["version"].to_string();
    assert_eq!(text(&["log", "dump", "--from", &from, "--json", directory]).lines().count(), 1);
    assert_eq!(text(&["log", "dump", "--limit", "2", "--json", directory]).lines().count(), 2);
    assert!(text(&["log", "truncate", directory]).contains("nothing to remove"));

    // Damage the first of the three records, which were durable one after the other.
    let first: serde_json::Value = serde_json::from_str(dump.lines().rev().nth(2).unwrap()).unwrap();
    let file = folder.path().join(first["file"].as_str().unwrap());
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[first["offset"].as_u64().unwrap() as usize + 30] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let refused = serve().args(["--dir", directory, "--address", "127.0.0.1:0"]).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("is corrupt at byte") && refused.status.code() == Some(2), "{message}");
    let remedy = "`honeycomb log truncate DIR` removes the damage";
    assert!(message.contains(remedy), "{message}");
    let verified = honeycomb(&["log", "verify", directory]);
    let report = String::from_utf8(verified.stdout).unwrap();
    assert!(report.contains(remedy) && verified.status.code() == Some(1), "{report}");
    assert!(text(&["log", "truncate", "--json", directory]).contains("is corrupt at byte"));
    assert!(honeycomb(&["log", "verify", directory]).status.success());
    let (server, address) = start(directory);
    let mut connection = Connection::open(&address).unwrap();
    let lines = ["GET apple", "GET plum"].map(str::to_owned);
    assert_eq!(connection.send(&lines).unwrap(), ["$-1", "$-1"]);
    kill(server);
    let missing = honeycomb(&["log", "list", "/nowhere"]);
    assert!(String::from_utf8(missing.stderr).unwrap().contains("cannot open /nowhere"));
}

fn names(directory: &Path) -> Vec<String> {
    let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<_> = files.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// A folder with the files of a store that has one pair, without a lock.
fn store_without_lock() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (server, address) = start(folder.path().to_str().unwrap());
    assert_eq!(Connection::open(&address).unwrap().send(&["SET apple red".to_owned()]).unwrap(), ["+OK"]);
    kill(server);
    std::fs::remove_file(folder.path().join("lock")).unwrap();
    folder
}

#[test]
fn list_and_dump_write_nothing() {
    let folder = store_without_lock();
    let (directory, before) = (folder.path().to_str().unwrap(), names(folder.path()));
    std::fs::set_permissions(directory, Permissions::from_mode(0o555)).unwrap();
    let listed = honeycomb(&["log", "list", directory]);
    let dumped = honeycomb(&["log", "dump", directory]);
    std::fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
    assert!(String::from_utf8(listed.stdout).unwrap().contains("valid up to version"));
    assert!(String::from_utf8(dumped.stdout).unwrap().contains(" apple"));
    assert_eq!(names(folder.path()), before);
}

/// Another process has the lock, and the commands do not wait for it.
#[test]
fn list_and_dump_need_no_lock() {
    let folder = store_without_lock();
    let directory = folder.path().to_str().unwrap();
    // Opening it as a file would fail.
    std::fs::create_dir(folder.path().join("lock")).unwrap();
    for command in ["list", "dump"] {
        assert!(honeycomb(&["log", command, directory]).status.success(), "{command}");
    }
    assert_eq!(honeycomb(&["log", "verify", directory]).status.code(), Some(2));
}

#[test]
fn a_folder_without_a_store_gets_no_files() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["list", "dump", "verify", "truncate", "rebuild"] {
        let output = honeycomb(&["log", command, folder.path().to_str().unwrap()]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("has no log") && output.status.code() == Some(2), "{command}: {message}");
        assert_eq!(names(folder.path()), [""; 0], "{command}");
    }
}

#[test]
fn a_damaged_manifest_can_be_rebuilt() {
    let folder = store_without_lock();
    let directory = folder.path().to_str().unwrap();
    let text = |arguments: &[&str]| String::from_utf8(honeycomb(arguments).stdout).unwrap();
    assert!(text(&["log", "rebuild", directory]).starts_with("the manifest is valid: nothing to rebuild"));
    let path = folder.path().join("manifest");
    let manifest = std::fs::read(&path).unwrap();
    for damage in [true, false] {
        match damage {
            true => std::fs::write(&path, b"not a manifest").unwrap(),
            false => std::fs::remove_file(&path).unwrap(),
        }
        let refused = serve().args(["--dir", directory, "--address", "127.0.0.1:0"]).output().unwrap();
        let message = String::from_utf8(refused.stderr).unwrap();
        assert!(message.contains("`honeycomb log rebuild DIR` writes a new manifest"), "{message}");
        let report = text(&["log", "rebuild", "--json", directory]);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!((&report["is_rebuilt"], &report["checkpoint"]), (&true.into(), &0.into()));
        assert_eq!(report["first_file"], "0000000000000001.log");
        assert!(std::fs::read(&path).unwrap() == manifest);
    }
    let (server, address) = start(directory);
    assert_eq!(Connection::open(&address).unwrap().send(&["GET apple".to_owned()]).unwrap(), ["red"]);
    kill(server);
}

#[test]
fn verify_reports_a_damaged_manifest() {
    let folder = store_without_lock();
    let directory = folder.path().to_str().unwrap();
    std::fs::write(folder.path().join("manifest"), b"not a manifest").unwrap();
    let verified = honeycomb(&["log", "verify", "--json", directory]);
    let report: serde_json::Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!((&report["damage"]["file"], report.as_object().unwrap().len()), (&"manifest".into(), 1));
    assert_eq!(verified.status.code(), Some(1));
    let verified = honeycomb(&["log", "verify", directory]);
    let report = String::from_utf8(verified.stdout).unwrap();
    let remedy = "`honeycomb log rebuild DIR`";
    assert!(report.contains("`manifest` is corrupt") && report.contains(remedy), "{report}");
}

#[test]
fn the_remedy_for_a_damaged_checkpoint_is_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().to_str().unwrap();
    let (server, address) = start(directory);
    let mut connection = Connection::open(&address).unwrap();
    assert_eq!(connection.send(&["SAVE".to_owned()]).unwrap(), ["+OK"]);
    kill(server);
    let mut files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    let is_checkpoint = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "checkpoint");
    let checkpoint = files.find(is_checkpoint).unwrap();
    let mut bytes = std::fs::read(&checkpoint).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&checkpoint, bytes).unwrap();
    let report = String::from_utf8(honeycomb(&["log", "verify", directory]).stdout).unwrap();
    assert!(report.contains("`honeycomb restore` creates the store from a backup"), "{report}");
}

fn start(directory: &str) -> (Child, String) {
    start_with(directory, &[])
}

fn start_with(directory: &str, more: &[&str]) -> (Child, String) {
    let arguments = ["--dir", directory, "--address", "127.0.0.1:0", "--memory", "64MiB", "--cores", "2"];
    let mut server =
        serve().args(arguments).args(more).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("serving at ").expect("the server starts").split(';').next().unwrap();
    let address = address.to_owned();
    (server, address)
}

/// Ends a server with SIGKILL.
fn kill(mut server: Child) {
    server.kill().unwrap();
    server.wait().unwrap();
}

fn serve() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_honeycomb"));
    command.arg("serve");
    command
}

fn honeycomb(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_honeycomb")).args(arguments).output().unwrap()
}

fn key(client: usize, number: usize) -> String {
    format!("client:{client:02}:{number}")
}

/// A key with a short life, which is not in the range of the others.
fn expiring_key(client: usize) -> String {
    format!("client:{client:02}:expiring")
}

/// Reads the keys of a client.
fn read(client: usize, connection: &mut Connection) -> State {
    let lines: Vec<_> = (0..KEYS).map(|number| format!("GET {}", key(client, number))).collect();
    let found = connection.send(&lines).expect("the server replies");
    let expired = connection.send(&[format!("GET {}", expiring_key(client))]).expect("the server replies");
    assert_eq!(expired, ["$-1"], "an expired pair does not come back");
    std::array::from_fn(|number| found[number].parse().ok())
}

impl History {
    fn new(state: State) -> Self {
        Self { steps: vec![Step { state, began: 0, ended: Some(0) }], durable: 0 }
    }

    /// Compares a state after a start with those that the server may have.
    fn find(&self, client: usize, state: State) -> Found {
        let is_it = |step: &Step| step.state == state;
        let first = self.steps[self.durable..].iter().position(is_it);
        let Some((first, last)) = first.zip(self.steps.iter().rposition(is_it)) else {
            let known: Vec<_> = self.steps[self.durable..].iter().map(|step| step.state).collect();
            panic!("client {client}: {state:?} is none of {known:?}");
        };
        let lost = self.steps.get(last + 1).and_then(|step| step.ended);
        Found { began: self.steps[self.durable + first].began, lost }
    }
}

impl Load {
    /// Compares everything after a start with what the clients know.
    fn check_all(&self, histories: &mut [History], swaps: &mut SwapHistory, address: &str) {
        let (mut newest, mut oldest_lost) = (0, u64::MAX);
        for (client, history) in histories.iter_mut().enumerate() {
            let state = read(client, &mut open_database(address, client % 2).expect("the server listens"));
            let found = history.find(client, state);
            newest = newest.max(found.began);
            oldest_lost = oldest_lost.min(found.lost.unwrap_or(u64::MAX));
            *history = History::new(state);
        }
        let rule = "the server has a command, but has lost one that it acknowledged before";
        assert!(newest < oldest_lost, "{rule}: {newest}, {oldest_lost}");
        for (database, counter) in self.counters.iter().enumerate() {
            counter.check(self.policy, &mut open_database(address, database).expect("the server listens"));
        }
        swaps.check(self.policy, address);
    }

    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst) + 1
    }
}

fn open_database(address: &str, database: usize) -> Option<Connection> {
    let mut connection = Connection::open(address)?;
    connection.send(&[format!("SELECT {database}")])?;
    Some(connection)
}

impl SwapHistory {
    /// Compares the databases with the swaps so far: each was in the place of the counter every other time.
    fn check(&mut self, policy: &str, address: &str) {
        let count = |database| {
            let mut connection = open_database(address, database).expect("the server listens");
            let found = connection.send(&[format!("GET {COUNTER}")]).expect("the server replies");
            found[0].parse().unwrap_or(0)
        };
        let (third, fourth): (u64, u64) = (count(2), count(3));
        let total = third + fourth;
        let least = if policy == "always" { self.known } else { self.checked };
        assert!((least..=self.known + 1).contains(&total), "{total} swaps: {least} to {} + 1", self.known);
        assert_eq!(fourth, third + total % 2, "a swap and its increment are one");
        (self.checked, self.known) = (total, total);
    }

    fn swap_until_the_end(&mut self, address: &str) {
        let Some(mut connection) = Connection::open(address) else { return };
        let increment = format!("INCR {COUNTER}");
        let lines = ["MULTI", "SELECT 2", &increment, "SWAPDB 2 3", "EXEC"].map(str::to_owned);
        while let Some(replies) = connection.send(&lines) {
            assert!(replies[4].starts_with("+OK,:") && replies[4].ends_with(",+OK"), "{replies:?}");
            self.known += 1;
        }
    }
}

impl SharedCounter {
    /// Compares the counter with the increments so far.
    fn check(&self, policy: &str, connection: &mut Connection) {
        let found = connection.send(&[format!("GET {COUNTER}")]).expect("the server replies");
        let found = found[0].parse().unwrap_or(0);
        let (known, maybe) = (self.known.load(Ordering::Relaxed), self.maybe.swap(0, Ordering::Relaxed));
        let least = if policy == "always" { known } else { self.checked.load(Ordering::Relaxed) };
        assert!((least..=known + maybe).contains(&found), "{found}: {least} to {known} and perhaps {maybe}");
        self.known.store(found, Ordering::Relaxed);
        self.checked.store(found, Ordering::Relaxed);
    }

    /// Increments the counter, unless another client does so at the same time. Returns `None` if the
    /// connection has ended.
    fn increment(&self, connection: &mut Connection) -> Option<()> {
        let found = connection.send(&[format!("WATCH {COUNTER}"), format!("GET {COUNTER}")])?;
        let next = found[1].parse().unwrap_or(0) + 1;
        self.maybe.fetch_add(1, Ordering::Relaxed);
        let set = format!("SET {COUNTER} {next}");
        let replies = connection.send(&["MULTI".to_owned(), set, "EXEC".to_owned()])?;
        self.maybe.fetch_sub(1, Ordering::Relaxed);
        match replies[2].as_str() {
            "+OK" => self.known.fetch_add(1, Ordering::Relaxed),
            "*-1" => self.conflicts.fetch_add(1, Ordering::Relaxed),
            other => panic!("{other}"),
        };
        Some(())
    }
}

/// Requests checkpoints until the connection ends.
fn write_checkpoints(address: &str) {
    let Some(mut connection) = Connection::open(address) else { return };
    while connection.send(&["BGSAVE".to_owned()]).is_some() {
        thread::sleep(CHECKPOINT_INTERVAL);
    }
}

/// Returns the lines of a step of a client, and the state after it.
fn step(client: usize, step: u64, value: u64, mut next: State) -> (Vec<String>, State) {
    let number = (step as usize + client) % KEYS;
    let set = |number| format!("SET {} {value}", key(client, number));
    let lines = match step % 8 {
        0 | 1 => {
            next[number] = Some(value);
            vec![set(number)]
        }
        2 => {
            next[number] = None;
            vec![format!("DEL {}", key(client, number))]
        }
        3 => {
            // A transaction of two keys, which must be whole.
            let other = (number + 1) % KEYS;
            (next[number], next[other]) = (Some(value), Some(value));
            vec!["MULTI".to_owned(), set(number), set(other), "EXEC".to_owned()]
        }
        4 => {
            next = [None; KEYS];
            let all = (0..KEYS).map(|number| key(client, number)).collect::<Vec<_>>().join(" ");
            let range = format!("RI.DELRANGE [{} ({}", key(client, 0), key(client, KEYS));
            // An unordered database has no ranges.
            vec![if client.is_multiple_of(2) { range } else { format!("DEL {all}") }]
        }
        5 => {
            // Nobody else writes the key, so the transaction succeeds.
            next[number] = Some(value);
            vec![format!("WATCH {}", key(client, number)), "MULTI".into(), set(number), "EXEC".into()]
        }
        6 => {
            // The deadline is over when the server is started again.
            vec![format!("SET {} {value} PX 10", expiring_key(client))]
        }
        _ => {
            next[number] = Some(next[number].unwrap_or(0) + 7);
            vec![format!("INCRBY {} 7", key(client, number))]
        }
    };
    (lines, next)
}

impl Load {
    /// Executes commands until the connection ends.
    fn write_until_the_end(&self, client: usize, round: u64, history: &mut History, address: &str) {
        let Some(mut connection) = open_database(address, client % 2) else { return };
        for number in 0.. {
            let before = history.steps[history.steps.len() - 1].state;
            let (lines, state) = step(client, number, round * 1_000_000 + number, before);
            history.steps.push(Step { state, began: self.tick(), ended: None });
            let Some(replies) = connection.send(&lines) else { return };
            let is_failure = |reply: &String| reply.starts_with('-') || reply.starts_with("*-1");
            assert!(!replies.iter().any(is_failure), "{lines:?}: {replies:?}");
            let last = history.steps.len() - 1;
            history.steps[last].ended = Some(self.tick());
            if self.policy == "always" || number % WAIT_INTERVAL == WAIT_INTERVAL - 1 {
                let Some(durable) = self.is_durable(&mut connection) else { return };
                history.durable = if durable { last } else { history.durable };
            }
            if self.counters[client % 2].increment(&mut connection).is_none() {
                return;
            }
        }
    }

    /// Returns whether all writes of a connection are durable, after a wait unless the policy waits for each.
    fn is_durable(&self, connection: &mut Connection) -> Option<bool> {
        if self.policy == "always" {
            return Some(true);
        }
        let replies = connection.send(&["WAITAOF 1 0 5000".to_owned()])?;
        Some(replies[0].starts_with(":1,"))
    }
}
