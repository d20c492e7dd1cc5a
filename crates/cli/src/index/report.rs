//! What `honeycomb index` did, for people and for programs.

use super::{
    compare::{Compared, Comparison},
    fill::Filled,
    shown::Shown,
    walk::{Kinds, Walk},
};
use crate::{
    Verdict,
    image::Saved,
    noted::Noted,
    output::{Report, Sheet},
    parallel,
    summary::Summary,
    text, units,
};
use serde::Serialize;
use std::time::Duration;

/// What `honeycomb index` did.
#[derive(Serialize)]
pub(crate) struct Indexed {
    /// What there was.
    pub(crate) walk: Walked,
    /// What went into the store.
    pub(crate) stored: Stored,
    /// The server that keeps it, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// What the store is then, if it is one of this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<Summary>,
    /// What it answers.
    #[serde(flatten)]
    pub(crate) asked: Asked,
    /// Where it was saved, if it was.
    pub(crate) saved: Option<Saved>,
}

/// What the walk found.
#[derive(Serialize)]
pub(crate) struct Walked {
    directory: String,
    #[serde(flatten)]
    kinds: Kinds,
    file_bytes: u64,
    seconds: f64,
    too_long: Noted,
    unreadable: Noted,
    other_file_systems: Noted,
}

/// What went into the store.
#[derive(Serialize)]
pub(crate) struct Stored {
    forgotten: u64,
    files: u64,
    chunks: u64,
    raw_bytes: u64,
    read_bytes: u64,
    threads: usize,
    seconds: f64,
    store_seconds: f64,
    unreadable: Noted,
    changed: Noted,
}

/// What the store answered.
#[derive(Serialize)]
pub(crate) struct Asked {
    /// One answer of each kind.
    pub(crate) shown: Shown,
    /// Seed of the random questions.
    pub(crate) seed: u64,
    /// How the answers compare with the file system.
    pub(crate) comparison: Comparison,
}

impl Indexed {
    /// Whether no answer was wrong.
    pub(crate) fn verdict(&self) -> Verdict {
        if self.asked.comparison.is_good() { Verdict::Good } else { Verdict::Bad }
    }
}

impl Walked {
    /// What `walk` found in `time`.
    pub(crate) fn new(walk: &Walk, time: Duration) -> Walked {
        Walked {
            directory: text::path(&walk.root),
            kinds: walk.kinds,
            file_bytes: walk.file_bytes,
            seconds: time.as_secs_f64(),
            too_long: walk.too_long.clone(),
            unreadable: walk.unreadable.clone(),
            other_file_systems: walk.mounted.clone(),
        }
    }

    fn sheet(&self, sheet: &mut Sheet) {
        sheet.line(&format!("{} walked in {}", self.directory, seconds(self.seconds)));
        sheet.number("files", &units::count(self.kinds.files), &units::bytes(self.file_bytes));
        sheet.number("directories", &units::count(self.kinds.directories), "");
        sheet.number("others", &units::count(self.kinds.others), "links, sockets, devices");
        noted(sheet, "too long a path", &self.too_long);
        noted(sheet, "unreadable", &self.unreadable);
        noted(sheet, "not entered", &self.other_file_systems);
    }
}

impl Stored {
    /// What `filled` says.
    pub(crate) fn new(filled: &Filled) -> Stored {
        Stored {
            forgotten: filled.forgotten,
            files: filled.files,
            chunks: filled.chunks,
            raw_bytes: filled.raw_bytes,
            read_bytes: filled.read_bytes,
            threads: parallel::threads(),
            seconds: filled.time.as_secs_f64(),
            store_seconds: filled.store_time.as_secs_f64(),
            unreadable: filled.unreadable.clone(),
            changed: filled.changed.clone(),
        }
    }

    fn sheet(&self, sheet: &mut Sheet) {
        let pairs = self.files + self.chunks;
        let (time, store_time) =
            (Duration::from_secs_f64(self.seconds), Duration::from_secs_f64(self.store_seconds));
        let rate = |amount, time| units::rate(amount, time) as u64;
        sheet.line(&format!(
            "stored in {} by {}",
            seconds(self.seconds),
            units::things(self.threads as u64, "thread")
        ));
        if self.forgotten > 0 {
            sheet.number(
                "taken out first",
                &units::count(self.forgotten),
                "files that an earlier index had stored",
            );
        }
        let bytes = format!("{} of keys and values", units::bytes(self.raw_bytes));
        sheet.number("pairs", &units::count(pairs), &bytes);
        sheet.number("files", &units::count(self.files), "path -> metadata");
        sheet.number("chunks", &units::count(self.chunks), "(file, offset) -> length, checksum");
        let read = format!("{} a second", units::bytes(rate(self.read_bytes, time)));
        sheet.number("read", &units::bytes(self.read_bytes), &read);
        let writes = format!(
            "a second and thread, in the store alone; {} a second in all",
            units::count(rate(pairs, time))
        );
        sheet.number("writes", &units::count(rate(pairs, store_time)), &writes);
        noted(sheet, "unreadable", &self.unreadable);
        noted(sheet, "changed", &self.changed);
    }
}

impl Asked {
    fn sheet(&self, sheet: &mut Sheet) {
        self.shown.sheet(sheet);
        let comparison = &self.comparison;
        let time = seconds(comparison.seconds);
        sheet.line(&format!("compared with the file system in {time}, seed {}", self.seed));
        compared(sheet, "listings", &comparison.listings);
        compared(sheet, "byte ranges", &comparison.ranges);
        compared(sheet, "largest files", &comparison.largest);
        sheet.line(match (comparison.asked(), comparison.is_good()) {
            (0, _) => "no answer was compared",
            (_, true) => "no answer differs from the file system",
            (_, false) => "WRONG: answers differ from the file system",
        });
    }
}

impl Report for Indexed {
    fn sheet(&self, sheet: &mut Sheet) {
        self.walk.sheet(sheet);
        self.stored.sheet(sheet);
        self.server.iter().for_each(|server| sheet.line(&format!("kept by the server at {server}")));
        self.store.iter().for_each(|store| store.sheet(sheet));
        self.asked.sheet(sheet);
        self.saved.iter().for_each(|saved| saved.sheet(sheet));
    }
}

fn compared(sheet: &mut Sheet, label: &str, compared: &Compared) {
    sheet.number(label, &units::count(compared.agree), &compared.about());
}

/// A row about what could not be done, if there is anything to say.
fn noted(sheet: &mut Sheet, label: &str, noted: &Noted) {
    if noted.count > 0 {
        sheet.number(label, &units::count(noted.count), &noted.named.join(", "));
    }
}

fn seconds(seconds: f64) -> String {
    units::time(Duration::from_secs_f64(seconds))
}
