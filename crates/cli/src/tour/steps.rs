//! The commands of the tour, and their answers.

use super::shown;
use crate::{
    connection::Connection,
    error::Error,
    index::{children, subtree},
    keeper::{Place, Remote},
    output::Sheet,
};
use honeycomb_protocol::resp::{Answer, decimal};
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
        for mut command in commands {
            command.iter_mut().filter(|word| *word == TOKEN).for_each(|word| word.clone_from(&token));
            let answer = connection.ask(&command)?;
            if let (Answer::Integer(number), b"RI.SNAPSHOT") = (&answer, &command[0][..]) {
                token = decimal(*number);
            }
            let (command, answer) = (shown::command(&command), shown::answer(&answer));
            steps.push(Step { about: about.take(), command, answer });
        }
    }
    Ok(steps)
}

/// Stands for the snapshot that was taken last.
const TOKEN: &[u8] = b"<token>";
/// A table that no index is in.
const TABLE: &str = "9";

/// What comes, and its commands.
type Part = (&'static str, Vec<Vec<Vec<u8>>>);

fn ordered(directory: &Path) -> Part {
    let (children, subtree) = (children(directory), subtree(directory));
    let bounds = |prefix: &[u8]| {
        let end = [&prefix[..prefix.len() - 1], &[prefix[prefix.len() - 1] + 1]].concat();
        ([b"[", prefix].concat(), [&b"("[..], &end].concat())
    };
    let ((first_child, after_children), (first_below, after_below)) = (bounds(&children), bounds(&subtree));
    let files = decimal(Remote::number(Place::Files));
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
        all(&commands),
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
    let token = std::str::from_utf8(TOKEN).expect("ASCII");
    let commands = [
        words(&["RI.SNAPSHOT", "TAKE"]),
        words(&["DEL", "clover", "thyme"]),
        words(&["RI.RANGE", "-", "+", "SNAPSHOT", token]),
        words(&["RI.RANGE", "-", "+"]),
        words(&["RI.SNAPSHOT", "DROP", token]),
        words(&["FLUSHDB"]),
    ];
    ("a snapshot stays as it was while pairs are deleted", commands.into())
}

fn words(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

fn all(commands: &[&[&[u8]]]) -> Vec<Vec<Vec<u8>>> {
    commands.iter().map(|command| command.iter().map(|word| word.to_vec()).collect()).collect()
}
