//! Bytes as text: how keys and values are read from arguments and input, and how they are printed.
//!
//! What the command prints is *escaped* unless asked otherwise: printable UTF-8 stands for itself, a
//! backslash is `\\`, tab, line feed and carriage return are `\t`, `\n` and `\r`, and every other byte
//! (control characters, bytes that are not UTF-8) is `\xNN`. No two byte strings print alike, and reading
//! what was printed gives the bytes back.

use base64::{Engine, engine::general_purpose::STANDARD};
use std::{os::unix::ffi::OsStrExt, path::Path};

/// How bytes are written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The text's own bytes, whatever they are. For input only.
    Plain,
    /// UTF-8 with backslash escapes; see the module.
    Escaped,
    /// Two hexadecimal digits a byte.
    Hex,
    /// Standard Base64 with padding.
    Base64,
}

impl Form {
    /// The bytes that `text` stands for.
    ///
    /// # Errors
    /// What is wrong with the text, and what is allowed.
    pub(crate) fn read(self, text: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Form::Plain => Ok(text.to_vec()),
            Form::Escaped => unescape(text),
            Form::Hex => from_hex(text),
            Form::Base64 => STANDARD.decode(text).map_err(|error| format!("not Base64: {error}")),
        }
    }

    /// Text that stands for `bytes`; `Plain` replaces what is not UTF-8 and is no use for reading back.
    pub(crate) fn print(self, bytes: &[u8]) -> String {
        match self {
            Form::Plain => String::from_utf8_lossy(bytes).into_owned(),
            Form::Escaped => escape(bytes),
            Form::Hex => to_hex(bytes),
            Form::Base64 => STANDARD.encode(bytes),
        }
    }
}

/// A path, escaped.
pub(crate) fn path(path: &Path) -> String {
    escape(path.as_os_str().as_bytes())
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            escape_character(character, &mut text);
        }
        chunk.invalid().iter().for_each(|byte| escape_byte(*byte, &mut text));
    }
    text
}

fn escape_character(character: char, text: &mut String) {
    match character {
        '\\' => text.push_str("\\\\"),
        '\t' => text.push_str("\\t"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        _ if character.is_control() => {
            let mut buffer = [0; 4];
            character.encode_utf8(&mut buffer).bytes().for_each(|byte| escape_byte(byte, text));
        }
        _ => text.push(character),
    }
}

fn escape_byte(byte: u8, text: &mut String) {
    text.push_str(&format!("\\x{byte:02x}"));
}

fn unescape(text: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let (byte, used) = if first == b'\\' { unescape_one(after)? } else { (first, 0) };
        bytes.push(byte);
        rest = &after[used..];
    }
    Ok(bytes)
}

/// The byte that an escape stands for and how many bytes follow its backslash.
fn unescape_one(after: &[u8]) -> Result<(u8, usize), String> {
    match after {
        [b'\\', ..] => Ok((b'\\', 1)),
        [b't', ..] => Ok((b'\t', 1)),
        [b'n', ..] => Ok((b'\n', 1)),
        [b'r', ..] => Ok((b'\r', 1)),
        [b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            Ok((hex_digit(*high)? << 4 | hex_digit(*low)?, 3))
        }
        _ => {
            let shown = String::from_utf8_lossy(&after[..after.len().min(3)]);
            let allowed = "\\\\ \\t \\n \\r and \\x with two hexadecimal digits";
            Err(format!("no such escape: `\\{shown}`; allowed are {allowed}"))
        }
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &[u8]) -> Result<Vec<u8>, String> {
    if !text.len().is_multiple_of(2) {
        return Err(format!("{} hexadecimal digits; two are needed for every byte", text.len()));
    }
    text.chunks_exact(2).map(|pair| Ok(hex_digit(pair[0])? << 4 | hex_digit(pair[1])?)).collect()
}

fn hex_digit(digit: u8) -> Result<u8, String> {
    match char::from(digit).to_digit(16) {
        Some(value) => Ok(value as u8),
        None => Err(format!("`{}` is no hexadecimal digit; allowed are 0-9, a-f, A-F", escape(&[digit]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_as_documented() {
        assert_eq!(escape("a\\b\tc\nd\re\0é\u{85}".as_bytes()), "a\\\\b\\tc\\nd\\re\\x00é\\xc2\\x85");
        assert_eq!(escape(&[0xff, b'a', 0xc3]), "\\xffa\\xc3");
        assert_eq!(Form::Hex.print(&[0, 0xab]), "00ab");
        assert_eq!(Form::Base64.print(b"hive"), "aGl2ZQ==");
    }

    #[test]
    fn bad_text_is_refused_with_what_is_allowed() {
        for text in ["\\q", "\\", "\\x", "\\x1", "\\xzz", "a\\u0041"] {
            let error = Form::Escaped.read(text.as_bytes()).unwrap_err();
            assert!(error.contains("allowed are"), "{text}: {error}");
        }
        assert!(Form::Hex.read(b"abc").unwrap_err().contains("two are needed"));
        assert!(Form::Hex.read(b"0g").unwrap_err().contains("`g`"));
        assert!(Form::Base64.read(b"a").unwrap_err().contains("not Base64"));
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            for form in [Form::Escaped, Form::Hex, Form::Base64] {
                prop_assert_eq!(form.read(form.print(&bytes).as_bytes()), Ok(bytes.clone()));
            }
            prop_assert_eq!(Form::Plain.read(&bytes), Ok(bytes));
        }

        #[test]
        fn escaped_text_has_no_separators(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(!escape(&bytes).chars().any(char::is_control));
        }
    }
}
