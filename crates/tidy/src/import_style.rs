//! One style of imports: a statement for each module, in three groups (`std`, other crates, this crate) with
//! a blank line between two groups. Stable rustfmt sorts the statements of a group, but cannot group them.

use crate::{Repository, Source, Violation};

/// Finds imports of several modules in one statement, and imports that are not in their group.
pub fn check(repository: &Repository) -> Vec<Violation> {
    let sources = repository.with_extension("rs").filter(|source| !source.is_generated());
    sources.flat_map(|source| [nested(source), ungrouped(source)].concat()).collect()
}

/// A `use` of a file outside of its inner modules.
struct Import {
    /// The path without blanks and line breaks.
    path: String,
    /// The line of its attribute, if it has one.
    first: usize,
    last: usize,
    group: u8,
}

fn nested(source: &Source) -> Vec<Violation> {
    let is_nested = |import: &Import| {
        import.path.split_once('{').is_some_and(|(_, names)| names.contains("::") || names.contains('{'))
    };
    let found = imports(source).into_iter().filter(is_nested);
    found.map(|import| source.violation(import.first, "a `use` names one module; write several")).collect()
}

fn ungrouped(source: &Source) -> Vec<Violation> {
    let imports = imports(source);
    let rule = "imports have three groups, std, other crates and this crate, with a blank line between them";
    let is_wrong = |pair: &&[Import]| match pair[1].first - pair[0].last {
        1 => pair[0].group != pair[1].group,
        2 => pair[0].group >= pair[1].group,
        _ => false,
    };
    imports.windows(2).filter(is_wrong).map(|pair| source.violation(pair[1].first, rule)).collect()
}

fn imports(source: &Source) -> Vec<Import> {
    let modules = modules(&source.text);
    let mut found = Vec::new();
    let mut lines = source.text.lines().enumerate();
    let mut is_attributed = false;
    while let Some((index, line)) = lines.next() {
        let first = index + 1 - usize::from(is_attributed);
        is_attributed = line.starts_with("#[");
        let Some(rest) = without_visibility(line).strip_prefix("use ") else { continue };
        let (mut path, mut last) = (rest.to_string(), index);
        while !path.contains(';') {
            let Some((next, line)) = lines.next() else { break };
            path += line;
            last = next;
        }
        let path: String = path.chars().filter(|c| !c.is_whitespace() && *c != ';').collect();
        let group = group(&path, &modules);
        found.push(Import { path, first, last: last + 1, group });
    }
    found
}

/// The modules that a file declares: their items belong to this crate.
fn modules(text: &str) -> Vec<&str> {
    let names = text.lines().filter_map(|line| without_visibility(line).strip_prefix("mod "));
    names.map(|name| name.trim_end_matches([';', '{', ' '])).collect()
}

fn without_visibility(line: &str) -> &str {
    let rest = line.strip_prefix("pub").unwrap_or(line);
    let rest = if rest.starts_with('(') { rest.split_once(')').map_or(rest, |(_, rest)| rest) } else { rest };
    if rest.len() == line.len() { line } else { rest.trim_start() }
}

fn group(path: &str, modules: &[&str]) -> u8 {
    match path.split([':', '{']).next().unwrap_or_default() {
        "std" | "core" | "alloc" => 0,
        "crate" | "super" | "self" => 2,
        name if modules.contains(&name) || name.starts_with(char::is_uppercase) => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Repository::sample(&[("a.rs", text)])).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn three_groups_with_blank_lines_are_fine() {
        let good = "mod wax;\n\nuse std::fmt;\n#[cfg(test)]\nuse std::fs;\nuse std::{io, thread};\n\n\
            use bees::{\n    Drone,\n    Queen,\n};\n\n\
            pub(crate) use crate::comb::Comb;\nuse wax::Wax;\n";
        assert!(lines(good).is_empty());
    }

    #[test]
    fn finds_imports_outside_their_group() {
        assert_eq!(lines("use bees::Queen;\nuse crate::comb::Comb;\n"), [2]);
        assert_eq!(lines("use bees::Queen;\n\nuse std::fmt;\n"), [3]);
        assert_eq!(lines("use std::fmt;\n\nuse std::io;\n"), [3]);
    }

    #[test]
    fn finds_an_import_of_several_modules() {
        assert_eq!(lines("use std::{\n    fmt,\n    io::{self, Read},\n};\n"), [1]);
        assert_eq!(lines("use std::{fmt::Debug, io};\n"), [1]);
    }
}
