//! Encodings of keys and values as text, in arguments, input and output.
//!
//! The default output is *escaped*: printable UTF-8 characters stay; backslash becomes `\\`; tab, line feed
//! and carriage return become `\t`, `\n` and `\r`; each byte of other control characters and of invalid UTF-8
//! becomes `\xNN`. Different byte strings have different texts, and decoding a text returns the bytes.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// An encoding of bytes as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// The bytes themselves. For input only.
    Plain,
    /// UTF-8 with backslash escapes; see the module.
    Escaped,
    /// Two hexadecimal digits per byte.
    Hex,
    /// Standard Base64 with padding.
    Base64,
}

impl Encoding {
    /// Decodes `text`.
    ///
    /// # Errors
    /// The text is invalid. The error names the allowed values.
    pub(crate) fn decode(self, text: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Encoding::Plain => Ok(text.to_vec()),
            Encoding::Escaped => unescape(text),
            Encoding::Hex => from_hex(text),
            Encoding::Base64 => STANDARD.decode(text).map_err(|error| format!("not Base64: {error}")),
        }
    }

    /// Encodes `bytes`. `Plain` replaces invalid UTF-8, so its text cannot be decoded.
    pub(crate) fn encode(self, bytes: &[u8]) -> String {
        match self {
            Encoding::Plain => String::from_utf8_lossy(bytes).into_owned(),
            Encoding::Escaped => escape(bytes),
            Encoding::Hex => to_hex(bytes),
            Encoding::Base64 => STANDARD.encode(bytes),
        }
    }
}

/// Returns a path, escaped.
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

/// Decodes one escape. Returns its byte and the length of the escape after the backslash.
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
            Err(format!("unknown escape `\\{shown}`; allowed are {allowed}"))
        }
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &[u8]) -> Result<Vec<u8>, String> {
    if !text.len().is_multiple_of(2) {
        return Err(format!("{} hexadecimal digits; each byte requires two", text.len()));
    }
    text.chunks_exact(2).map(|pair| Ok(hex_digit(pair[0])? << 4 | hex_digit(pair[1])?)).collect()
}

fn hex_digit(digit: u8) -> Result<u8, String> {
    match char::from(digit).to_digit(16) {
        Some(value) => Ok(value as u8),
        None => Err(format!("`{}` is not a hexadecimal digit; allowed are 0-9, a-f, A-F", escape(&[digit]))),
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
        assert_eq!(Encoding::Hex.encode(&[0, 0xab]), "00ab");
        assert_eq!(Encoding::Base64.encode(b"hive"), "aGl2ZQ==");
    }

    #[test]
    fn invalid_text_is_rejected() {
        for text in ["\\q", "\\", "\\x", "\\x1", "\\xzz", "a\\u0041"] {
            let error = Encoding::Escaped.decode(text.as_bytes()).unwrap_err();
            assert!(error.contains("allowed are"), "{text}: {error}");
        }
        assert!(Encoding::Hex.decode(b"abc").unwrap_err().contains("requires two"));
        assert!(Encoding::Hex.decode(b"0g").unwrap_err().contains("`g`"));
        assert!(Encoding::Base64.decode(b"a").unwrap_err().contains("not Base64"));
    }

    proptest! {
        #[test]
        fn decoding_returns_the_encoded_bytes(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            for encoding in [Encoding::Escaped, Encoding::Hex, Encoding::Base64] {
                prop_assert_eq!(encoding.decode(encoding.encode(&bytes).as_bytes()), Ok(bytes.clone()));
            }
            prop_assert_eq!(Encoding::Plain.decode(&bytes), Ok(bytes));
        }

        #[test]
        fn escaped_text_has_no_separators(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(!escape(&bytes).chars().any(char::is_control));
        }
    }
}
