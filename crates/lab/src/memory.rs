//! Memory of this process and of the machine.

use std::fs;

use crate::map::Failure;

/// Returns the exact number of resident bytes of this process.
pub fn resident_bytes() -> Result<u64, Failure> {
    kibibytes("/proc/self/smaps_rollup", "Rss:")
}

/// Returns the bytes of this process in huge pages.
pub fn huge_page_bytes() -> Result<u64, Failure> {
    kibibytes("/proc/self/smaps_rollup", "AnonHugePages:")
}

/// Returns the bytes of memory that are available on this machine.
pub fn available_bytes() -> Result<u64, Failure> {
    kibibytes("/proc/meminfo", "MemAvailable:")
}

/// Returns the bytes of memory of this machine.
pub fn total_bytes() -> Result<u64, Failure> {
    kibibytes("/proc/meminfo", "MemTotal:")
}

/// Returns the value of the line `name 123 kB` in a file of the kernel, in bytes.
fn kibibytes(path: &str, name: &str) -> Result<u64, Failure> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
    let value = value.ok_or_else(|| format!("{path} has no line {name}"))?;
    Ok(value.parse::<u64>()? << 10)
}
