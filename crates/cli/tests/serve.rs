//! `honeycomb serve` as a person starts and ends it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

/// A server at a port that the system chose, and where it is.
fn serve() -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_honeycomb"));
    command.args(["serve", "--address", "127.0.0.1:0", "--memory", "64MiB", "--cores", "1"]);
    let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("serving at ").unwrap().split(';').next().unwrap();
    (server, address.to_owned())
}

#[test]
fn it_serves_until_a_signal_ends_it() {
    let (mut server, address) = serve();
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"SET apple red\r\nGET apple\r\n").unwrap();
    let mut replies = [0; 14];
    client.read_exact(&mut replies).unwrap();
    assert_eq!(&replies, b"+OK\r\n$3\r\nred\r\n");
    let ended = Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    assert!(ended.success());
    assert_eq!(client.read(&mut replies).unwrap(), 0, "the connection has ended");
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn what_is_not_allowed_is_named() {
    let run = |arguments: &[&str]| {
        let run =
            Command::new(env!("CARGO_BIN_EXE_honeycomb")).arg("serve").args(arguments).output().unwrap();
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    let (status, error) = run(&["--address", "127.0.0.1:0", "--cores", "0"]);
    assert_eq!((status, &*error), (Some(2), "honeycomb: cores is 0: allowed are 1 to 1024\n"));
    let (status, error) = run(&["--address", "203.0.113.1:1"]);
    assert_eq!(status, Some(2));
    assert!(error.starts_with("honeycomb: cannot listen on 203.0.113.1:1: "), "{error}");
}
