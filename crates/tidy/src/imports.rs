//! The imports among the files of a crate, found by their `crate::` and `super::` paths. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Repository, Source, tokens};

/// An import of one file of a crate by another one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    pub(crate) from: String,
    pub(crate) line: usize,
    pub(crate) to: String,
}

/// Returns the imports among the files below `crates/{name}/src`, with paths relative to the root of the
/// repository. `lib.rs` and `main.rs` do not count, because they name every module.
pub(crate) fn imports(repository: &Repository, name: &str) -> Vec<Import> {
    let folder = format!("crates/{name}/src/");
    let in_crate = |source: &&Source| source.path.starts_with(&folder);
    let sources: Vec<&Source> = repository.with_extension("rs").filter(in_crate).collect();
    let files: BTreeMap<Vec<&str>, &str> =
        sources.iter().map(|source| (module(&source.path[folder.len()..]), source.path.as_str())).collect();
    let mut found = BTreeSet::new();
    for (own, from) in files.iter().filter(|(own, _)| !own.is_empty()) {
        let Some(source) = repository.source(from) else { continue };
        for (path, line) in paths(source) {
            let to = target(&files, own, &path).filter(|to| to != from);
            found.extend(to.map(|to| Import { from: (*from).into(), line, to: to.into() }));
        }
    }
    found.into_iter().collect()
}

/// Returns the folders of the crates that have sources, relative to `crates`.
pub(crate) fn crates(repository: &Repository) -> BTreeSet<&str> {
    let paths = repository.with_extension("rs").filter_map(|source| source.path.strip_prefix("crates/"));
    paths.filter_map(|path| Some(path.split_once("/src/")?.0)).collect()
}

/// The module path of a file below `src`; empty for the root of the crate.
fn module(file: &str) -> Vec<&str> {
    let mut names: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    if matches!(names.last(), Some(&("mod" | "lib" | "main"))) {
        names.pop();
    }
    names
}

/// The paths of a file that no longer path continues, with the lines of their last names.
fn paths(source: &Source) -> Vec<(String, usize)> {
    let Ok(tokens) = tokens::parse(source) else {
        return Vec::new();
    };
    let mut found = BTreeMap::new();
    tokens::each_path(tokens::without_tests(tokens), "", &mut |path, line| {
        if path.starts_with("crate::") || path.starts_with("super::") {
            found.entry(path.to_string()).or_insert(line);
        }
    });
    let continues = |path: &str| {
        let longer = format!("{path}::");
        found.range(longer.clone()..).next().is_some_and(|(next, _)| next.starts_with(&longer))
    };
    found.iter().filter(|(path, _)| !continues(path)).map(|(path, line)| (path.clone(), *line)).collect()
}

/// Resolves a path that module `own` names to a file of the crate: the deepest module along the path.
fn target<'a>(files: &BTreeMap<Vec<&str>, &'a str>, own: &[&str], path: &str) -> Option<&'a str> {
    let mut names: Vec<&str> = path.split("::").collect();
    let ups = names.iter().take_while(|name| **name == "super").count();
    let base = if ups == 0 { &[] } else { &own[..own.len().checked_sub(ups)?] };
    let whole: Vec<&str> = base.iter().copied().chain(names.drain(ups.max(1)..)).collect();
    (1..=whole.len()).rev().find_map(|length| files.get(&whole[..length]).copied())
}
