//! `honeycomb backup` and `restore`: a backup of a running server, continued after an interruption, and
//! restores of it to points in time.

mod common;
mod server_process;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, thread};

use honeycomb_server::{Server, SystemTime as ServerTime};
use honeycomb_store::{DurabilityConfig, Store};
use honeycomb_testing::SimulatedDisk;
use serde_json::Value;

use common::{Folder, honeycomb};
use server_process::{command, serve};

/// Sends commands and checks the last line of each reply.
fn dialogue(address: &str, lines: &[(&str, &str)]) {
    let mut socket = BufReader::new(TcpStream::connect(address).unwrap());
    for (line, expected) in lines {
        socket.get_mut().write_all(format!("{line}\r\n").as_bytes()).unwrap();
        let mut reply = String::new();
        socket.read_line(&mut reply).unwrap();
        if reply.starts_with('$') && !reply.starts_with("$-1") {
            reply.clear();
            socket.read_line(&mut reply).unwrap();
        }
        assert_eq!(reply.trim_end(), *expected, "{line}");
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

#[test]
fn a_backup_is_restored_to_points_in_time() {
    let folder = Folder::new();
    let (data, file) = (folder.path("data"), folder.path("backup"));
    let (mut server, address) = serve(&["--dir", &data, "--archive", &folder.path("archive")]);
    dialogue(&address, &[("SET a 1", "+OK"), ("SETEX b 100000 2", "+OK")]);
    let report = honeycomb(["backup", "--server", &address, "--json", &file]).json();
    assert_eq!((&report["resumed_bytes"], report["pairs"].as_u64() > Some(1)), (&0.into(), true), "{report}");
    assert_eq!(folder.names(), ["archive", "backup", "data"]);
    dialogue(&address, &[("SET a 2", "+OK")]);
    thread::sleep(Duration::from_millis(20));
    let middle = now();
    thread::sleep(Duration::from_millis(20));
    dialogue(&address, &[("SET a 3", "+OK"), ("DEL b", ":1")]);
    server.kill().unwrap();
    server.wait().unwrap();

    let middle = format!("{middle:.3}");
    let cases: [(&str, &[&str], [&str; 2]); 3] = [
        ("alone", &[], ["1", "2"]),
        ("middle", &["--log", &data, "--to-time", &middle], ["2", "2"]),
        ("all", &["--log", &folder.path("archive"), "--log", &data], ["3", "$-1"]),
    ];
    for (name, options, [a, b]) in cases {
        let target = folder.path(name);
        let report = honeycomb([&["restore"], options, &["--json", &file, &target]].concat()).json();
        assert_eq!(
            (report["records"] == 0, &report["is_reached"]),
            (name == "alone", &true.into()),
            "{report}"
        );
        let (mut server, address) = serve(&["--dir", &target]);
        dialogue(&address, &[("GET a", a), ("GET b", b), ("SET c 1", "+OK")]);
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(honeycomb(["log", "verify", &target]).success().contains("valid up to version"));
    }
    let version = report["version"].as_u64().unwrap();
    let target = folder.path("version");
    let version = version.to_string();
    honeycomb(["restore", "--log", &data, "--to-version", &version, &file, &target]).success();
    honeycomb(["restore", &file, &target]).fails_with(&["the directory has", "without files of a store"]);
    let early = ["restore", "--log", &data, "--to-version", "1", &file, &folder.path("early")];
    honeycomb(early).fails_with(&["later than the requested version 1", "\nchoose an earlier backup"]);
    honeycomb(["restore", "--to-version", "1", &file, &target]).fails_with(&["--log"]);
    let late = ["restore", "--log", &data, "--to-version", "9000000000000", &file, &folder.path("late")];
    honeycomb(late)
        .fails_with(&["the log ends at version", "\nanother directory (--log) may have the later"]);
    let late = ["restore", "--log", &data, "--to-time", "2100-01-01T00:00:00Z"];
    let text = honeycomb([&late[..], &[&file, &folder.path("text")]].concat()).success();
    assert!(text.contains("warning: the log has no record after the requested time"), "{text}");
    let report = honeycomb([&late[..], &["--json", &file, &folder.path("json")]].concat()).json();
    assert_eq!(report["is_reached"], false, "{report}");
    // A backup is an image.
    assert!(honeycomb(["stats", "--store", &file]).success().contains("pairs"));
}

#[test]
fn an_interrupted_restore_can_be_repeated() {
    let folder = Folder::new();
    let (image, target) = (folder.store("a\t1\n"), folder.path("data"));
    // The files that an interruption leaves.
    folder.write("data/restore.new", "");
    folder.write("data/0000000000000001.checkpoint", "HONEY");
    let output = command(&["--address", "127.0.0.1:0", "--dir", &target]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("a restore into the directory has not ended\nrun the same `honeycomb restore`"));
    honeycomb(["log", "list", &target])
        .fails_with(&["has not ended", "run the same `honeycomb restore` again"]);
    honeycomb(["restore", &image, &target]).success();
    let (mut server, _) = serve(&["--dir", &target]);
    server.kill().unwrap();
    server.wait().unwrap();
    honeycomb(["restore", &image, &target]).fails_with(&["the directory has"]);
}

#[test]
fn errors_of_a_restore_name_the_possible_ones() {
    let folder = Folder::new();
    let (data, file) = (folder.path("data"), folder.path("backup"));
    let (mut server, address) = serve(&["--dir", &data]);
    honeycomb(["backup", "--server", &address, &file]).success();
    dialogue(&address, &[("SET a 1", "+OK"), ("SET b 2", "+OK"), ("SET c 3", "+OK")]);
    server.kill().unwrap();
    server.wait().unwrap();
    let dump = honeycomb(["log", "dump", "--json", &data]).success();
    let records: Vec<Value> = dump.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [.., kept, damaged, _] = &records[..] else { panic!("{dump}") };
    let log = folder.path(&format!("data/{}", damaged["file"].as_str().unwrap()));
    let mut bytes = fs::read(&log).unwrap();
    bytes[damaged["offset"].as_u64().unwrap() as usize + 30] ^= 1;
    fs::write(&log, bytes).unwrap();
    let version = kept["version"].to_string();
    let (target, later) = (folder.path("restored"), format!("--to-version {version}, which ends before"));
    honeycomb(["restore", "--log", &data, &file, &target]).fails_with(&["choose another backup", &later]);
    honeycomb(["restore", "--log", &data, "--to-version", &version, &file, &target]).success();
    let renamed = folder
        .write("renamed/0000000000000009.log", fs::read(&log).unwrap())
        .replace("/0000000000000009.log", "");
    let no_header = honeycomb(["restore", "--log", &renamed, &file, &folder.path("other")]);
    assert!(no_header.stderr.ends_with("\nchoose another backup\n"), "{no_header:?}");
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, bytes).unwrap();
    let damaged = honeycomb(["restore", &file, &folder.path("other")]);
    assert!(damaged.stderr.ends_with("\nchoose another backup\n"), "{damaged:?}");
}

#[test]
fn an_interrupted_backup_goes_on() {
    let folder = Folder::new();
    let (data, file, part) = (folder.path("data"), folder.path("backup"), folder.path("backup.part"));
    let (mut server, address) = serve(&["--dir", &data]);
    let value = "v".repeat(10_000);
    let sets: Vec<_> = (0..100).map(|number| format!("SET key:{number} {value}")).collect();
    dialogue(&address, &sets.iter().map(|line| (&line[..], "+OK")).collect::<Vec<_>>());
    honeycomb(["backup", "--server", &address, &file]).success();
    // As if the command had been interrupted.
    let whole = fs::read(&file).unwrap();
    fs::write(&part, &whole[..500_000]).unwrap();
    fs::remove_file(&file).unwrap();
    let report = honeycomb(["backup", "--server", &address, "--rate", "10MiB", "--json", &file]).json();
    assert_eq!(report["resumed_bytes"], 500_000);
    assert!(fs::read(&file).unwrap() == whole);
    // A checkpoint that the server does not have any more.
    dialogue(&address, &[("SET more 1", "+OK")]);
    server.kill().unwrap();
    server.wait().unwrap();
    let (mut server, address) = serve(&["--dir", &data]);
    dialogue(&address, &[("SAVE", "+OK"), ("RI.BACKUP INFO 1", "-ERR no such backup: 1")]);
    fs::write(&part, &whole[..500_000]).unwrap();
    let report = honeycomb(["backup", "--server", &address, "--json", &file]).json();
    assert_eq!((&report["resumed_bytes"], report["bytes"].as_u64() > Some(1_000_000)), (&0.into(), true));
    // Damaged bytes are found, and the next run begins anew.
    let mut damaged = fs::read(&file).unwrap();
    damaged.truncate(600_000);
    damaged[1000] ^= 1;
    fs::write(&part, damaged).unwrap();
    honeycomb(["backup", "--server", &address, &file])
        .fails_with(&["is corrupt at byte", "\nrun the command again"]);
    honeycomb(["backup", "--server", &address, &file]).success();
    server.kill().unwrap();
    server.wait().unwrap();
}

/// A server in this process, whose disk can fail, with some pairs in the table `t`.
fn serve_on(disk: &SimulatedDisk) -> (Server, Store) {
    let durability = DurabilityConfig::with_storage(Arc::new(disk.clone()));
    let durability = Some(DurabilityConfig { writes_wait: false, ..durability });
    let config = honeycomb_store::Config { memory_bytes: 64 << 20, durability, ..Default::default() };
    let store = Store::open(config).unwrap();
    let table = store.table("t").unwrap();
    (0..200_u32).for_each(|number| table.put(&number.to_be_bytes(), &[number as u8; 12_000]).unwrap());
    let config =
        honeycomb_server::Config { address: ([127, 0, 0, 1], 0).into(), cores: 1, ..Default::default() };
    let server = Server::start(config, store.clone(), Box::new(ServerTime)).unwrap();
    (server, store)
}

/// Whether a file has the pairs of the table `t`.
fn is_whole(file: &str, store: &Store) -> bool {
    let config = honeycomb_store::Config { memory_bytes: 64 << 20, ..Default::default() };
    let loaded = Store::open(config).unwrap();
    loaded.load(BufReader::new(fs::File::open(file).unwrap())).unwrap();
    let pairs =
        |store: &Store| -> Vec<_> { store.table("t").unwrap().iter().unwrap().map(Result::unwrap).collect() };
    pairs(&loaded) == pairs(store)
}

/// Each read of the server's disk fails once. The command reports it, and the same command completes the
/// backup afterwards, whether it begins one or continues one.
#[test]
fn a_backup_goes_on_after_a_failed_read_of_the_server() {
    let disk = SimulatedDisk::default();
    let (server, store) = serve_on(&disk);
    let address = server.address().to_string();
    let folder = Folder::new();
    let (file, part) = (folder.path("backup"), folder.path("backup.part"));
    let command = ["backup", "--server", &address, &file];
    honeycomb(command).success();
    for continues in [false, true] {
        for read in 0.. {
            if continues {
                fs::rename(&file, &part).unwrap();
                fs::File::options().write(true).open(&part).unwrap().set_len(1 << 20).unwrap();
            }
            disk.fail_read(disk.reads() + read);
            let output = honeycomb(command);
            let Some(name) = disk.failed_read() else {
                assert!(read > 1, "{read} reads");
                output.success();
                break;
            };
            // A server that cannot read the checkpoint of an earlier run writes a new one.
            if !continues || output.status != 0 {
                output.fails_with(&[&address, &name, "simulated"]);
                honeycomb(command).success();
            }
            assert!(is_whole(&file, &store), "read {read} of `{name}`");
        }
    }
    server.stop().unwrap();
}

#[test]
fn impossible_backups_are_rejected() {
    let folder = Folder::new();
    let (mut server, address) = serve(&[]);
    honeycomb(["backup", "--server", &address, &folder.path("backup")]).fails_with(&[&address, "directory"]);
    server.kill().unwrap();
    server.wait().unwrap();
    let rate = ["backup", "--rate", "0B", "--server", &address, &folder.path("backup")];
    honeycomb(rate).fails_with(&["the size is 0; allowed are 1B and more"]);
    let gone = ["backup", "--server", &address, &folder.path("backup")];
    honeycomb(gone).fails_with(&[&address]);
    assert!(folder.names().is_empty());
}
