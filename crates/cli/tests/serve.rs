//! `honeycomb serve`: start, parameters, log and stop.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

mod server_process;

use server_process::{command, serve};

fn send_signal(server: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &server.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_signal_stops_the_server() {
    for signal in ["-TERM", "-INT"] {
        let (mut server, address) = serve(&[]);
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"SET apple red\r\nGET apple\r\n").unwrap();
        let mut replies = [0; 14];
        client.read_exact(&mut replies).unwrap();
        assert_eq!(&replies, b"+OK\r\n$3\r\nred\r\n");
        client.write_all(b"GET apple\r\n").unwrap();
        send_signal(&server, signal);
        let mut last = Vec::new();
        client.read_to_end(&mut last).unwrap();
        assert_eq!(last, b"$3\r\nred\r\n", "the server executes commands that it received before the signal");
        assert_eq!(server.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_client_stops_the_server() {
    let (mut server, address) = serve(&[]);
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"SHUTDOWN SAVE\r\nSET apple red\r\nSHUTDOWN NOSAVE\r\nSET apple green\r\n").unwrap();
    let mut replies = String::new();
    client.read_to_string(&mut replies).unwrap();
    let rejection = "-ERR this store is in memory only: it was opened without a directory\r\n";
    assert_eq!(replies, format!("{rejection}+OK\r\n"));
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn a_client_that_does_not_read_does_not_delay_the_stop() {
    let (mut server, address) = serve(&["--shutdown-timeout", "60"]);
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(format!("SET big {}\r\n", "v".repeat(60_000)).as_bytes()).unwrap();
    client.write_all(&b"GET big\r\n".repeat(1000)).unwrap();
    client.read_exact(&mut [0; 1000]).unwrap();
    let before = Instant::now();
    send_signal(&server, "-TERM");
    assert_eq!(server.wait().unwrap().code(), Some(0));
    assert!(before.elapsed() < Duration::from_secs(30), "{:?}", before.elapsed());
}

#[test]
fn log_lines_are_json_objects() {
    let (mut server, address) = serve(&["--log-format", "json", "--maxclients", "1"]);
    let mut only = TcpStream::connect(&address).unwrap();
    only.write_all(b"PING\r\n").unwrap();
    only.read_exact(&mut [0; 7]).unwrap();
    TcpStream::connect(&address).unwrap().read_to_end(&mut Vec::new()).unwrap();
    send_signal(&server, "-TERM");
    let mut written = String::new();
    server.stderr.take().unwrap().read_to_string(&mut written).unwrap();
    let lines: Vec<serde_json::Value> =
        written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let messages: Vec<_> = lines.iter().map(|line| line["message"].as_str().unwrap()).collect();
    let rejected = "rejected a connection: too many connections";
    assert_eq!(messages, ["serving", rejected, "received a signal", "stopping", "stopped"]);
    assert_eq!((lines[0]["cores"].as_u64(), lines[1]["connections_max"].as_u64()), (Some(1), Some(1)));
    assert_eq!(lines[1]["level"], "WARN");
    assert!(server.wait().unwrap().success());
}

#[test]
fn print_config_prints_the_resulting_parameters() {
    let mut command = command(&["--maxclients", "7", "--print-config"]);
    let output = command.env("HONEYCOMB_TIMEOUT", "8").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("\nmaxclients = 7\n") && printed.contains("\ntimeout = 8\n"), "{printed}");
}

#[test]
fn an_error_names_the_invalid_parameter() {
    let run = |arguments: &[&str]| {
        let run = command(arguments).output().unwrap();
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    let (status, error) = run(&["--address", "127.0.0.1:0", "--cores", "0"]);
    assert_eq!((status, &*error), (Some(2), "honeycomb: --cores: cores is 0: allowed are 1 to 1024\n"));
    let (_, error) = run(&["--address", "127.0.0.1:0", "--batch", "127.0.0.1:0", "--payload-bytes", "100"]);
    assert_eq!(error, "honeycomb: --payload-bytes: payload-bytes is 100: allowed are 128 to 65507\n");
    let (_, error) = run(&["--address", "127.0.0.1:0", "--batch", "127.0.0.1:0", "--requirepass", "secret"]);
    assert!(error.contains("honeycomb: requirepass and datagrams: "), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let (new, archive) = (folder.path().join("new"), folder.path().join("archive"));
    let (status, error) = run(&["--dir", new.to_str().unwrap(), "--unordered", "16"]);
    assert_eq!(status, Some(2));
    assert!(error.contains("unordered has a number without a database") && !new.exists(), "{error}");
    let (_, error) = run(&["--dir", new.to_str().unwrap(), "--memory", "1GiB", "--maxmemory", "2GiB"]);
    assert!(error.contains("maxmemory is 2147483648") && !new.exists(), "{error}");
    let (_, error) = run(&["--archive", archive.to_str().unwrap()]);
    assert!(error.contains("archive needs dir") && !archive.exists(), "{error}");
    let (status, error) = run(&["--address", "203.0.113.1:1"]);
    assert_eq!(status, Some(2));
    assert!(error.contains("honeycomb: cannot listen on 203.0.113.1:1 (parameter address): "), "{error}");
}
