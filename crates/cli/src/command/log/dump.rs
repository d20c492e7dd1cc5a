//! Records as text.

use std::ops::Bound;

use honeycomb_log::{Change, Directory, Record, changes, log_file};
use serde_json::json;

use crate::encoding::Encoding;
use crate::error::Error;

/// A dump that another read can continue.
pub(super) struct Dump {
    /// The lowest version that is not printed yet.
    pub(super) next: u64,
    /// The number of records that are still to print.
    pub(super) left: u64,
    pub(super) as_json: bool,
}

impl Dump {
    /// Passes the text of each record to `write`.
    pub(super) fn read(
        &mut self,
        directory: &Directory,
        mut write: impl FnMut(&str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let replayed = directory.replay(|number, record| {
            if record.version < self.next || self.left == 0 {
                return Ok(());
            }
            write(&text_of(number, &record, self.as_json))?;
            (self.next, self.left) = (record.version + 1, self.left - 1);
            Ok::<(), Error>(())
        });
        replayed.map(drop)
    }
}

/// One line for a record with JSON, otherwise one for the record and one for each change.
fn text_of(number: u64, record: &Record<'_>, as_json: bool) -> String {
    let text = |bytes: &[u8]| Encoding::Escaped.encode(bytes);
    let bound = |bound: Bound<&[u8]>, unbounded: &str| match bound {
        Bound::Included(key) => format!("[{}", text(key)),
        Bound::Excluded(key) => format!("({}", text(key)),
        Bound::Unbounded => unbounded.to_owned(),
    };
    let describe = |change: Change<'_>| match change {
        Change::Put { tree, key, value } => {
            json!({"change": "put", "table": tree, "key": text(key), "value": text(value)})
        }
        Change::Old { tree, key: [], .. } => json!({"change": "no old value", "table": tree}),
        Change::Old { tree, key, value } => {
            json!({"change": "old value", "table": tree, "key": text(key), "value": text(value)})
        }
        Change::Delete { tree, key } => json!({"change": "delete", "table": tree, "key": text(key)}),
        Change::DeleteRange { tree, lower, upper } => {
            let (from, to) = (bound(lower, "-"), bound(upper, "+"));
            json!({"change": "delete range", "table": tree, "from": from, "to": to})
        }
        Change::Create { tree, name } => json!({"change": "create", "table": tree, "name": name}),
        Change::CreateUnordered { tree, name, .. } => {
            json!({"change": "create unordered", "table": tree, "name": name})
        }
        Change::Drop { tree } => json!({"change": "drop", "table": tree}),
        Change::Restart => json!({"change": "restart"}),
        Change::Time { milliseconds } => json!({"change": "time", "milliseconds": milliseconds}),
    };
    let decoded = changes(record.changes).map(|change| match change {
        Ok(change) => describe(change),
        Err(rule) => json!({"change": "invalid", "rule": rule}),
    });
    let (version, file, offset) = (record.version, log_file(number), record.offset);
    if as_json {
        let changes: Vec<_> = decoded.collect();
        return json!({"version": version, "file": file, "offset": offset, "changes": changes}).to_string()
            + "\n";
    }
    let lines = decoded.map(|change| {
        let fields = ["change", "table", "name", "key", "value", "from", "to", "milliseconds", "rule"];
        let shown = fields.iter().filter_map(|field| change.get(field));
        let shown: Vec<String> =
            shown.map(|value| value.as_str().map_or(value.to_string(), str::to_owned)).collect();
        format!("  {}\n", shown.join(" "))
    });
    format!("version {version}, {file} at {offset}\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use honeycomb_log::{Changes, Durability};
    use honeycomb_testing::{SimulatedDisk, log_writer};

    fn append(disk: &SimulatedDisk, version: u64, changes: &Changes) {
        let mut writer = log_writer(disk, 1 << 16);
        writer.append(version, changes.bytes()).unwrap();
        writer.flush(Durability::Now).unwrap();
    }

    fn directory(disk: &SimulatedDisk) -> Directory {
        Directory::inspect(Arc::new(disk.clone())).unwrap().unwrap()
    }

    #[test]
    fn a_dump_goes_on_after_the_last_printed_record() {
        let disk = SimulatedDisk::default();
        for version in 1..=5 {
            let mut changes = Changes::default();
            changes.delete(version, b"k");
            append(&disk, version, &changes);
        }
        // Each record is in a log file of its own.
        let damaged = disk.copy();
        damaged.flip(&log_file(3), 4096 + 40, 1);
        let (mut dump, mut lines) = (Dump { next: 2, left: 3, as_json: true }, Vec::new());
        let mut read = |disk| {
            dump.read(&directory(disk), |line| {
                lines.push(serde_json::from_str::<serde_json::Value>(line).unwrap()["version"].clone());
                Ok(())
            })
        };
        assert!(matches!(read(&damaged), Err(Error::Log(_))));
        read(&disk).unwrap();
        assert_eq!(lines, [2, 3, 4]);
    }

    #[test]
    fn unbounded_ranges_begin_with_minus_and_end_with_plus() {
        let (disk, mut changes) = (SimulatedDisk::default(), Changes::default());
        changes.delete_range(7, Bound::Unbounded, Bound::Unbounded);
        changes.delete_range(7, Bound::Excluded(b"a"), Bound::Included(b"b"));
        append(&disk, 1, &changes);
        let mut text = String::new();
        let mut dump = Dump { next: 0, left: 1, as_json: false };
        dump.read(&directory(&disk), |record| {
            text.push_str(record);
            Ok(())
        })
        .unwrap();
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(lines, ["  delete range 7 - +", "  delete range 7 (a [b"]);
    }
}
