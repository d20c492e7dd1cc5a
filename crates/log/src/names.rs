//! The names of the files of a store.

/// The manifest.
pub const MANIFEST_FILE: &str = "manifest";
/// A manifest that is not valid before it was renamed.
pub(crate) const NEW_MANIFEST_FILE: &str = "manifest.new";
/// Marks the directory of a restore that has not ended; it becomes the manifest.
pub(crate) const RESTORE_FILE: &str = "restore.new";
/// A log file whose zero bytes are not all written, or that has no header yet.
pub(crate) const NEW_LOG_FILE: &str = "log.new";
/// A spare file whose zero bytes are not all written.
pub(crate) const NEW_SPARE_FILE: &str = "spare.new";

/// Returns the name of a log file.
#[must_use]
pub fn log_file(number: u64) -> String {
    format!("{number:016}.log")
}

/// Returns the name of a checkpoint.
#[must_use]
pub fn checkpoint_file(number: u64) -> String {
    format!("{number:016}.checkpoint")
}

/// Returns the name of a log file that waits for its first use or its next one.
pub(crate) fn spare_file(number: u64) -> String {
    format!("{number:016}.spare")
}

/// Returns whether a name is one of a spare file.
pub(crate) fn is_spare(name: &str) -> bool {
    number(name, "spare").is_some()
}

/// Returns the number of a log file, or `None` if the name is not one of a log file.
#[must_use]
pub fn log_file_number(name: &str) -> Option<u64> {
    number(name, "log")
}

pub(crate) fn checkpoint_number(name: &str) -> Option<u64> {
    number(name, "checkpoint")
}

fn number(name: &str, extension: &str) -> Option<u64> {
    let (digits, found) = name.split_once('.')?;
    let number = digits.parse().ok()?;
    (found == extension && digits.len() >= 16 && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then_some(number)
}
