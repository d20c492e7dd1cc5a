//! Strings that LZF has compressed, as Redis has long ones.
//!
//! They are stretches of bytes and repetitions of what came before. A byte below 32 says that one byte
//! more than that follows. The upper three bits of any other byte say how many bytes are repeated, less two;
//! if all three are set, a further byte is added to that. Its lower five bits and the byte that comes next
//! say how far back, less one.

/// Bytes in a stretch, less one, that the first byte can say.
const STRETCH_MAX: u8 = 32;
/// What stands for a length that a further byte adds to.
const LONG: usize = 7;

/// What some bytes stand for, if that has this length.
pub(crate) fn expand(mut bytes: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    while let Some((&first, rest)) = bytes.split_first() {
        if first < STRETCH_MAX {
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

/// Repeats what the first byte and those after it say; returns what follows them.
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
    // What is repeated may itself be repeated.
    for place in start..start + length + 2 {
        out.push(out[place]);
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_and_repetitions() {
        assert_eq!(expand(b"", 0).as_deref(), Some(&b""[..]));
        assert_eq!(expand(b"\x02abc", 3).as_deref(), Some(&b"abc"[..]));
        assert_eq!(expand(b"\x00a\x20\x00", 4).as_deref(), Some(&b"aaaa"[..]));
        assert_eq!(expand(b"\x02abc\x20\x02\x00d", 7).as_deref(), Some(&b"abcabcd"[..]));
        assert_eq!(expand(b"\x00a\xe0\xff\x00", 265), Some(vec![b'a'; 265]));
    }

    #[test]
    fn what_is_too_short_too_long_or_of_another_length_is_refused() {
        let refused: [(&[u8], usize); 8] = [
            (b"\x02ab", 3),
            (b"\x02abc", 2),
            (b"\x02abc", 4),
            (b"\x20\x00", 3),
            (b"\x00a\x20\x01", 4),
            (b"\x00a\x20", 4),
            (b"\x00a\xe0", 10),
            (b"\x00a\xe0\x00", 10),
        ];
        for (bytes, length) in refused {
            assert_eq!(expand(bytes, length), None, "{}", bytes.escape_ascii());
        }
    }
}
