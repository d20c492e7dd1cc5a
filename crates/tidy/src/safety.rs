//! Only `memory` and one file of `simulator` contain `unsafe`, and each block or implementation states why it
//! is sound.

use proc_macro2::TokenTree;

use crate::{Repository, Source, Violation, tokens};

/// The paths that may contain `unsafe`: the crate of the bytes that readers and writers share, and the file
/// that calls the Verilated model.
pub const UNSAFE_PATHS: [&str; 2] = ["crates/memory/", "crates/simulator/src/model.rs"];

/// Finds `unsafe` outside these paths, and blocks without a `SAFETY:` comment directly above.
pub fn check(repository: &Repository) -> Vec<Violation> {
    repository.with_extension("rs").flat_map(check_source).collect()
}

fn check_source(source: &Source) -> Vec<Violation> {
    let tokens = match tokens::parse(source) {
        Ok(tokens) => tokens,
        Err(violation) => return vec![violation],
    };
    let allowed = UNSAFE_PATHS.iter().any(|path| source.path.starts_with(path));
    let mut found = Vec::new();
    tokens::each_level(tokens, &mut |level| {
        for (index, token) in level.iter().enumerate().filter(|(_, token)| tokens::is_word(token, "unsafe")) {
            let line = tokens::line(token);
            if !allowed {
                found.push(
                    source
                        .violation(line, "`unsafe` outside crates/memory and crates/simulator/src/model.rs"),
                );
            } else if needs_reason(level.get(index + 1)) && !has_reason(&source.text, line) {
                found.push(source.violation(line, "`unsafe` without a `SAFETY:` comment directly above"));
            }
        }
    });
    found
}

/// Blocks and implementations fulfil a contract, so they need a reason. `unsafe fn` and `unsafe trait` state
/// a contract; clippy requires their `# Safety` section.
fn needs_reason(next: Option<&TokenTree>) -> bool {
    next.is_some_and(|token| tokens::is_braces(token) || tokens::is_word(token, "impl"))
}

/// Returns whether a comment with `SAFETY:` is directly above the statement, field or argument that contains
/// `line`.
fn has_reason(text: &str, line: usize) -> bool {
    let above: Vec<&str> = text.lines().take(line - 1).map(str::trim).collect();
    let is_comment = |line: &&&str| line.starts_with("//");
    let goes_on =
        |line: &&&str| !is_comment(line) && !line.is_empty() && !line.ends_with([';', '{', '}', ',']);
    let within = above.iter().rev().take_while(goes_on).count();
    above.iter().rev().skip(within).take_while(is_comment).any(|comment| comment.contains("SAFETY:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let found = check(&Repository::sample(&[(path, text)]));
        let mut lines: Vec<usize> = found.iter().map(|violation| violation.line).collect();
        lines.sort_unstable();
        lines
    }

    #[test]
    fn finds_unsafe_outside_its_places() {
        let bad = "fn a() {\n    wax!(unsafe { b() })\n}\n#[unsafe(no_mangle)]\nfn c() {}\n";
        assert_eq!(lines("crates/store/src/lib.rs", bad), [2, 4]);
        assert_eq!(lines("crates/simulator/src/lib.rs", bad), [2, 4]);
        let good = "#![deny(unsafe_code)]\n// unsafe\nconst A: &str = \"unsafe { }\";\n";
        assert!(lines("crates/store/src/lib.rs", good).is_empty());
    }

    #[test]
    fn finds_unsafe_without_a_reason() {
        let bad = "fn a() {\n    let b = 1;\n    unsafe { c() }\n}\nunsafe impl Send for A {}\n";
        assert_eq!(lines("crates/memory/src/lib.rs", bad), [3, 5]);
    }

    #[test]
    fn a_reason_holds_for_what_is_right_below_it() {
        let good = "// SAFETY: plain\n// bytes.\nunsafe impl Send for A {}\nfn a() -> u8 {\n    \
            // SAFETY: b.\n    let c =\n        unsafe { d() };\n    c\n}\nunsafe fn e();\n";
        assert!(lines("crates/memory/src/lib.rs", good).is_empty());
        let shared = "// SAFETY: one reason for two.\nunsafe impl Send for A {}\nunsafe impl Sync for A {}\n";
        assert_eq!(lines("crates/memory/src/lib.rs", shared), [3]);
    }

    #[test]
    fn finds_what_is_not_rust() {
        assert_eq!(lines("crates/store/src/lib.rs", "fn a() {\n"), [1]);
    }
}
