//! Sizes of memory as arguments, such as `512MiB`.

const UNITS: [(&str, u64); 5] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// Parses a whole number with a unit and returns the size in bytes. The parser accepts no decimal units and
/// no fractions, which parsers of public crates do.
///
/// # Errors
/// The text is invalid. The error names the allowed values.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let allowed = "allowed are a whole number and B, KiB, MiB, GiB or TiB, such as 4GiB";
    let unit = unit.trim_start();
    let Some((_, size)) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) else {
        return Err(format!("unknown unit `{unit}`; {allowed}"));
    };
    let number: u64 = number.parse().map_err(|_| format!("`{number}` is not a 64-bit number; {allowed}"))?;
    number.checked_mul(*size).ok_or_else(|| format!("the size exceeds 64 bits; {allowed}"))
}

/// Parses a size of at least one byte.
///
/// # Errors
/// Those of [`parse`], or the size is 0.
pub(crate) fn parse_positive(text: &str) -> Result<u64, String> {
    match parse(text)? {
        0 => Err("the size is 0; allowed are 1B and more".into()),
        size => Ok(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed() {
        assert_eq!(parse("4GiB"), Ok(4 << 30));
        assert_eq!(parse("512 mib"), Ok(512 << 20));
        assert_eq!(parse("7B"), Ok(7));
        assert_eq!(parse_positive("1B"), Ok(1));
    }

    #[test]
    fn invalid_sizes_are_rejected() {
        for (text, problem) in [
            ("4", "unknown unit ``"),
            ("4GB", "unknown unit `GB`"),
            ("1.5GiB", "unknown unit `.5GiB`"),
            ("GiB", "`` is not a 64-bit number"),
            ("-1GiB", "unknown unit `-1GiB`"),
            ("99999999999999999999B", "is not a 64-bit number"),
            ("99999999TiB", "exceeds 64 bits"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(problem) && error.contains("such as 4GiB"), "{text}: {error}");
        }
    }
}
