//! Decompression of LZF, which Redis uses for long strings.
//!
//! The input consists of literal runs and back-references. A first byte below 32 begins a run of one byte
//! more than its value. In any other first byte, the upper three bits are the length of a back-reference
//! minus two; if all three are set, the next byte is added. The lower five bits and the following byte are
//! the distance minus one.

/// First bytes below this begin a literal run.
const LITERALS_MAX: u8 = 32;
/// The length that is extended by a further byte.
const LONG: usize = 7;

/// Decompresses a string of a given length.
pub(crate) fn expand(mut bytes: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    while let Some((&first, rest)) = bytes.split_first() {
        if first < LITERALS_MAX {
            let (stretch, rest) = rest.split_at_checked(usize::from(first) + 1)?;
            out.extend_from_slice(stretch);
            bytes = rest;
        } else {
            bytes = repeat(first, rest, &mut out)?;
        }
        if out.len() > length {
            return None;
        }
    }
    (out.len() == length).then_some(out)
}

/// Appends a back-reference. Returns the remaining input.
fn repeat<'b>(first: u8, mut rest: &'b [u8], out: &mut Vec<u8>) -> Option<&'b [u8]> {
    let mut take = || {
        let (byte, after) = rest.split_first()?;
        rest = after;
        Some(usize::from(*byte))
    };
    let length = match usize::from(first >> 5) {
        LONG => LONG + take()?,
        short => short,
    };
    let back = usize::from(first & 0x1f) << 8 | take()?;
    let start = out.len().checked_sub(back + 1)?;
    // A back-reference may overlap its own output.
    for place in start..start + length + 2 {
        out.push(out[place]);
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_runs_and_back_references() {
        assert_eq!(expand(b"", 0).as_deref(), Some(&b""[..]));
        assert_eq!(expand(b"\x02abc", 3).as_deref(), Some(&b"abc"[..]));
        assert_eq!(expand(b"\x00a\x20\x00", 4).as_deref(), Some(&b"aaaa"[..]));
        assert_eq!(expand(b"\x02abc\x20\x02\x00d", 7).as_deref(), Some(&b"abcabcd"[..]));
        assert_eq!(expand(b"\x00a\xe0\xff\x00", 265), Some(vec![b'a'; 265]));
    }

    #[test]
    fn malformed_strings_are_rejected() {
        let rejected: [(&[u8], usize); 8] = [
            (b"\x02ab", 3),
            (b"\x02abc", 2),
            (b"\x02abc", 4),
            (b"\x20\x00", 3),
            (b"\x00a\x20\x01", 4),
            (b"\x00a\x20", 4),
            (b"\x00a\xe0", 10),
            (b"\x00a\xe0\x00", 10),
        ];
        for (bytes, length) in rejected {
            assert_eq!(expand(bytes, length), None, "{}", bytes.escape_ascii());
        }
    }
}
