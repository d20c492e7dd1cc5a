//! Listening addresses: at most one server can bind an address.
#![allow(missing_docs)]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use honeycomb_server::{Config, Datagrams, Error, Server, SystemTime};

use common::{Client, start_with};

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

fn config() -> Config {
    let datagrams = Datagrams { ocsm: Some(ANY_PORT), batch: Some(ANY_PORT), ..Datagrams::default() };
    Config { cores: 2, address: ANY_PORT, metrics: Some(ANY_PORT), datagrams, ..Config::default() }
}

fn start(config: Config) -> Result<Server, Error> {
    let config = Config { memory_bytes: 16 << 20, ..config };
    let store = config.open_store().unwrap();
    Server::start(config, store, Box::new(SystemTime))
}

/// Returns the parameter, the address and the message of the error that prevents a server from starting.
fn start_error(config: Config) -> (&'static str, SocketAddr, String) {
    let error = start(config).expect_err("another server has bound the address");
    let text = error.to_string();
    match error {
        Error::Listen { parameter, address, error } => {
            assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
            (parameter, address, text)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_second_server_at_an_address_fails_to_start() {
    let first = start(config()).unwrap();
    let (address, metrics) = (first.address(), first.metrics().unwrap());
    let (ocsm, batch) = (first.ocsm_address().unwrap(), first.batch_address().unwrap());
    let any = |address: SocketAddr| SocketAddr::from(([0, 0, 0, 0], address.port()));
    // In each iteration one address is in use, and the others are free.
    for (parameter, used) in [("address", address), ("metrics", metrics), ("ocsm", ocsm), ("batch", batch)] {
        for address in [used, any(used)] {
            let mut second = config();
            match parameter {
                "address" => second.address = address,
                "metrics" => second.metrics = Some(address),
                "ocsm" => second.datagrams.ocsm = Some(address),
                _ => second.datagrams.batch = Some(address),
            }
            let expected = format!("cannot listen on {address} (parameter {parameter}): ");
            let (name, at, text) = start_error(second);
            assert_eq!((name, at), (parameter, address));
            assert!(text.starts_with(&expected), "{text}");
        }
    }
    // The first server still works, and its addresses are free after it has stopped.
    assert_serves(address);
    first.stop().unwrap();
    let datagrams = Datagrams { ocsm: Some(ocsm), batch: Some(batch), ..Datagrams::default() };
    let again = Config { address, metrics: Some(metrics), datagrams, ..config() };
    assert_serves(start(again).unwrap().address());
}

#[test]
fn one_server_cannot_bind_an_address_twice() {
    let first = start(config()).unwrap();
    let address = first.address();
    first.stop().unwrap();
    let (parameter, at, _) = start_error(Config { address, metrics: Some(address), ..config() });
    assert_eq!((parameter, at), ("metrics", address));
}

#[test]
fn at_most_one_of_several_starting_servers_binds_an_address() {
    let address = {
        let server = start(config()).unwrap();
        server.address()
    };
    for _ in 0..10 {
        let start = || start(Config { cores: 4, address, ..Config::default() });
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let started = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert!(started <= 1, "{started} servers at one address");
        let error = |outcome: &Result<Server, Error>| outcome.as_ref().err().map(Error::to_string);
        let errors: Vec<_> = outcomes.iter().filter_map(error).collect();
        assert!(errors.iter().all(|error| error.contains("(parameter address)")), "{errors:?}");
    }
}

#[test]
fn a_server_starts_at_the_address_of_a_server_that_just_stopped() {
    let server = start(config()).unwrap();
    let address = server.address();
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"PING\r\n").unwrap();
    client.read_exact(&mut [0; 7]).unwrap();
    // The server closes the connection first, so its socket stays in TIME_WAIT.
    server.stop().unwrap();
    assert_serves(start(Config { address, ..config() }).unwrap().address());
}

#[test]
fn connections_are_distributed_over_all_cores() {
    let running = start_with(Config { cores: 4, metrics: Some(ANY_PORT), ..Config::default() });
    let mut clients: Vec<_> = (0..200).map(|_| Client::connect(&running)).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.reply_text("PING"), "PONG"));
    // CLIENT LIST shows the core of each connection.
    let list = clients[0].reply_text("CLIENT LIST");
    for core in 0..4 {
        let connections = list.matches(&format!("io-thread={core} ")).count();
        assert!((20..100).contains(&connections), "core {core} has {connections} of 200 connections");
    }
}

fn assert_serves(address: SocketAddr) {
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"PING\r\n").unwrap();
    let mut reply = [0; 7];
    client.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"+PONG\r\n");
}
