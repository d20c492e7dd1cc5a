//! Atomics come from `honeycomb_memory::sync`, where loom can replace them. No model checks an atomic from
//! elsewhere.

use crate::{Repository, Source, Violation, tokens};

/// The module `sync` itself, and the arena, whose words are in memory that loom does not manage.
const SEAMS: [&str; 2] = ["crates/memory/src/sync.rs", "crates/memory/src/arena.rs"];

/// Programs that implement no protocol between threads. Tests are exempt as well.
const EXEMPT_CRATES: [&str; 3] = ["crates/lab/", "crates/cli/", "crates/tidy/"];

const ATOMICS: [&str; 3] = ["std::sync::atomic", "core::sync::atomic", "loom::sync::atomic"];

/// Finds paths into `std::sync::atomic` and its twins of `core` and loom.
pub fn check(repository: &Repository) -> Vec<Violation> {
    repository.with_extension("rs").filter(|source| !is_exempt(&source.path)).flat_map(check_source).collect()
}

fn is_exempt(path: &str) -> bool {
    SEAMS.contains(&path)
        || EXEMPT_CRATES.iter().any(|folder| path.starts_with(folder))
        || path.contains("/tests/")
}

fn check_source(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    let Ok(tokens) = tokens::parse(source) else {
        return found;
    };
    tokens::each_path(tokens::without_tests(tokens), "", &mut |path, line| {
        if ATOMICS.contains(&path) {
            found.push(source.violation(line, format!("`{path}`; import it from `honeycomb_memory::sync`")));
        }
    });
    found
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
    fn finds_atomics_from_elsewhere() {
        let bad = "use std::sync::atomic::AtomicU64;\nuse core::{cell::Cell, sync::{Arc, atomic}};\n\
            fn a(b: std::sync::atomic::Ordering) {\n    wax!(::loom::sync::atomic::fence());\n}\n";
        assert_eq!(lines("crates/btree/src/lib.rs", bad), [1, 2, 3, 4]);
    }

    #[test]
    fn other_paths_are_fine() {
        let good = "use std::sync::{Arc, Mutex};\nuse honeycomb_memory::sync::AtomicU64;\nmod atomic {}\n\
            // std::sync::atomic\nuse std::{sync, atomic};\n";
        assert!(lines("crates/btree/src/lib.rs", good).is_empty());
    }

    #[test]
    fn sync_programs_and_tests_are_exempt() {
        let text = "use std::sync::atomic::AtomicU64;\n";
        assert!(lines("crates/memory/src/sync.rs", text).is_empty());
        assert!(lines("crates/lab/src/main.rs", text).is_empty());
        assert!(lines("crates/store/tests/limits.rs", text).is_empty());
        assert_eq!(lines("crates/memory/src/lib.rs", text), [1]);
        let module = format!("#[cfg(all(test, loom))]\nmod models {{\n{text}}}\n{text}");
        assert_eq!(lines("crates/memory/src/lib.rs", &module), [5]);
        let module = format!("#[cfg(not(test))]\nmod b {{\n{text}}}\n");
        assert_eq!(lines("crates/memory/src/lib.rs", &module), [3]);
    }
}
