//! Connections that wait while the process has no more files. The limit concerns the whole process, so this
//! test has one of its own.

mod common;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use honeycomb_server::Config;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};

use common::{Client, start_with};

#[test]
fn a_connection_is_accepted_when_files_are_available_again() {
    let running = start_with(Config { cores: 2, ..Config::default() });
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    // The lowest number that no file has. The system limits the numbers of new files.
    let unused = File::open("/dev/null").unwrap().as_raw_fd();
    let before = getrlimit(Resource::Nofile);
    let limit = Rlimit { current: Some(unused as u64), ..before };
    setrlimit(Resource::Nofile, limit).unwrap();
    socket.connect(&running.server.address().into()).unwrap();
    thread::sleep(Duration::from_millis(300));
    setrlimit(Resource::Nofile, before).unwrap();
    let mut client = Client::of(socket.into());
    assert_eq!(client.reply_text("PING"), "PONG");
    running.server.stop().unwrap();
}
