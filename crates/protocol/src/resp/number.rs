//! Numbers as text.

/// The number that `text` is the only way to write: no sign but `-`, no needless zeros, no spaces.
#[must_use]
pub fn parse_decimal(text: &[u8]) -> Option<i64> {
    let number = std::str::from_utf8(text).ok()?.parse().ok()?;
    (decimal(number) == text).then_some(number)
}

/// A number as text.
#[must_use]
pub fn decimal(number: i64) -> Vec<u8> {
    number.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_text() {
        for number in [0, 1, -1, 9, 10, i64::MAX, i64::MIN] {
            assert_eq!(parse_decimal(&decimal(number)), Some(number));
        }
        for text in ["", "-", "+1", "01", "-0", " 1", "1 ", "1.0", "9223372036854775808", "x"] {
            assert_eq!(parse_decimal(text.as_bytes()), None, "{text:?}");
        }
    }
}
