//! Memory of this process and of the machine.

use std::fs;

use crate::map::Failure;

/// Bytes of memory that this process has resident, the kernel's exact count.
pub fn resident_bytes() -> Result<u64, Failure> {
    kibibytes("/proc/self/smaps_rollup", "Rss:")
}

/// Bytes of memory that this process has in huge pages.
pub fn huge_page_bytes() -> Result<u64, Failure> {
    kibibytes("/proc/self/smaps_rollup", "AnonHugePages:")
}

/// Bytes of memory that processes of this machine can still get.
pub fn available_bytes() -> Result<u64, Failure> {
    kibibytes("/proc/meminfo", "MemAvailable:")
}

/// Bytes of memory of this machine.
pub fn total_bytes() -> Result<u64, Failure> {
    kibibytes("/proc/meminfo", "MemTotal:")
}

/// The value of a line `name 123 kB` in a file of the kernel's, in bytes.
fn kibibytes(path: &str, name: &str) -> Result<u64, Failure> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
    let value = value.ok_or_else(|| format!("{path} has no line {name}"))?;
    Ok(value.parse::<u64>()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_touched_is_resident() -> Result<(), Failure> {
        const BYTES: usize = 256 << 20;
        let before = resident_bytes()?;
        let touched = std::hint::black_box(vec![1_u8; BYTES]);
        // Other tests of this process take and give back some too.
        assert!(resident_bytes()? > before + BYTES as u64 / 2);
        drop(touched);
        assert!(available_bytes()? < total_bytes()?);
        Ok(())
    }
}
