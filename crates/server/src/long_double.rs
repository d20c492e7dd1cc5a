//! Numbers in the extended format of x86 with a 64-bit mantissa, which Redis uses for additions. Parsing,
//! addition and formatting agree with the C library on x86, so that replies are those of Redis.

use std::fmt;

use num_bigint::{BigInt, BigUint, Sign};

/// A finite number: mantissa times a power of two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LongDouble {
    mantissa: BigInt,
    exponent: i64,
}

/// The result of parsing a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parsed {
    Finite(LongDouble),
    Infinite,
}

const MANTISSA_BITS: i64 = 64;
/// The exponent of the lowest bit of the smallest number.
const EXPONENT_MIN: i64 = -16445;
/// All numbers are below two to this power.
const EXPONENT_END: i64 = 16384;
/// Maximum length of the text of a number.
const TEXT_BYTES_MAX: usize = 5 * 1024 - 1;
/// All numbers are within this power of ten.
const DECIMAL_EXPONENT_MAX: i64 = 5000;
/// Digits after the decimal point in formatted numbers.
const DIGITS_WRITTEN: u32 = 17;

impl LongDouble {
    /// Returns zero, the value of an absent key.
    pub(crate) fn zero() -> Self {
        Self { mantissa: BigInt::ZERO, exponent: 0 }
    }

    /// Returns the number nearest to the sum, or `None` on overflow.
    pub(crate) fn add(&self, other: &Self) -> Option<Self> {
        let exponent = self.exponent.min(other.exponent);
        let aligned = |number: &Self| &number.mantissa << (number.exponent - exponent);
        let (sign, sum) = (aligned(self) + aligned(other)).into_parts();
        Self::nearest(sign, sum, exponent, false)
    }

    /// Returns the number nearest to mantissa times a power of two, or to a little more if `more` is set.
    /// Ties round to even. Returns `None` on overflow.
    fn nearest(sign: Sign, mantissa: BigUint, exponent: i64, more: bool) -> Option<Self> {
        let dropped = (mantissa.bits() as i64 - MANTISSA_BITS).max(EXPONENT_MIN - exponent).max(0);
        let rounded = round_off(&mantissa, dropped as u64, more);
        let exponent = exponent + dropped;
        if rounded.bits() as i64 + exponent > EXPONENT_END {
            return None;
        }
        Some(Self { mantissa: BigInt::from_biguint(sign, rounded), exponent })
    }
}

/// Rounds off the lowest bits of a number. If `more` is set, the number was a little larger.
fn round_off(number: &BigUint, bits: u64, more: bool) -> BigUint {
    if bits == 0 {
        return number.clone();
    }
    let kept = number >> bits;
    let half = number.bit(bits - 1);
    let above_half = more || number.trailing_zeros().is_some_and(|zeros| zeros < bits - 1);
    if half && (above_half || kept.bit(0)) { kept + 1_u32 } else { kept }
}

/// Parses a complete text as the C library does. Rejects NaN, overflow, and underflow to zero.
pub(crate) fn parse(text: &[u8]) -> Option<Parsed> {
    if text.is_empty() || text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let (sign, rest) = match text {
        [b'-', rest @ ..] => (Sign::Minus, rest),
        [b'+', rest @ ..] => (Sign::Plus, rest),
        rest => (Sign::Plus, rest),
    };
    if rest.eq_ignore_ascii_case(b"inf") || rest.eq_ignore_ascii_case(b"infinity") {
        return Some(Parsed::Infinite);
    }
    let found = match rest {
        [b'0', b'x' | b'X', rest @ ..] => hexadecimal(sign, rest)?,
        rest => decimal(sign, rest)?,
    };
    Some(Parsed::Finite(found))
}

fn decimal(sign: Sign, text: &[u8]) -> Option<LongDouble> {
    let (digits, after_point, exponent) = parts(text, |byte| byte.eq_ignore_ascii_case(&b'e'))?;
    let number = BigUint::parse_bytes(&digits, 10)?;
    if number == BigUint::ZERO {
        return Some(LongDouble::zero());
    }
    let exponent = exponent - after_point;
    if (exponent + digits.len() as i64).abs() > DECIMAL_EXPONENT_MAX + TEXT_BYTES_MAX as i64 {
        return None;
    }
    let power = BigUint::from(10_u32).pow(exponent.unsigned_abs() as u32);
    let nearest = if exponent >= 0 {
        LongDouble::nearest(sign, number * power, 0, false)
    } else {
        // Enough bits, so that the remainder of the quotient only means "a little more".
        let shift = (power.bits() as i64 - number.bits() as i64).max(0) + MANTISSA_BITS + 2;
        let shifted = number << shift;
        let quotient = &shifted / &power;
        let more = &quotient * &power != shifted;
        LongDouble::nearest(sign, quotient, -shift, more)
    };
    nearest.filter(|nearest| nearest.mantissa != BigInt::ZERO)
}

fn hexadecimal(sign: Sign, text: &[u8]) -> Option<LongDouble> {
    let (digits, after_point, exponent) = parts(text, |byte| byte.eq_ignore_ascii_case(&b'p'))?;
    let number = BigUint::parse_bytes(&digits, 16)?;
    if number == BigUint::ZERO {
        return Some(LongDouble::zero());
    }
    let nearest = LongDouble::nearest(sign, number, exponent - 4 * after_point, false)?;
    (nearest.mantissa != BigInt::ZERO).then_some(nearest)
}

