//! `honeycomb tour`, and `honeycomb index --server`, on a generated directory tree.

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use common::{Folder, assert_agrees, honeycomb};

fn tree(folder: &Folder) -> String {
    (0..300).for_each(|number| drop(folder.write(&format!("tree/many/{number}"), number.to_string())));
    folder.write("tree/empty", "");
    folder.write("tree/large", (0..5_u32 << 18).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    folder.path("tree")
}

#[test]
fn the_tour_indexes_over_the_wire_and_shows_replies() {
    let folder = Folder::new();
    let arguments = ["tour", "--address", "127.0.0.1:0", "--once", "--json", &tree(&folder)];
    let report = honeycomb(arguments).json();
    assert_agrees(&report);
    let stored = |name: &str| report["stored"][name].as_u64().unwrap();
    assert_eq!(stored("chunks"), 300 + 40);
    // The pairs of the index and the counter of identifiers; the tour deletes its own pairs.
    assert_eq!(report["store"]["pairs"].as_u64(), Some(stored("files") + stored("chunks") + 1));
    let steps = report["tour"].as_array().unwrap();
    let answer = |command: &str| {
        let is_command = |step: &&Value| step["command"].as_str().unwrap().starts_with(command);
        steps.iter().find(is_command).map(|step| step["answer"].to_string()).unwrap()
    };
    assert_eq!(answer("DBSIZE"), format!("[\"(integer) {}\"]", stored("files")));
    assert!(answer("RI.RANGE").contains("empty"));
    assert_eq!(answer("SET bee queen IFEQ worker GET"), "[\"\\\"worker\\\"\"]");
    assert_eq!(answer("EXEC"), "[\"1) (integer) 42\",\"2) (integer) 9\"]");
    assert_eq!(answer("KV.UPDATE jars"), "[\"\\\"\\\\x07\\\"\"]");
    assert!(answer("KV.REDUCE jars").contains('2'), "the second subtraction is out of bounds");
    assert!(answer("KV.REDUCE cells").contains("22"));
    let is_snapshot_read =
        |step: &&Value| step["command"].as_str().unwrap().starts_with("RI.RANGE - + SNAPSHOT");
    let snapshot = steps.iter().find(is_snapshot_read).unwrap()["answer"].to_string();
    let now = answer("RI.RANGE - +");
    assert!(snapshot.contains("clover") && snapshot.contains("42"), "{snapshot}");
    let last = steps.iter().rfind(|step| step["command"] == "RI.RANGE - +").unwrap()["answer"].to_string();
    assert!(!last.contains("clover") && last.contains("42"), "{last}, {now}");
    let errors: Vec<_> = steps.iter().filter(|step| step["answer"].to_string().contains("(error)")).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn a_tour_with_a_directory_survives_a_kill() {
    let folder = Folder::new();
    let (tree, data) = (tree(&folder), folder.path("data"));
    for _ in 0..2 {
        let arguments = ["tour", "--address", "127.0.0.1:0", "--once", "--json", "--dir", &data, &tree];
        let report = honeycomb(arguments).json();
        assert_agrees(&report);
        let pairs = |name: &str| report["restart"][name].as_u64().unwrap();
        assert!(pairs("pairs_before") > 300);
        assert_eq!(pairs("pairs_before"), pairs("pairs_after"));
    }
}

#[test]
fn a_signal_ends_a_tour_and_its_server() {
    let folder = Folder::new();
    let (tree, data) = (tree(&folder), folder.path("data"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_honeycomb"));
    command.args(["tour", "--address", "127.0.0.1:0", "--once", "--dir", &data, &tree]);
    let mut tour = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !Path::new(&data).join("manifest").exists() {
        assert!(tour.try_wait().unwrap().is_none(), "the tour has ended");
        thread::sleep(Duration::from_millis(1));
    }
    let sent = Command::new("kill").args(["-TERM", &tour.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(tour.wait().unwrap().code(), Some(128 + 15));
    // No server has the lock of the directory.
    honeycomb(["log", "verify", &data]).success();
}

#[test]
fn an_index_on_a_server_agrees_and_can_be_replaced() {
    let folder = Folder::new();
    let root = tree(&folder);
    let mut server = Command::new(env!("CARGO_BIN_EXE_honeycomb"))
        .args(["serve", "--address", "127.0.0.1:0", "--memory", "64MiB", "--cores", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("serving at ").unwrap().split(';').next().unwrap();
    let index = || honeycomb(["index", "--server", address, "--ranges", "200", "--json", &root]).json();
    let first = index();
    assert_agrees(&first);
    assert_eq!(first["server"], address);
    let second = index();
    assert_agrees(&second);
    assert_eq!(second["stored"]["forgotten"], first["stored"]["files"]);
    server.kill().unwrap();
    server.wait().unwrap();
    honeycomb(["index", "--server", address, &root]).fails_with(&["the server at", address]);
    honeycomb(["index", "--server", "here", &root]).fails_with(&["there is no port in it"]);
    honeycomb(["index", "--server", address, "--store", "x", &root]).fails_with(&["cannot be used with"]);
}
