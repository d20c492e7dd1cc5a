//! A crate imports only crates of lower layers.

use cargo_metadata::{DependencyKind, Metadata};

use crate::{Repository, Violation};

/// The layer of each crate. ARCHITECTURE.md describes the crates.
pub const LAYERS: [(&str, u32); 17] = [
    ("honeycomb-layout", 0),
    ("honeycomb-log", 1),
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
    ("honeycomb-file-index", 5),
    ("honeycomb-server", 5),
    ("honeycomb-cli", 6),
    ("honeycomb-lab", 6),
    ("honeycomb-simulation", 7),
];

/// The checker itself: it imports no other crate of the workspace, and none imports it.
const OUTSIDE: &str = "honeycomb-tidy";

/// The tests and examples of every crate may use it; nothing else may.
const TESTING: &str = "honeycomb-testing";

/// The layer of a package, or `None` for an unknown package.
pub fn layer(package: &str) -> Option<u32> {
    LAYERS.iter().find(|(name, _)| *name == package).map(|(_, layer)| *layer)
}

/// A crate of the workspace, and the other crates of the workspace among its dependencies. [`TESTING`] as a
/// development dependency does not count.
#[derive(Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The path of its `Cargo.toml`, relative to the root of the repository.
    pub manifest: String,
    /// The crates of the workspace that it imports.
    pub imports: Vec<String>,
}

/// Returns the packages that `cargo metadata` lists.
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

/// Finds crates without a layer, and imports of the same or a higher layer.
pub fn check(repository: &Repository, packages: &[Package]) -> Vec<Violation> {
    packages.iter().flat_map(|package| check_package(repository, package)).collect()
}

fn check_package(repository: &Repository, package: &Package) -> Vec<Violation> {
    let violation = |about: &str, rule: String| {
        let line = line_of(repository, &package.manifest, about);
        Violation { path: package.manifest.clone(), line, rule }
    };
    let own = layer(&package.name);
    if own.is_none() && package.name != OUTSIDE {
        return vec![violation(&package.name, format!("crate {} has no layer in crates/tidy", package.name))];
    }
    let goes_down = |import: &&String| {
        *import != TESTING && matches!((own, layer(import)), (Some(own), Some(other)) if other < own)
    };
    let upward = package.imports.iter().filter(|import| !goes_down(import));
    upward.map(|import| violation(import, upward_import(package, own, import))).collect()
}

fn upward_import(package: &Package, own: Option<u32>, import: &str) -> String {
    if import == TESTING {
        return format!("{} imports {import}, which only development dependencies may name", package.name);
    }
    let name = |layer: Option<u32>| layer.map_or("no layer".into(), |layer| format!("layer {layer}"));
    let (from, to) = (name(own), name(layer(import)));
    format!("{} ({from}) imports {import} ({to}); a crate imports only lower layers", package.name)
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
    fn lower_layers_may_be_imported() {
        assert!(violations("honeycomb-store", &["honeycomb-btree", "honeycomb-layout"]).is_empty());
        assert!(violations("honeycomb-tidy", &[]).is_empty());
    }

    #[test]
    fn finds_the_testing_crate_among_product_dependencies() {
        let rule = "honeycomb-server imports honeycomb-testing, which only development dependencies may name";
        let found = violations("honeycomb-server", &["honeycomb-testing"]);
        assert_eq!(found, [format!("crates/sample/Cargo.toml:3: {rule}")]);
    }

    #[test]
    fn finds_an_import_of_a_higher_or_the_same_layer() {
        let found = violations("honeycomb-btree", &["honeycomb-memory", "honeycomb-store"]);
        let import = "honeycomb-btree (layer 2) imports honeycomb-store (layer 4)";
        let rule = "a crate imports only lower layers";
        assert_eq!(found, [format!("crates/sample/Cargo.toml:4: {import}; {rule}")]);
        assert_eq!(violations("honeycomb-cli", &["honeycomb-lab"]).len(), 1);
    }

    #[test]
    fn finds_imports_from_and_of_the_checker() {
        assert_eq!(violations("honeycomb-tidy", &["honeycomb-layout"]).len(), 1);
        assert_eq!(violations("honeycomb-store", &["honeycomb-tidy"]).len(), 1);
    }

    #[test]
    fn finds_a_crate_without_a_layer() {
        let found = violations("honeycomb-attic", &[]);
        assert_eq!(found, ["crates/sample/Cargo.toml:2: crate honeycomb-attic has no layer in crates/tidy"]);
    }
}
