//! Bytes as printable text: UTF-8 with backslash escapes, as `honeycomb scan` prints it.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns `bytes` as text. Backslashes are doubled. Control characters and bytes that are not UTF-8 become
/// `\t`, `\n`, `\r` or `\xNN`.
pub(crate) fn bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' | '\t' | '\n' | '\r' => text.extend(character.escape_default()),
                _ if character.is_control() => hex(character.encode_utf8(&mut [0; 4]).as_bytes(), &mut text),
                _ => text.push(character),
            }
        }
        hex(chunk.invalid(), &mut text);
    }
    text
}

/// Returns a path as text.
pub(crate) fn path(path: &Path) -> String {
    bytes(path.as_os_str().as_bytes())
}

fn hex(bytes: &[u8], text: &mut String) {
    // Writing to a string cannot fail.
    bytes.iter().for_each(|byte| _ = write!(text, "\\x{byte:02x}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_printable_characters_are_left() {
        assert_eq!(bytes("a\\b\tc\nd\re\0é\u{85}".as_bytes()), "a\\\\b\\tc\\nd\\re\\x00é\\xc2\\x85");
        assert_eq!(bytes(&[0xff, b'a', 0xc3]), "\\xffa\\xc3");
    }
}
