//! Times in arguments.

/// Parses a time: seconds since 1970, or a time in UTC such as `2026-11-24T21:05:30Z`, both with an optional
/// fraction. Returns milliseconds since 1970.
///
/// # Errors
/// The text is not a time. The error names the allowed values.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let allowed = || {
        "allowed are seconds since 1970, such as 1795553130.5, and times in UTC, such as 2026-11-24T21:05:30Z"
            .to_owned()
    };
    seconds(text).or_else(|| in_utc(text)).ok_or_else(allowed)
}

/// Milliseconds of seconds with an optional fraction.
fn seconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let milliseconds = format!("{fraction:0<3}")[..3].parse::<u64>().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(milliseconds)
}

fn in_utc(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let (time, fraction) = time.split_once('.').map_or((time, "0"), |(time, fraction)| (time, fraction));
    let [hour, minute, second] = numbers(time, ':')?;
    let is_valid = year >= 1970
        && (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let of_day = hour * 3600 + minute * 60 + second;
    is_valid.then_some(())?;
    seconds(&format!("{}.{fraction}", (days_before(year) + day_of_year(year, month, day)) * 86_400 + of_day))
}

/// Three numbers of digits only.
fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = text
        .split(separator)
        .map(|part| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?)
        .collect();
    let numbers: [u64; 3] = numbers?.try_into().ok()?;
    numbers.iter().all(|number| *number < 10_000).then_some(numbers)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from 1970 to the beginning of a year.
fn days_before(year: u64) -> u64 {
    (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum()
}

/// The days from the beginning of the year.
fn day_of_year(year: u64, month: u64, day: u64) -> u64 {
    (1..month).map(|month| days_of(year, month)).sum::<u64>() + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_milliseconds_since_1970() {
        for (text, expected) in [
            ("0", 0),
            ("12.5", 12_500),
            ("12.3456", 12_345),
            ("1970-01-01T00:00:00Z", 0),
            ("1972-03-01T00:00:01.25Z", 68_256_001_250),
            ("2000-02-29T23:59:59Z", 951_868_799_000),
            ("2026-11-24T21:05:30Z", 1_795_554_330_000),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in [
            "",
            "yesterday",
            "-1",
            "1.",
            ".5",
            "99999999999999999999",
            "2026-11-24",
            "2026-11-24T21:05:30",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-+1-01T00:00:00Z",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
