//! A server without a store. Its throughput is the upper bound for Redis servers on the same system calls.
//!
//! ```text
//! cargo run --release -p honeycomb-server --example nothing -- PORT
//! ```
//! It counts each `*` as a request. If the name of the first request begins with `G`, it answers all requests
//! as gets, otherwise as sets. The replies are those that `python -m honeycomb_clients.throughput` expects,
//! which compares this server with others if it runs with `--nothing`.

use std::env;
use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use slab::Slab;

const LISTENER: Token = Token(usize::MAX);
const FOUND: &[u8] = b"$32\r\nvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv\r\n";
const DONE: &[u8] = b"+OK\r\n";
/// Offset of the command name in a request with two or three words.
const NAME_AT: usize = "*2\r\n$3\r\n".len();
/// Upper bound of the number of requests in one receive.
const REPLIES_MAX: usize = 1 << 13;

fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = env::args().nth(1).ok_or("usage: nothing PORT")?.parse()?;
    let mut poll = Poll::new()?;
    let mut listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port)))?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let (mut connections, mut events) = (Slab::<TcpStream>::new(), Events::with_capacity(1024));
    let (found, done) = (FOUND.repeat(REPLIES_MAX), DONE.repeat(REPLIES_MAX));
    let mut buffer = vec![0; 64 << 10];
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            if event.token() == LISTENER {
                accept(&listener, &poll, &mut connections)?;
            } else if !answer(&mut connections[event.token().0], &mut buffer, &found, &done) {
                connections.remove(event.token().0);
            }
        }
    }
}

fn accept(listener: &TcpListener, poll: &Poll, connections: &mut Slab<TcpStream>) -> std::io::Result<()> {
    while let Ok((mut socket, _)) = listener.accept() {
        socket.set_nodelay(true)?;
        let entry = connections.vacant_entry();
        poll.registry().register(&mut socket, Token(entry.key()), Interest::READABLE)?;
        entry.insert(socket);
    }
    Ok(())
}

/// Answers the received requests. The client must wait for the replies before it sends more. Returns whether
/// the connection is still open.
fn answer(socket: &mut TcpStream, buffer: &mut [u8], found: &[u8], done: &[u8]) -> bool {
    let received = match socket.read(buffer) {
        Ok(0) => return false,
        Ok(bytes) => &buffer[..bytes],
        Err(error) => return error.kind() == ErrorKind::WouldBlock,
    };
    let first = received.iter().position(|&byte| byte == b'*').unwrap_or(0);
    let is_get = received.get(first + NAME_AT) == Some(&b'G');
    let requests = received.iter().filter(|&&byte| byte == b'*').count();
    let replies = if is_get { &found[..requests * FOUND.len()] } else { &done[..requests * DONE.len()] };
    socket.write_all(replies).is_ok()
}