/// Returns the digits of a text, how many of them are after the point, and the exponent. Exponents beyond the
/// range of all numbers are clamped.
fn parts(text: &[u8], marks_exponent: impl Fn(u8) -> bool) -> Option<(Vec<u8>, i64, i64)> {
    let is_mark = |byte: &u8| marks_exponent(*byte);
    let (digits, exponent) = match text.iter().position(is_mark) {
        Some(place) => (&text[..place], parse_exponent(&text[place + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = match digits.iter().position(|byte| *byte == b'.') {
        Some(place) => (&digits[..place], &digits[place + 1..]),
        None => (digits, &[][..]),
    };
    let all = [whole, fraction].concat();
    let is_number = !all.is_empty() && all.iter().all(u8::is_ascii_hexdigit);
    is_number.then_some((all, fraction.len() as i64, exponent))
}

fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let add = |sum: i64, digit: &u8| {
        digit.is_ascii_digit().then(|| (sum * 10 + i64::from(digit - b'0')).min(1 << 40))
    };
    let size = digits.iter().try_fold(0, add)?;
    Some(if negative { -size } else { size })
}

impl fmt::Display for LongDouble {
    /// Formats with 17 decimal places, without trailing zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scaled = self.mantissa.magnitude() * BigUint::from(10_u32).pow(DIGITS_WRITTEN);
        let scaled = match u64::try_from(self.exponent) {
            Ok(shift) => scaled << shift,
            Err(_) => round_off(&scaled, self.exponent.unsigned_abs(), false),
        };
        let width = DIGITS_WRITTEN as usize + 1;
        let digits = format!("{:0>width$}", scaled.to_string());
        let (whole, fraction) = digits.split_at(digits.len() - DIGITS_WRITTEN as usize);
        let fraction = fraction.trim_end_matches('0');
        let is_negative = self.mantissa.sign() == Sign::Minus && scaled != BigUint::ZERO;
        let sign = if is_negative { "-" } else { "" };
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{sign}{whole}{point}{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finite(text: &str) -> Option<LongDouble> {
        match parse(text.as_bytes())? {
            Parsed::Finite(number) => Some(number),
            Parsed::Infinite => None,
        }
    }

    fn shown(text: &str) -> Option<String> {
        finite(text).map(|number| number.to_string())
    }

    fn sum(first: &str, second: &str) -> Option<String> {
        Some(finite(first)?.add(&finite(second)?)?.to_string())
    }

    #[test]
    fn texts_parse_and_format_as_in_the_c_library() {
        // Parsed by strtold and formatted by printf with %.17Lf on x86.
        let cases = [
            ("3", "3"),
            ("3.0e3", "3000"),
            (".5", "0.5"),
            ("5.", "5"),
            ("+1", "1"),
            ("-0", "0"),
            ("-1e-20", "0"),
            ("1e-17", "0.00000000000000001"),
            ("6e-18", "0.00000000000000001"),
            ("5e-18", "0"),
            ("4e-18", "0"),
            ("1.23456789012345678", "1.23456789012345678"),
            ("17179869184", "17179869184"),
            ("0x10", "16"),
            ("0x.8p1", "1"),
            ("0XaP-1", "5"),
            ("1e20", "100000000000000000000"),
            ("1e30", "1000000000000000000024696061952"),
            ("18446744073709551617", "18446744073709551616"),
            ("18446744073709551619", "18446744073709551620"),
            ("0e99999999999999999999", "0"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
        for text in
            ["", " 1", "1 ", "1e", "e1", ".", "nan", "1.2.3", "0x", "1e5000", "1e-5000", "--1", "1a", "infi"]
        {
            assert_eq!(shown(text), None, "{text}");
        }
        assert_eq!(parse(&[b'1'; TEXT_BYTES_MAX + 1]), None);
        assert_eq!(parse(b"-INFINITY"), Some(Parsed::Infinite));
        assert_eq!(parse(b"inf"), Some(Parsed::Infinite));
    }

    #[test]
    fn sums() {
        let cases = [
            ("1", "0.25", Some("1.25")),
            ("3", "1.1", Some("4.1")),
            ("1.5", "-1.5", Some("0")),
            ("1e18", "0.1", Some("1000000000000000000.125")),
            ("17179869184", "1.5", Some("17179869185.5")),
            ("1.1e4932", "1.1e4932", None),
        ];
        for (first, second, expected) in cases {
            assert_eq!(sum(first, second).as_deref(), expected, "{first} + {second}");
        }
    }

    proptest! {
        #[test]
        fn any_text_parses_or_fails(text in "[-+]?(0x|inf|nan|)[0-9a-f.]{0,12}([ep][-+]?[0-9]{0,6})?") {
            if let Some(number) = finite(&text) {
                prop_assert!(number.add(&number).is_none_or(|twice| !twice.to_string().is_empty()));
            }
        }

        #[test]
        fn whole_numbers_of_64_bits_are_exact(first: i64, second: i64) {
            let exact = i128::from(first) + i128::from(second);
            prop_assert_eq!(sum(&first.to_string(), &second.to_string()), Some(exact.to_string()));
        }
    }
}
