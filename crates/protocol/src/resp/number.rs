//! Decimal numbers as text.

/// Parses a number in canonical form: digits with an optional `-`, without leading zeros or spaces. Returns
/// `None` for any other text.
#[must_use]
pub fn parse_decimal(text: &[u8]) -> Option<i64> {
    let (digits, sign) = match text {
        [b'0'] => return Some(0),
        [b'-', digits @ ..] => (digits, -1),
        digits => (digits, 1),
    };
    if !matches!(digits, [b'1'..=b'9', ..]) {
        return None;
    }
    digits.iter().try_fold(0_i64, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(sign * i64::from(digit))
    })
}

/// Returns the canonical text of a number.
#[must_use]
pub fn format_decimal(number: i64) -> Vec<u8> {
    itoa::Buffer::new().format(number).as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_text() {
        for number in [0, 1, -1, 9, 10, i64::MAX, i64::MIN] {
            assert_eq!(parse_decimal(&format_decimal(number)), Some(number));
        }
        for text in [
            "",
            "-",
            "+1",
            "01",
            "-0",
            " 1",
            "1 ",
            "1.0",
            "9223372036854775808",
            "x",
            "1x",
            "-9223372036854775809",
        ] {
            assert_eq!(parse_decimal(text.as_bytes()), None, "{text:?}");
        }
    }
}
