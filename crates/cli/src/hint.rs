//! Hints after errors: the remedies that a user of the command has.

use honeycomb_log::{MANIFEST_FILE, log_file_number};
use honeycomb_store::{Error as StoreError, LogError};

use crate::arguments::Command;
use crate::error::Error;

const TRUNCATE: &str = "`honeycomb log truncate DIR` removes the damage and all later records; \
    a backup may have them: `honeycomb restore`";
const REBUILD: &str = "`honeycomb log rebuild DIR` writes a new manifest from the other files";
const RESTORE: &str =
    "no other file has the contents of this one: `honeycomb restore` creates the store from a backup";

/// Returns a remedy for the error of a command, if the error does not suggest one itself.
pub(crate) fn hint(error: &Error, command: &Command) -> Option<String> {
    match (error.log_error(), error.store_error()) {
        (Some(error), _) => hint_of_log(error, command),
        (None, Some(StoreError::OutOfMemory { .. })) => {
            Some("--memory sets the memory of the store, such as --memory 4GiB".to_owned())
        }
        _ => None,
    }
}

fn hint_of_log(error: &LogError, command: &Command) -> Option<String> {
    let hint = match (error, command) {
        (LogError::UnfinishedRestore, _) => {
            "run the same `honeycomb restore` again: it removes the incomplete files"
        }
        (LogError::Corrupt { .. }, Command::Backup(_)) => "run the command again",
        (LogError::Corrupt { file, version, .. }, Command::Restore(_)) => {
            return Some(restorable(file, *version));
        }
        (LogError::Missing { .. }, Command::Restore(_)) => {
            "another directory (--log) may have the file; otherwise choose a later backup"
        }
        (LogError::ImageTooNew { .. }, _) => "choose an earlier backup",
        (LogError::LogTooShort { .. }, _) => {
            "another directory (--log) may have the later log files, such as that of the server; without \
             --to-version the restore has all records"
        }
        (LogError::Corrupt { file, .. }, _) => remedy(file),
        (LogError::Missing { file, .. }, _) if file == MANIFEST_FILE => REBUILD,
        (LogError::Missing { .. }, _) => RESTORE,
        _ => return None,
    };
    Some(hint.to_owned())
}

/// Returns the possible restores after one that has found damage after a version.
fn restorable(file: &str, version: u64) -> String {
    if log_file_number(file).is_some() && version > 0 {
        return format!("choose another backup, or --to-version {version}, which ends before the damage");
    }
    "choose another backup".to_owned()
}

/// Returns the remedy for damage to a file of a store.
pub(crate) fn remedy(file: &str) -> &'static str {
    match file {
        MANIFEST_FILE => REBUILD,
        file if log_file_number(file).is_some() => TRUNCATE,
        _ => RESTORE,
    }
}
