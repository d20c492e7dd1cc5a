//! A crate imports only lower floors.

use cargo_metadata::{DependencyKind, Metadata};

use crate::{Repository, Violation};

/// The floors of the house; ARCHITECTURE.md says what each crate is for.
pub const FLOORS: [(&str, u32); 14] = [
    ("honeycomb-layout", 0),
    ("honeycomb-memory", 1),
    ("honeycomb-protocol", 1),
    ("honeycomb-workload", 1),
    ("honeycomb-btree", 2),
    ("honeycomb-client", 2),
    ("honeycomb-hashtable", 2),
    ("honeycomb-accelerator", 3),
    ("honeycomb-store", 4),
    ("honeycomb-simulator", 4),
    ("honeycomb-testing", 4),
    ("honeycomb-server", 5),
    ("honeycomb-cli", 6),
    ("honeycomb-lab", 6),
];

/// Stands outside the house: imports none of its crates and none imports it.
const OUTSIDE: &str = "honeycomb-tidy";

/// Crates import it for development only, whatever their floor: their tests and examples may use it.
const TESTING: &str = "honeycomb-testing";

/// The floor of a package, if it is one of the house.
pub fn floor(package: &str) -> Option<u32> {
    FLOORS.iter().find(|(name, _)| *name == package).map(|(_, floor)| *floor)
}

/// One crate of the workspace and the crates of the house that it names as dependencies of any kind,
/// except for [`TESTING`] as a development dependency.
#[derive(Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Path of its `Cargo.toml` from the repository's root.
    pub manifest: String,
    /// The crates of the house it imports.
    pub imports: Vec<String>,
}

/// The packages of a workspace as `cargo metadata` tells them.
pub fn packages(metadata: &Metadata) -> Vec<Package> {
    let root = &metadata.workspace_root;
    let is_for_tests = |import: &cargo_metadata::Dependency| {
        import.name == TESTING && import.kind == DependencyKind::Development
    };
    let ours = |name: &str| name.starts_with("honeycomb");
    let package = |package: &&cargo_metadata::Package| Package {
        name: package.name.to_string(),
        manifest: package.manifest_path.strip_prefix(root).unwrap_or(&package.manifest_path).to_string(),
        imports: package
            .dependencies
            .iter()
            .filter(|import| ours(&import.name) && !is_for_tests(import))
            .map(|import| import.name.clone())
            .collect(),
    };
    metadata.workspace_packages().iter().map(package).collect()
}

/// Finds crates without a floor, and imports that do not go down.
pub fn check(repository: &Repository, packages: &[Package]) -> Vec<Violation> {
    packages.iter().flat_map(|package| check_package(repository, package)).collect()
}

fn check_package(repository: &Repository, package: &Package) -> Vec<Violation> {
    let violation = |about: &str, rule: String| {
        let line = line_of(repository, &package.manifest, about);
        Violation { path: package.manifest.clone(), line, rule }
    };
    let own = floor(&package.name);
    if own.is_none() && package.name != OUTSIDE {
        return vec![violation(&package.name, format!("crate {} has no floor in crates/tidy", package.name))];
    }
    let goes_down = |import: &&String| {
        *import != TESTING && matches!((own, floor(import)), (Some(own), Some(other)) if other < own)
    };
    let climbs = package.imports.iter().filter(|import| !goes_down(import));
    climbs.map(|import| violation(import, climb(package, own, import))).collect()
}

fn climb(package: &Package, own: Option<u32>, import: &str) -> String {
    if import == TESTING {
        return format!("{} imports {import}, which is for development dependencies only", package.name);
    }
    let place =
        |floor: Option<u32>| floor.map_or("outside the house".into(), |floor| format!("floor {floor}"));
    let (from, to) = (place(own), place(floor(import)));
    format!("{} ({from}) imports {import} ({to}); only lower floors may be imported", package.name)
}

fn line_of(repository: &Repository, path: &str, text: &str) -> usize {
    let lines = repository.source(path).into_iter().flat_map(|source| source.text.lines());
    lines.enumerate().find(|(_, line)| line.contains(text)).map_or(1, |(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(name: &str, imports: &[&str]) -> Vec<String> {
        let manifest = "crates/sample/Cargo.toml";
        let text = format!("[package]\nname = \"{name}\"\n{}\n", imports.join("\n"));
        let imports = imports.iter().map(ToString::to_string).collect();
        let package = Package { name: name.into(), manifest: manifest.into(), imports };
        let repository = Repository::sample(&[(manifest, &text)]);
        check(&repository, &[package]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn imports_go_down() {
        assert!(violations("honeycomb-store", &["honeycomb-btree", "honeycomb-layout"]).is_empty());
        assert!(violations("honeycomb-tidy", &[]).is_empty());
    }

    #[test]
    fn nobody_imports_the_crate_of_tests_outside_of_tests() {
        let rule = "honeycomb-server imports honeycomb-testing, which is for development dependencies only";
        let found = violations("honeycomb-server", &["honeycomb-testing"]);
        assert_eq!(found, [format!("crates/sample/Cargo.toml:3: {rule}")]);
    }

    #[test]
    fn finds_an_import_of_a_higher_or_the_same_floor() {
        let found = violations("honeycomb-btree", &["honeycomb-memory", "honeycomb-store"]);
        let climb = "honeycomb-btree (floor 2) imports honeycomb-store (floor 4)";
        let rule = "only lower floors may be imported";
        assert_eq!(found, [format!("crates/sample/Cargo.toml:4: {climb}; {rule}")]);
        assert_eq!(violations("honeycomb-cli", &["honeycomb-lab"]).len(), 1);
    }

    #[test]
    fn finds_an_import_across_the_walls() {
        assert_eq!(violations("honeycomb-tidy", &["honeycomb-layout"]).len(), 1);
        assert_eq!(violations("honeycomb-store", &["honeycomb-tidy"]).len(), 1);
    }

    #[test]
    fn finds_a_crate_without_a_floor() {
        let found = violations("honeycomb-attic", &[]);
        assert_eq!(found, ["crates/sample/Cargo.toml:2: crate honeycomb-attic has no floor in crates/tidy"]);
    }
}
