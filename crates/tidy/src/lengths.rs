//! Lines, functions and modules stay short. Generated files are exempt.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use proc_macro2::TokenTree;

use crate::{Repository, Source, Violation, tokens};

/// The longest allowed line in characters. Markdown is exempt.
pub const COLUMNS_MAX: usize = 110;
/// The longest allowed function in lines, from its `fn` or `def` to its end.
pub const FUNCTION_LINES_MAX: usize = 70;
/// The longest allowed SystemVerilog module in lines.
pub const MODULE_LINES_MAX: usize = 299;

/// Exempt from the limit of columns, because its tables are aligned.
const WIDE: &str = "layout/layout.toml";

/// Finds lines, functions and modules that are too long. `python3` lists the functions of Python sources.
///
/// # Errors
/// If `python3` cannot run.
pub fn check(repository: &Repository) -> io::Result<Vec<Violation>> {
    let mut found = Vec::new();
    for source in repository.sources().filter(|source| !source.is_generated()) {
        found.extend(long_lines(source));
        let (kind, max, parts) = match source.path.rsplit_once('.').map(|(_, extension)| extension) {
            Some("rs") => ("function", FUNCTION_LINES_MAX, rust_functions(source)),
            Some("py") => ("function", FUNCTION_LINES_MAX, python_functions(source)?),
            Some("sv") => ("module", MODULE_LINES_MAX, modules(source)),
            _ => continue,
        };
        found.extend(long(source, kind, max, parts));
    }
    Ok(found)
}

/// A function or module and its lines.
struct Part {
    name: String,
    first: usize,
    last: usize,
}

fn long_lines(source: &Source) -> Vec<Violation> {
    if source.path.ends_with(".md") || source.path == WIDE {
        return Vec::new();
    }
    let lines = source.text.lines().enumerate().map(|(index, line)| (index + 1, line.chars().count()));
    let long = lines.filter(|(_, columns)| *columns > COLUMNS_MAX);
    long.map(|(line, columns)| source.violation(line, format!("{columns} columns, at most {COLUMNS_MAX}")))
        .collect()
}

fn long(source: &Source, kind: &str, max: usize, parts: Vec<Part>) -> Vec<Violation> {
    let lines = |part: &Part| part.last - part.first + 1;
    let message = |part: &Part| format!("{kind} {} has {} lines, at most {max}", part.name, lines(part));
    let long = parts.iter().filter(|part| lines(part) > max);
    long.map(|part| source.violation(part.first, message(part))).collect()
}

/// Functions with a body, also in macros: `fn NAME ... { ... }`. Returns nothing for a source that does not
/// parse, because the rule on `unsafe` reports it.
fn rust_functions(source: &Source) -> Vec<Part> {
    let mut found = Vec::new();
    let Ok(tokens) = tokens::parse(source) else {
        return found;
    };
    tokens::each_level(tokens, &mut |level| {
        for (index, token) in level.iter().enumerate().filter(|(_, token)| tokens::is_word(token, "fn")) {
            found.extend(rust_function(token, &level[index + 1..]));
        }
    });
    found
}

fn rust_function(keyword: &TokenTree, rest: &[TokenTree]) -> Option<Part> {
    let name = rest.first()?.to_string();
    let body = rest.iter().find(|token| tokens::is_braces(token) || tokens::is_mark(token, ';'))?;
    let last = body.span().end().line;
    Some(Part { name, first: tokens::line(keyword), last })
}

/// Prints `name first last` for every function of the program on standard input.
const PYTHON: &str = "
import ast, sys
for node in ast.walk(ast.parse(sys.stdin.read())):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        print(node.name, node.lineno, node.end_lineno)
";

fn python_functions(source: &Source) -> io::Result<Vec<Part>> {
    let mut python = Command::new("python3")
        .args(["-c", PYTHON])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    python.stdin.take().map_or(Ok(()), |mut input| input.write_all(source.text.as_bytes()))?;
    let output = python.wait_with_output()?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("{}: {reason}", source.path)));
    }
    let part = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?.into();
        Some(Part { name, first: words.next()?.parse().ok()?, last: words.next()?.parse().ok()? })
    };
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(part).collect())
}

fn modules(source: &Source) -> Vec<Part> {
    let mut found: Vec<Part> = Vec::new();
    for (index, text) in source.text.lines().enumerate() {
        let line = index + 1;
        if let Some(rest) = text.trim_start().strip_prefix("module ") {
            let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            found.push(Part { name: name.into(), first: line, last: line });
        } else if text.trim_start().starts_with("endmodule")
            && let Some(module) = found.last_mut()
        {
            module.last = line;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(path: &str, text: &str) -> Vec<String> {
        let found = check(&Repository::sample(&[(path, text)])).expect("python3 runs");
        found.iter().map(ToString::to_string).collect()
    }

    fn rust(body_lines: usize) -> String {
        format!(
            "impl Wax {{\n    fn melt() -> u8 {{\n{}    }}\n}}\n",
            "        drop(1);\n".repeat(body_lines)
        )
    }

    #[test]
    fn finds_a_long_line() {
        let line = |columns: usize| "é".repeat(columns);
        assert_eq!(
            violations("a.toml", &format!("#\n{}", line(111))),
            ["a.toml:2: 111 columns, at most 110"]
        );
        assert!(violations("a.toml", &line(110)).is_empty());
        assert!(violations("a.md", &line(111)).is_empty());
        assert!(violations("layout/layout.toml", &line(111)).is_empty());
    }

    #[test]
    fn finds_a_long_rust_function() {
        assert!(violations("a.rs", &rust(68)).is_empty());
        assert_eq!(violations("a.rs", &rust(69)), ["a.rs:2: function melt has 71 lines, at most 70"]);
        let within_macro = format!("wax! {{ {} }}", rust(69));
        assert_eq!(violations("a.rs", &within_macro).len(), 1);
    }

    #[test]
    fn a_function_without_a_body_does_not_take_the_next_one() {
        let text = format!("trait Wax {{\n    fn pour(&self);\n{}}}", "    const A: u8 = 1;\n".repeat(80));
        assert!(violations("a.rs", &text).is_empty());
    }

    #[test]
    fn finds_a_long_python_function() {
        let python =
            |lines: usize| format!("class Wax:\n    def melt(self):\n{}", "        pass\n".repeat(lines));
        assert!(violations("a.py", &python(69)).is_empty());
        assert_eq!(violations("a.py", &python(70)), ["a.py:2: function melt has 71 lines, at most 70"]);
        assert!(check(&Repository::sample(&[("a.py", "def (")])).is_err());
    }

    #[test]
    fn finds_a_long_module() {
        let module =
            |lines: usize| format!("module wax (input a);\n{}endmodule\n", "  // wax\n".repeat(lines));
        assert!(violations("a.sv", &module(297)).is_empty());
        assert_eq!(violations("a.sv", &module(298)), ["a.sv:1: module wax has 300 lines, at most 299"]);
    }

    #[test]
    fn generated_files_are_exempt() {
        assert!(violations("a.rs", &format!("// Generated by wax.py\n{}", rust(80))).is_empty());
    }
}
