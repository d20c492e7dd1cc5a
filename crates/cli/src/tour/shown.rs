//! Commands and answers as people read them.

use crate::text::Form;
use honeycomb_protocol::resp::Reply;

/// A command as a person would type it.
pub(super) fn command(words: &[Vec<u8>]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted_if_need_be(word)).collect();
    words.join(" ")
}

/// An answer, line by line.
pub(super) fn answer(answer: &Reply) -> Vec<String> {
    match answer {
        Reply::Simple(text) => vec![text.clone()],
        Reply::Error(text) => vec![format!("(error) {text}")],
        Reply::Integer(number) => vec![format!("(integer) {number}")],
        Reply::Bulk(bytes) => vec![quoted(bytes)],
        Reply::Null => vec!["(nil)".into()],
        Reply::Array(answers) if answers.is_empty() => vec!["(empty array)".into()],
        Reply::Array(answers) => {
            let numbered = |(index, one): (usize, &Reply)| below(&format!("{}) ", index + 1), one);
            answers.iter().enumerate().flat_map(numbered).collect()
        }
        Reply::Map(pairs) => pairs
            .iter()
            .flat_map(|(key, value)| below("", key).into_iter().chain(below("  ", value)))
            .collect(),
    }
}

/// The lines of an answer, the first behind a mark and the others as far to the right.
fn below(mark: &str, one: &Reply) -> Vec<String> {
    let indent = " ".repeat(mark.len());
    let line = |(index, line): (usize, String)| format!("{}{line}", if index == 0 { mark } else { &indent });
    answer(one).into_iter().enumerate().map(line).collect()
}

fn quoted(bytes: &[u8]) -> String {
    format!("\"{}\"", Form::Escaped.print(bytes).replace('"', "\\\""))
}

fn quoted_if_need_be(word: &[u8]) -> String {
    let plain =
        !word.is_empty() && word.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'\\".contains(byte));
    if plain { Form::Escaped.print(word) } else { quoted(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_where_they_need_it() {
        let words = [&b"SET"[..], b"a key", b"", b"\0\"x"].map(<[u8]>::to_vec);
        assert_eq!(command(&words), r#"SET "a key" "" "\x00\"x""#);
    }

    #[test]
    fn answers_in_answers_are_indented() {
        let inner = Reply::Array(vec![Reply::Integer(1), Reply::Null]);
        let outer = Reply::Array(vec![Reply::Bulk(b"a".to_vec()), inner, Reply::Array(Vec::new())]);
        let expected = ["1) \"a\"", "2) 1) (integer) 1", "   2) (nil)", "3) (empty array)"];
        assert_eq!(answer(&outer), expected);
    }
}
