//! Rust sources as tokens. Comments and strings are not code; the contents of macros are.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use crate::{Source, Violation};

/// Returns the tokens of a Rust source, or a violation if it does not parse.
pub(crate) fn parse(source: &Source) -> Result<TokenStream, Violation> {
    source.text.parse().map_err(|error: proc_macro2::LexError| {
        source.violation(error.span().start().line, format!("not Rust: {error}"))
    })
}

/// Calls `visit` with the outermost tokens, and with the tokens inside each pair of brackets.
pub(crate) fn each_level(tokens: TokenStream, visit: &mut impl FnMut(&[TokenTree])) {
    let level: Vec<TokenTree> = tokens.into_iter().collect();
    visit(&level);
    for token in level {
        if let TokenTree::Group(group) = token {
            each_level(group.stream(), visit);
        }
    }
}

/// Calls `visit` with every path and every prefix of a path (`a`, `a::b` and `a::c` for `a::{b, c}`), and
/// with the line of its last name. `prefix` is the path before the braces that enclose `tokens`.
pub(crate) fn each_path(tokens: TokenStream, prefix: &str, visit: &mut impl FnMut(&str, usize)) {
    let mut path = prefix.to_string();
    // Whether a name would continue `path`, and whether the last token was the first half of `::`.
    let (mut joined, mut half) = (true, false);
    for token in tokens {
        match &token {
            TokenTree::Ident(name) => {
                path = if joined && !path.is_empty() { format!("{path}::{name}") } else { name.to_string() };
                visit(&path, line(&token));
                joined = false;
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' && (half || mark.spacing() == Spacing::Joint) => {
                joined = half;
                half = !half;
            }
            TokenTree::Group(group) => {
                each_path(group.stream(), if joined { &path } else { "" }, visit);
                joined = false;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {
                path = prefix.to_string();
                joined = true;
            }
        }
    }
}

/// Returns whether `token` is the identifier or keyword `word`.
pub(crate) fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

/// Returns whether `token` is a group in braces.
pub(crate) fn is_braces(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

/// Returns whether `token` is the punctuation `mark`.
pub(crate) fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// Returns the first line of `token`.
pub(crate) fn line(token: &TokenTree) -> usize {
    token.span().start().line
}

/// Returns `tokens` without the items below a `#[cfg(test)]` or a similar condition.
pub(crate) fn without_tests(tokens: TokenStream) -> TokenStream {
    let mut in_tests = false;
    let mut tokens = tokens.into_iter().peekable();
    let mut kept = Vec::new();
    while let Some(token) = tokens.next() {
        in_tests |= is_mark(&token, '#') && tokens.peek().is_some_and(is_test_condition);
        let ends = is_braces(&token) || is_mark(&token, ';');
        if !in_tests {
            kept.push(token);
        }
        in_tests &= !ends;
    }
    kept.into_iter().collect()
}

fn is_test_condition(attribute: &TokenTree) -> bool {
    let text = attribute.to_string().replace(' ', "");
    text.starts_with("[cfg(") && text.contains("test") && !text.contains("not(test")
}
