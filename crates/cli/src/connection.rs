//! A connection to a server, as a client has it.

use crate::error::Error;
use honeycomb_protocol::resp::{Reply, encode, parse_reply};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

/// Bytes that are received at once.
const RECEIVED_BYTES: usize = 64 << 10;

/// A command and its arguments.
pub(crate) type Command = Vec<Vec<u8>>;

/// A command of these words.
pub(crate) fn command(words: &[&[u8]]) -> Command {
    words.iter().map(|word| word.to_vec()).collect()
}

/// A connection over which commands go and replies come.
pub(crate) struct Connection {
    address: SocketAddr,
    socket: TcpStream,
    /// What was received and not yet read.
    received: Vec<u8>,
}

impl Connection {
    /// Connects to a server.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn open(address: SocketAddr) -> Result<Connection, Error> {
        let wire = |error: std::io::Error| Error::Wire { address, problem: error.to_string() };
        let socket = TcpStream::connect(address).map_err(wire)?;
        socket.set_nodelay(true).map_err(wire)?;
        Ok(Connection { address, socket, received: Vec::new() })
    }

    /// Sends commands and returns a reply for each. They must be few enough for their replies to wait.
    ///
    /// # Errors
    /// The connection ends, or a reply is an error.
    pub(crate) fn ask_all(&mut self, requests: &[Command]) -> Result<Vec<Reply>, Error> {
        self.send(requests)?;
        let answer = |_| match self.answer()? {
            Reply::Error(error) => Err(self.problem(&error)),
            answer => Ok(answer),
        };
        requests.iter().map(answer).collect()
    }

    /// Sends a command and returns its reply, be it an error.
    ///
    /// # Errors
    /// The connection ends.
    pub(crate) fn ask(&mut self, request: &Command) -> Result<Reply, Error> {
        self.send(std::slice::from_ref(request))?;
        self.answer()
    }

    fn send(&mut self, requests: &[Command]) -> Result<(), Error> {
        let mut sent = Vec::new();
        requests.iter().for_each(|request| encode(request, &mut sent));
        self.socket.write_all(&sent).map_err(|error| self.problem(&error.to_string()))
    }

    /// The next reply.
    fn answer(&mut self) -> Result<Reply, Error> {
        loop {
            let parsed = parse_reply(&self.received).map_err(|error| self.problem(&error.to_string()))?;
            if let Some((answer, bytes)) = parsed {
                self.received.drain(..bytes);
                return Ok(answer);
            }
            let before = self.received.len();
            self.received.resize(before + RECEIVED_BYTES, 0);
            let received = self.socket.read(&mut self.received[before..]);
            self.received.truncate(before + received.as_ref().copied().unwrap_or(0));
            match received {
                Ok(0) => return Err(self.problem("the server has ended the connection")),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.problem(&error.to_string())),
            }
        }
    }

    fn problem(&self, problem: &str) -> Error {
        Error::Wire { address: self.address, problem: problem.into() }
    }
}
