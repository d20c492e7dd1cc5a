//! Inline requests: lines of words, which may have quotes.

use std::ops::Range;

/// Appends the words of a line to `words`, and their ranges in it to `ranges`. Returns `None` if a quote is
/// not closed or does not end its word.
///
/// Between double quotes `\n`, `\r`, `\t`, `\a`, `\b` and `\xhh` are escapes, and `\` before any other byte
/// stands for that byte. Between single quotes the only escape is `\'`.
pub(crate) fn split(line: &[u8], words: &mut Vec<u8>, ranges: &mut Vec<Range<usize>>) -> Option<()> {
    let mut rest = line.trim_ascii();
    while !rest.is_empty() {
        let start = words.len();
        rest = word(rest, words)?.trim_ascii_start();
        ranges.push(start..words.len());
    }
    Some(())
}

/// Appends the word at the front of `rest` and returns the bytes after it.
fn word<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    while let [first, after @ ..] = rest {
        rest = match first {
            b'"' | b'\'' => return quoted(*first, after, out),
            _ if first.is_ascii_whitespace() => return Some(rest),
            _ => {
                out.push(*first);
                after
            }
        };
    }
    Some(rest)
}

/// Appends the quoted bytes up to the next `quote`, which must end the word. Returns the bytes after it.
fn quoted<'a>(quote: u8, mut rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (byte, after) = match rest {
            [first, after @ ..] if *first == quote => {
                return after.first().is_none_or(u8::is_ascii_whitespace).then_some(after);
            }
            [b'\\', after @ ..] if quote == b'"' => escaped(after)?,
            [b'\\', b'\'', after @ ..] => (b'\'', after),
            [first, after @ ..] => (*first, after),
            [] => return None,
        };
        out.push(byte);
        rest = after;
    }
}

/// Decodes the escape after a backslash. Returns the byte and the rest.
fn escaped(rest: &[u8]) -> Option<(u8, &[u8])> {
    if let [b'x', high, low, after @ ..] = rest
        && let (Some(high), Some(low)) = (digit(*high), digit(*low))
    {
        return Some((high << 4 | low, after));
    }
    let (first, after) = rest.split_first()?;
    let byte = match first {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'a' => 7,
        b'b' => 8,
        other => *other,
    };
    Some((byte, after))
}

fn digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
        let (mut bytes, mut ranges) = (Vec::new(), Vec::new());
        split(line, &mut bytes, &mut ranges)?;
        Some(ranges.into_iter().map(|range| bytes[range].to_vec()).collect())
    }

    #[test]
    fn words_and_quotes() {
        let cases: [(&[u8], &[&[u8]]); 7] = [
            (b"", &[]),
            (b"  a  bc ", &[b"a", b"bc"]),
            (b"\"a b\" ''", &[b"a b", b""]),
            (b"a\"b c\"", &[b"ab c"]),
            (br#""\n\r\t\a\b\\\"\x0fg\xg""#, &[b"\n\r\t\x07\x08\\\"\x0fgxg"]),
            (br"'it\'s \n'", &[br"it's \n"]),
            (b"\xff\x00", &[b"\xff\x00"]),
        ];
        for (line, expected) in cases {
            assert_eq!(words(line).unwrap(), expected, "{}", line.escape_ascii());
        }
        for line in [&b"\"a"[..], b"'a", b"\"a\"b", b"'a'b", br#""a\"#] {
            assert_eq!(words(line), None, "{}", line.escape_ascii());
        }
    }
}
