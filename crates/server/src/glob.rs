//! Patterns of key names: `*`, `?`, `[a-z]`, `[^x]`, and `\` before a literal byte.

use crate::arguments::check_length;
use crate::failure::Failure;

/// Maximum number of bytes of a pattern: more than twice the bytes of a key. A comparison takes a time up to
/// the product of the lengths of pattern and name, and a command compares its pattern with many names.
const PATTERN_BYTES_MAX: usize = 1 << 10;

/// Returns the pattern of a client, or an error if it is too long.
pub(crate) fn checked(pattern: &[u8]) -> Result<&[u8], Failure> {
    check_length("pattern", (pattern.len(), "bytes"), PATTERN_BYTES_MAX)?;
    Ok(pattern)
}

/// Returns the name of a channel, or an error if it is too long. A message compares the name of its channel
/// with all patterns of all clients.
pub(crate) fn checked_channel(name: &[u8]) -> Result<&[u8], Failure> {
    check_length("channel", (name.len(), "bytes"), PATTERN_BYTES_MAX)?;
    Ok(name)
}

/// Returns whether a name matches a pattern. The time is at most the product of their lengths.
pub(crate) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut pattern, mut name) = (pattern, name);
    // The position to continue from if the pattern after the last star does not match here.
    let mut again: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', after @ ..] = pattern {
            again = Some((after, name));
            pattern = after;
            continue;
        }
        let step = match (pattern.is_empty(), name.split_first()) {
            (true, None) => return true,
            (false, Some((byte, rest))) => one(pattern, *byte).map(|after| (after, rest)),
            _ => None,
        };
        match (step, again) {
            (Some((after, rest)), _) => (pattern, name) = (after, rest),
            (None, Some((after, from))) if !from.is_empty() => {
                (pattern, name) = (after, &from[1..]);
                again = Some((after, name));
            }
            _ => return false,
        }
    }
}

/// Returns the pattern after its first element if a byte matches this element.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let (matched, after) = match pattern {
        [b'?', after @ ..] => (true, after),
        [b'\\', literal, after @ ..] => (*literal == byte, after),
        [b'[', after @ ..] => class(after, byte),
        [literal, after @ ..] => (*literal == byte, after),
        [] => (false, pattern),
    };
    matched.then_some(after)
}

/// Returns whether a byte is in the class at the front, and the pattern after the class. A class without an
/// end extends to the end of the pattern.
fn class(pattern: &[u8], byte: u8) -> (bool, &[u8]) {
    let (negated, mut rest) = match pattern {
        [b'^', after @ ..] => (true, after),
        _ => (false, pattern),
    };
    let mut found = false;
    loop {
        rest = match rest {
            [] => return (found != negated, rest),
            [b']', after @ ..] => return (found != negated, after),
            [b'\\', literal, after @ ..] => {
                found |= *literal == byte;
                after
            }
            [low, b'-', high, after @ ..] if *high != b']' => {
                found |= (*low.min(high)..=*low.max(high)).contains(&byte);
                after
            }
            [literal, after @ ..] => {
                found |= *literal == byte;
                after
            }
        };
    }
}

/// Returns the common prefix of all names that match a pattern.
pub(crate) fn prefix(pattern: &[u8]) -> &[u8] {
    let end = pattern.iter().position(|byte| b"*?[\\".contains(byte));
    &pattern[..end.unwrap_or(pattern.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let cases = [
            ("", "", true),
            ("*", "", true),
            ("*", "any", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[abc]x", "bx", true),
            ("[^abc]x", "bx", false),
            ("[a-c]x", "bx", true),
            ("[c-a]x", "bx", true),
            ("[a-", "-", true),
            ("[\\]]", "]", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("user:*:name", "user:17:name", true),
            ("*a*b*c", "xxaxxbxxbxc", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_do_not_take_exponential_time() {
        assert!(!matches(&b"*a".repeat(200), &b"a".repeat(199)));
    }

    #[test]
    fn a_pattern_has_a_limit() {
        let long = [b'*'; PATTERN_BYTES_MAX + 1];
        for bytes in [0, PATTERN_BYTES_MAX - 1, PATTERN_BYTES_MAX] {
            assert_eq!(checked(&long[..bytes]), Ok(&long[..bytes]));
        }
        assert!(checked(&long).is_err());
    }

    #[test]
    fn the_prefix_of_a_pattern() {
        assert_eq!(prefix(b"user:*"), b"user:");
        assert_eq!(prefix(b"plain"), b"plain");
        assert_eq!(prefix(b"[a]"), b"");
    }
}
