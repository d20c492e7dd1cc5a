//! The documentation lists all crates, links only to files that exist, and its example is tested.

use std::path::{Component, Path, PathBuf};

use crate::{Repository, Source, Violation, layers};

const CODE_MAP: &str = "ARCHITECTURE.md";
const README: &str = "README.md";
const LIBRARY: &str = "crates/store/src/lib.rs";

/// Finds crates without a row in the code map, names of crates that do not exist, broken links, and an
/// example in the README that the library does not test. `exists` returns whether a path relative to the
/// root of the repository exists.
pub fn check(repository: &Repository, exists: impl Fn(&Path) -> bool) -> Vec<Violation> {
    let mut found = missing_rows(repository);
    found.extend(stale_example(repository));
    for source in repository.with_extension("md") {
        for (index, text) in source.text.lines().enumerate() {
            let violation = |rule| source.violation(index + 1, rule);
            let unknown = crates_named(text).filter(|name| repository.source(&manifest(name)).is_none());
            found.extend(unknown.map(|name| violation(format!("there is no crates/{name}"))));
            let broken = links(text).filter(|link| !exists(&target(source, link)));
            found.extend(broken.map(|link| violation(format!("link to `{link}`, which does not exist"))));
        }
    }
    found
}

/// The README shows the example of the store's documentation, which runs as a doc test.
fn stale_example(repository: &Repository) -> Option<Violation> {
    let (readme, library) = (repository.source(README)?, repository.source(LIBRARY)?);
    let (before, rest) = readme.text.split_once("```rust\n")?;
    let (example, _) = rest.split_once("```")?;
    let tested: String = library.text.lines().filter_map(doc_line).map(|line| format!("{line}\n")).collect();
    let rule = format!("the example is not the one of {LIBRARY}");
    (!tested.contains(example)).then(|| readme.violation(before.lines().count() + 1, rule))
}

/// The text of a line of crate documentation, unless rustdoc hides it.
fn doc_line(line: &str) -> Option<&str> {
    let text = line.strip_prefix("//!")?;
    Some(text.strip_prefix(' ').unwrap_or(text)).filter(|text| !text.starts_with("# "))
}

/// The beginning of a crate's row in the code map.
fn row(name: &str) -> String {
    let layer = layers::layer(&format!("honeycomb-{name}"));
    format!("| `crates/{name}` | {} |", layer.map_or("-".into(), |layer| layer.to_string()))
}

fn manifest(name: &str) -> String {
    format!("crates/{name}/Cargo.toml")
}

fn missing_rows(repository: &Repository) -> Vec<Violation> {
    let map = repository.source(CODE_MAP).map_or("", |source| source.text.as_str());
    let names = repository.sources().filter_map(|source| {
        source.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml").filter(|name| !name.contains('/'))
    });
    let missing = names.map(row).filter(|row| !map.lines().any(|line| line.starts_with(row)));
    let violation =
        |row| Violation { path: CODE_MAP.into(), line: 1, rule: format!("the code map lacks `{row} ...`") };
    missing.map(violation).collect()
}

/// The names in every `crates/name` of a line.
fn crates_named(text: &str) -> impl Iterator<Item = &str> {
    let end =
        |rest: &str| rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
    text.split("crates/").skip(1).map(move |rest| &rest[..end(rest)]).filter(|name| !name.is_empty())
}

/// The targets of a line's Markdown links that are files of the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    targets.filter(|link| !link.is_empty() && !link.contains("://"))
}

/// The target of a link in `source`, relative to the root of the repository.
fn target(source: &Source, link: &str) -> PathBuf {
    let mut path = PathBuf::from(&source.path);
    path.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/btree/Cargo.toml", "");

    fn violations(files: &[(&str, &str)]) -> Vec<String> {
        let found = check(&Repository::sample(files), |path| path == Path::new("docs/node.md"));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn finds_a_crate_that_the_code_map_lacks() {
        assert!(violations(&[MANIFEST, (CODE_MAP, "| `crates/btree` | 2 | the index |\n")]).is_empty());
        let lacks = ["ARCHITECTURE.md:1: the code map lacks `| `crates/btree` | 2 | ...`"];
        assert_eq!(violations(&[MANIFEST, (CODE_MAP, "`crates/btree`\n")]), lacks);
        assert_eq!(violations(&[MANIFEST, (CODE_MAP, "| `crates/btree` | 3 | the index |\n")]), lacks);
    }

    #[test]
    fn finds_a_crate_that_does_not_exist() {
        let found = violations(&[("README.md", "crates/ holds\nthe crates/attic/src.\n")]);
        assert_eq!(found, ["README.md:2: there is no crates/attic"]);
    }

    #[test]
    fn finds_an_example_that_is_not_tested() {
        let library = (LIBRARY, "//! ```\n//! let a = 1;\n//!\n//! let b = a;\n//! # Ok(())\n//! ```\n");
        let manifest = ("crates/store/Cargo.toml", "");
        let map = (CODE_MAP, "| `crates/store` | 4 |\n");
        let readme = |example| [manifest, map, library, (README, example)];
        assert!(violations(&readme("# A\n```rust\nlet a = 1;\n\nlet b = a;\n```\n")).is_empty());
        let found = violations(&readme("# A\n```rust\nlet a = 2;\n```\n"));
        assert_eq!(found, ["README.md:2: the example is not the one of crates/store/src/lib.rs"]);
    }

    #[test]
    fn finds_a_broken_link() {
        assert!(
            violations(&[("docs/a.md", "[n](node.md#tags), [m](../docs/node.md) [o](https://a.b)\n")])
                .is_empty()
        );
        let found = violations(&[("docs/a.md", "[here](#below)\n[n](edges.md)\n")]);
        assert_eq!(found, ["docs/a.md:2: link to `edges.md`, which does not exist"]);
    }
}
