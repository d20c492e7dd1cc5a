//! The files of a crate import each other in one direction: a cycle has at most two files.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::{Import, crates, imports};
use crate::{Repository, Violation};

/// The maximum number of files in a cycle.
pub const FILES_MAX: usize = 2;

/// Finds cycles of imports that are too large.
pub fn check(repository: &Repository) -> Vec<Violation> {
    crates(repository).into_iter().flat_map(|name| large_cycles(&imports(repository, name))).collect()
}

fn large_cycles(imports: &[Import]) -> Vec<Violation> {
    let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in imports {
        edges.entry(&import.from).or_default().insert(&import.to);
    }
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        edges.keys().map(|file| (*file, reachable(&edges, file))).collect();
    let mut cycles = BTreeSet::new();
    for (file, reached) in &reach {
        let returns = |other: &&&str| reach.get(**other).is_some_and(|back| back.contains(file));
        cycles.insert(reached.iter().filter(returns).copied().collect::<Vec<_>>());
    }
    cycles
        .into_iter()
        .filter(|cycle| cycle.len() > FILES_MAX)
        .map(|cycle| violation(imports, &cycle))
        .collect()
}

/// Returns the files that `file` imports, directly and indirectly.
fn reachable<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, file: &'a str) -> BTreeSet<&'a str> {
    let (mut found, mut next) = (BTreeSet::new(), vec![file]);
    while let Some(file) = next.pop() {
        let to = edges.get(file).into_iter().flatten();
        next.extend(to.copied().filter(|file| found.insert(*file)));
    }
    found
}

fn violation(imports: &[Import], cycle: &[&str]) -> Violation {
    let inside = |import: &&Import| cycle.contains(&&*import.from) && cycle.contains(&&*import.to);
    let line = imports.iter().find(inside).map_or(1, |import| import.line);
    let names = cycle.join(", ");
    let rule = format!("{} files import each other, at most {FILES_MAX} may: {names}", cycle.len());
    Violation { path: cycle[0].into(), line, rule }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(files: &[(&str, &str)]) -> Vec<String> {
        check(&Repository::sample(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn finds_a_cycle_of_three_files() {
        let files = [
            ("crates/hive/src/lib.rs", "mod comb; mod wax; mod bees;\n"),
            ("crates/hive/src/comb.rs", "\nuse crate::wax::Wax;\n"),
            ("crates/hive/src/wax.rs", "fn melt() -> crate::bees::worker::Worker {}\n"),
            ("crates/hive/src/bees/worker.rs", "use super::super::comb::{Comb, Cell};\n"),
        ];
        let names = "crates/hive/src/bees/worker.rs, crates/hive/src/comb.rs, crates/hive/src/wax.rs";
        let rule = format!("3 files import each other, at most 2 may: {names}");
        assert_eq!(violations(&files), [format!("crates/hive/src/bees/worker.rs:1: {rule}")]);
    }

    #[test]
    fn two_files_may_import_each_other_and_tests_do_not_count() {
        let files = [
            ("crates/hive/src/comb.rs", "use crate::wax::Wax;\n"),
            ("crates/hive/src/wax.rs", "use crate::comb::Comb;\nuse crate::bees::Bee;\n"),
            ("crates/hive/src/bees.rs", "#[cfg(test)]\nmod tests {\n    use crate::comb::Comb;\n}\n"),
            ("crates/shed/src/tool.rs", "use crate::comb::Comb;\n"),
        ];
        assert!(violations(&files).is_empty());
    }
}
