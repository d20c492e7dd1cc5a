//! A server in a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Returns the command `honeycomb serve` with arguments.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_honeycomb"));
    command.arg("serve").args(arguments);
    command
}

/// Starts a server at a port of the system and returns its address.
pub(crate) fn serve(arguments: &[&str]) -> (Child, String) {
    let mut command = command(&["--address", "127.0.0.1:0", "--memory", "64MiB", "--cores", "1"]);
    command.args(["--ocsm", "127.0.0.1:0"]);
    let mut server = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.next().unwrap();
    let address = line.strip_prefix("serving at ").unwrap().split(';').next().unwrap();
    let line = lines.next().unwrap();
    assert!(line.starts_with("storage messages at 127.0.0.1:") && line.ends_with(", over UDP"), "{line}");
    (server, address.to_owned())
}
