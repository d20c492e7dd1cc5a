//! Numbers with units: memory sizes read from arguments; counts, sizes and times printed for people.

use std::time::Duration;

const UNITS: [(&str, u64); 5] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// Reads a size in bytes such as `512MiB`: a whole number and a unit.
///
/// # Errors
/// What is wrong with the text, and what is allowed.
pub(crate) fn read_bytes(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let allowed = "allowed are a whole number and B, KiB, MiB, GiB or TiB, such as 4GiB";
    let unit = unit.trim_start();
    let Some((_, size)) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) else {
        return Err(format!("unknown unit `{unit}`; {allowed}"));
    };
    let number: u64 = number.parse().map_err(|_| format!("`{number}` is no whole number; {allowed}"))?;
    number.checked_mul(*size).ok_or_else(|| format!("more than 64 bits can count; {allowed}"))
}

/// A size in bytes, in the largest unit that leaves at least one of it: `1.50 GiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    let (name, size) = UNITS.iter().rev().find(|(_, size)| bytes >= *size).unwrap_or(&UNITS[0]);
    if *size == 1 { format!("{bytes} B") } else { format!("{:.2} {name}", bytes as f64 / *size as f64) }
}

/// A count with a comma between every three digits: `1,234,567`.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count of things with their name: `1 file`, `2 files`.
pub(crate) fn things(number: u64, thing: &str) -> String {
    let plural = match thing.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{thing}s"),
    };
    format!("{} {}", count(number), if number == 1 { thing } else { &plural })
}

/// A time in seconds, or in milliseconds or microseconds where that reads better.
pub(crate) fn time(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds if seconds >= 1e-3 => format!("{:.0} ms", seconds * 1e3),
        seconds => format!("{:.0} µs", seconds * 1e6),
    }
}

/// How many a second: `count` in `time`; 0 for no time at all.
pub(crate) fn rate(count: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(read_bytes("4GiB"), Ok(4 << 30));
        assert_eq!(read_bytes("512 mib"), Ok(512 << 20));
        assert_eq!(read_bytes("7B"), Ok(7));
    }

    #[test]
    fn bad_sizes_are_refused_with_what_is_allowed() {
        for (text, wrong) in [
            ("4", "unknown unit ``"),
            ("4GB", "unknown unit `GB`"),
            ("1.5GiB", "unknown unit `.5GiB`"),
            ("GiB", "`` is no whole number"),
            ("-1GiB", "unknown unit `-1GiB`"),
            ("99999999999999999999B", "is no whole number"),
            ("99999999TiB", "more than 64 bits"),
        ] {
            let error = read_bytes(text).unwrap_err();
            assert!(error.contains(wrong) && error.contains("such as 4GiB"), "{text}: {error}");
        }
    }

    #[test]
    fn numbers_are_printed() {
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [bytes(0), bytes(1023), bytes(1536), bytes(3 << 40)],
            ["0 B", "1023 B", "1.50 KiB", "3.00 TiB"]
        );
        assert_eq!(
            [things(1, "entry"), things(2, "entry"), things(0, "file")],
            ["1 entry", "2 entries", "0 files"]
        );
        assert_eq!(time(Duration::from_millis(1500)), "1.5 s");
        assert_eq!(time(Duration::from_micros(1500)), "2 ms");
        assert_eq!(time(Duration::from_nanos(1500)), "2 µs");
        assert_eq!(rate(10, Duration::from_secs(2)), 5.0);
        assert_eq!(rate(10, Duration::ZERO), 0.0);
    }
}
