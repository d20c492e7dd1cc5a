//! Commands and replies as text, in the format of `redis-cli`.

use redis::Value;

use crate::escape;

/// Returns a command as a person would type it.
pub(super) fn command(words: &[Vec<u8>]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted_if_necessary(word)).collect();
    words.join(" ")
}

/// Returns the lines of a reply.
pub(super) fn reply(reply: &Value) -> Vec<String> {
    match reply {
        Value::Okay => vec!["OK".into()],
        Value::SimpleString(text) => vec![text.clone()],
        Value::Int(number) => vec![format!("(integer) {number}")],
        Value::BulkString(bytes) => vec![quoted(bytes)],
        Value::Nil => vec!["(nil)".into()],
        Value::Array(items) if items.is_empty() => vec!["(empty array)".into()],
        Value::Array(items) => items
            .iter()
            .enumerate()
            .flat_map(|(index, item)| indented(&format!("{}) ", index + 1), item))
            .collect(),
        Value::ServerError(error) => vec![format!("(error) {error:?}")],
        // The tour executes no command with a reply of another type.
        other => vec![format!("{other:?}")],
    }
}

/// Returns the lines of a reply with a prefix before the first line and equal indentation before the others.
fn indented(prefix: &str, item: &Value) -> Vec<String> {
    let indentation = " ".repeat(prefix.len());
    let prefixes = std::iter::once(prefix).chain(std::iter::repeat(&*indentation));
    prefixes.zip(reply(item)).map(|(prefix, line)| format!("{prefix}{line}")).collect()
}

fn quoted(bytes: &[u8]) -> String {
    format!("\"{}\"", escape::bytes(bytes).replace('"', "\\\""))
}

fn quoted_if_necessary(word: &[u8]) -> String {
    let plain =
        !word.is_empty() && word.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'\\".contains(byte));
    if plain { escape::bytes(word) } else { quoted(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_if_necessary() {
        let words = [&b"SET"[..], b"a key", b"", b"\0\"x"].map(<[u8]>::to_vec);
        assert_eq!(command(&words), r#"SET "a key" "" "\x00\"x""#);
    }

    #[test]
    fn nested_replies_are_indented() {
        let inner = Value::Array(vec![Value::Int(1), Value::Nil]);
        let outer = Value::Array(vec![Value::BulkString(b"a".to_vec()), inner, Value::Array(Vec::new())]);
        let expected = ["1) \"a\"", "2) 1) (integer) 1", "   2) (nil)", "3) (empty array)"];
        assert_eq!(reply(&outer), expected);
    }
}
