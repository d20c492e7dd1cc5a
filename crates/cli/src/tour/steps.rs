//! The commands of the tour, and their answers.

use super::shown;
use crate::{
    connection::{Command, Connection, command},
    error::Error,
    index::{children, subtree},
    keeper::{Place, Remote, bounds},
    output::Sheet,
    pages::Request,
};
use honeycomb_protocol::resp::{Reply, format_decimal};
use serde::Serialize;
use std::{net::SocketAddr, path::Path};

/// A command, and what it was answered.
#[derive(Serialize)]
pub(super) struct Step {
    /// What comes now, where something new begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'static str>,
    command: String,
    answer: Vec<String>,
}

impl Step {
    /// Writes the step for people.
    pub(super) fn sheet(&self, sheet: &mut Sheet) {
        self.about.iter().for_each(|about| sheet.line(about));
        sheet.line(&format!("  > {}", self.command));
        self.answer.iter().for_each(|line| sheet.line(&format!("    {line}")));
    }
}

/// Takes the tour at a server that has an index of `directory`.
///
/// # Errors
/// The connection ends.
pub(super) fn take(address: SocketAddr, directory: &Path) -> Result<Vec<Step>, Error> {
    let directory = &std::fs::canonicalize(directory).map_err(Error::file("find", directory))?;
    let mut connection = Connection::open(address)?;
    let (mut steps, mut token) = (Vec::new(), Vec::new());
    for (about, commands) in [ordered(directory), plain(), together(), one_version()] {
        let mut about = Some(about);
        for mut asked in commands {
            let named = asked.iter_mut().filter(|word| *word == TOKEN.as_bytes());
            named.for_each(|word| word.clone_from(&token));
            let answer = connection.ask(&asked)?;
            if let (Reply::Integer(number), b"RI.SNAPSHOT") = (&answer, &asked[0][..]) {
                token = format_decimal(*number);
            }
            let (command, answer) = (shown::command(&asked), shown::answer(&answer));
            steps.push(Step { about: about.take(), command, answer });
        }
    }
    Ok(steps)
}

/// Stands for the snapshot that was taken last.
const TOKEN: &str = "<token>";
/// A table that no index is in.
const TABLE: &str = "9";

/// What comes, and its commands.
type Part = (&'static str, Vec<Command>);

fn ordered(directory: &Path) -> Part {
    let (children, subtree) = (children(directory), subtree(directory));
    let of = |prefix: &[u8]| bounds(&Request::prefix(prefix));
    let ([first_child, after_children], [first_below, after_below]) = (of(&children), of(&subtree));
    let files = format_decimal(Remote::number(Place::Files));
    let commands: [&[&[u8]]; 6] = [
        &[b"SELECT", &files],
        &[b"DBSIZE"],
        &[b"RI.RANGE", &first_child, &after_children, b"COUNT", b"5", b"FIELDS", b"KEY"],
        &[b"RI.RANGE", &first_below, &after_below, b"REVERSE", b"COUNT", b"2", b"FIELDS", b"KEY"],
        &[b"RI.SCAN", &[&children[..], b"m"].concat(), b"FLOOR", b"COUNT", b"2", b"FIELDS", b"KEY"],
        &[b"RI.COUNT", &first_below, &after_below],
    ];
    (
        "the index is an ordered table: names in a directory, the last below it, around a key, how many",
        commands.map(command).into(),
    )
}

fn plain() -> Part {
    let commands = [
        words(&["SELECT", TABLE]),
        words(&["SET", "bee", "worker", "EX", "100"]),
        words(&["GET", "bee"]),
        words(&["TTL", "bee"]),
        words(&["INCRBY", "jars", "41"]),
        words(&["MSET", "clover", "white", "thyme", "pink"]),
        words(&["MGET", "clover", "heather", "thyme"]),
        words(&["SET", "bee", "queen", "IFEQ", "worker", "GET"]),
    ];
    ("what Redis clients know", commands.into())
}

fn together() -> Part {
    let commands =
        [words(&["MULTI"]), words(&["INCR", "jars"]), words(&["APPEND", "bee", " bee"]), words(&["EXEC"])];
    ("several commands at one moment", commands.into())
}

fn one_version() -> Part {
    let commands = [
        words(&["RI.SNAPSHOT", "TAKE"]),
        words(&["DEL", "clover", "thyme"]),
        words(&["RI.RANGE", "-", "+", "SNAPSHOT", TOKEN]),
        words(&["RI.RANGE", "-", "+"]),
        words(&["RI.SNAPSHOT", "DROP", TOKEN]),
        words(&["FLUSHDB"]),
    ];
    ("a snapshot stays as it was while pairs are deleted", commands.into())
}

fn words(words: &[&str]) -> Command {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}
