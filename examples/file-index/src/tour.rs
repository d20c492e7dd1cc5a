//! A tour of the commands of a server that keeps an index.

mod reply_text;

use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;
use std::path::Path;

use redis::{Client, Cmd, Connection, RedisResult, Value};
use serde::Serialize;

use crate::store::{IndexTable, KeyRange, bounds, database};
use crate::{Error, path_key};

/// A command and the reply of the server.
#[derive(Debug, Serialize)]
pub struct Step {
    /// The title of a part of the tour, at its first command.
    #[serde(skip_serializing_if = "Option::is_none", rename = "about")]
    title: Option<&'static str>,
    command: String,
    #[serde(rename = "answer")]
    reply: Vec<String>,
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.title.iter().try_for_each(|title| writeln!(f, "{title}"))?;
        writeln!(f, "  > {}", self.command)?;
        self.reply.iter().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

/// The placeholder for the token of the last snapshot.
const TOKEN: &str = "<token>";
/// A database that does not contain an index.
const SPARE_DATABASE: &str = "9";
/// The number of the database that is unordered at the server of a tour.
pub const UNORDERED_DATABASE: usize = 8;

/// A command and its arguments.
type Command = Vec<Vec<u8>>;

/// A part of the tour: its title and its commands.
type Part = (&'static str, Vec<Command>);

/// Executes the tour at a server that keeps an index of `directory`.
///
/// # Errors
/// The directory does not exist, or the connection ends.
pub fn run(address: SocketAddr, directory: &Path) -> Result<Vec<Step>, Error> {
    let directory = &std::fs::canonicalize(directory).map_err(Error::file("find", directory))?;
    let client = Client::open(format!("redis://{address}")).map_err(Error::server(address))?;
    let mut connection = client.get_connection().map_err(Error::server(address))?;
    let parts = [ordered_reads(directory), redis_commands(), transaction(), snapshot(), functions()];
    run_parts(&mut connection, parts).map_err(Error::server(address))
}

/// Returns the number of pairs of each database that the index and the tour use.
///
/// # Errors
/// The connection ends.
pub fn pairs(address: SocketAddr) -> Result<Vec<u64>, Error> {
    let client = Client::open(format!("redis://{address}")).map_err(Error::server(address))?;
    let mut connection = client.get_connection().map_err(Error::server(address))?;
    let mut count = |database: u8| -> RedisResult<u64> {
        redis::cmd("SELECT").arg(database).exec(&mut connection)?;
        redis::cmd("DBSIZE").query(&mut connection)
    };
    (0..10).map(|database| count(database).map_err(Error::server(address))).collect()
}

fn run_parts(connection: &mut Connection, parts: impl IntoIterator<Item = Part>) -> RedisResult<Vec<Step>> {
    let (mut steps, mut token) = (Vec::new(), Vec::new());
    for (title, commands) in parts {
        let mut title = Some(title);
        for mut command in commands {
            let placeholders = command.iter_mut().filter(|word| *word == TOKEN.as_bytes());
            placeholders.for_each(|word| word.clone_from(&token));
            let reply = execute(connection, &command)?;
            if let (Value::Int(number), b"RI.SNAPSHOT") = (&reply, &command[0][..]) {
                token = number.to_string().into_bytes();
            }
            let (command, reply) = (reply_text::command(&command), reply_text::reply(&reply));
            steps.push(Step { title: title.take(), command, reply });
        }
    }
    Ok(steps)
}

/// Returns the reply to a command. An error reply is a reply too.
fn execute(connection: &mut Connection, command: &Command) -> RedisResult<Value> {
    let mut request = Cmd::new();
    command.iter().for_each(|word| _ = request.arg(word));
    match request.query(connection) {
        Err(error) if error.code().is_some() => Ok(Value::SimpleString(format!("(error) {error}"))),
        reply => reply,
    }
}

fn ordered_reads(directory: &Path) -> Part {
    let (children, subtree) = (path_key::children(directory), path_key::subtree(directory));
    let [first_child, end_of_children] = bounds(&KeyRange::prefix(&children));
    let [first_below, end_of_subtree] = bounds(&KeyRange::prefix(&subtree));
    let files = database(IndexTable::Files).to_string();
    let commands: [&[&[u8]]; 6] = [
        &[b"SELECT", files.as_bytes()],
        &[b"DBSIZE"],
        &[b"RI.RANGE", &first_child, &end_of_children, b"COUNT", b"5", b"FIELDS", b"KEY"],
        &[b"RI.RANGE", &first_below, &end_of_subtree, b"REVERSE", b"COUNT", b"2", b"FIELDS", b"KEY"],
        &[b"RI.SCAN", &[&children[..], b"m"].concat(), b"FLOOR", b"COUNT", b"2", b"FIELDS", b"KEY"],
        &[b"RI.COUNT", &first_below, &end_of_subtree],
    ];
    (
        "ordered reads of the index: a directory, its last files, a scan with floor start, a count",
        commands.map(|words| words.iter().map(|word| word.to_vec()).collect()).into(),
    )
}

fn redis_commands() -> Part {
    let commands = [
        words(&["SELECT", SPARE_DATABASE]),
        words(&["SET", "bee", "worker", "EX", "100"]),
        words(&["GET", "bee"]),
        words(&["TTL", "bee"]),
        words(&["INCRBY", "jars", "41"]),
        words(&["MSET", "clover", "white", "thyme", "pink"]),
        words(&["MGET", "clover", "heather", "thyme"]),
        words(&["SET", "bee", "queen", "IFEQ", "worker", "GET"]),
    ];
    ("commands of Redis", commands.into())
}

fn transaction() -> Part {
    let commands =
        [words(&["MULTI"]), words(&["INCR", "jars"]), words(&["APPEND", "bee", " bee"]), words(&["EXEC"])];
    ("a transaction", commands.into())
}

fn snapshot() -> Part {
    let commands = [
        words(&["RI.SNAPSHOT", "TAKE"]),
        words(&["DEL", "clover", "thyme"]),
        words(&["RI.RANGE", "-", "+", "SNAPSHOT", TOKEN]),
        words(&["RI.RANGE", "-", "+"]),
        words(&["RI.SNAPSHOT", "DROP", TOKEN]),
        words(&["FLUSHDB"]),
    ];
    ("a snapshot, which deletions do not change", commands.into())
}

fn functions() -> Part {
    let commands = [
        words(&["SELECT", &UNORDERED_DATABASE.to_string()]),
        words(&["SET", "jars", "\u{7}"]),
        words(&["KV.UPDATE", "jars", "u8", "bounded-subtract", "SCALAR", "5", "0", "255"]),
        words(&["KV.UPDATE", "jars", "u8", "bounded-subtract", "SCALAR", "5", "0", "255"]),
        words(&["KV.REDUCE", "jars", "u8", "add", "0"]),
        words(&["SET", "cells", "\u{3}\u{9}\u{4}"]),
        words(&["KV.UPDATE", "cells", "u8", "add", "EACH", "2"]),
        words(&["KV.REDUCE", "cells", "u8", "add", "0"]),
        words(&["KV.FILTER", "cells", "u8", "greater", "5"]),
        words(&["FLUSHDB"]),
    ];
    ("an unordered database: atomic functions on a counter with bounds and on a vector", commands.into())
}

fn words(words: &[&str]) -> Command {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}
