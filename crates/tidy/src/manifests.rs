//! The workspace states the version of each dependency and of Rust once. A crate only refers to them.

use crate::{Repository, Source, Violation};

const RUST: &str = "rust-version.workspace = true";

/// Finds dependencies that do not refer to the workspace, and crates that state a version of Rust.
pub fn check(repository: &Repository) -> Vec<Violation> {
    let manifests = repository.with_extension("toml").filter(|source| is_manifest(&source.path));
    manifests.flat_map(|source| own_versions(source).chain(own_rust(source)).collect::<Vec<_>>()).collect()
}

fn is_manifest(path: &str) -> bool {
    ["crates/", "examples/"].iter().any(|folder| path.starts_with(folder)) && path.ends_with("/Cargo.toml")
}

fn own_versions(source: &Source) -> impl Iterator<Item = Violation> {
    let mut in_dependencies = false;
    source.text.lines().enumerate().filter_map(move |(index, line)| {
        if line.starts_with('[') {
            in_dependencies = line.trim_end_matches(']').ends_with("dependencies");
            return None;
        }
        let (name, value) = line.split_once('=').filter(|_| in_dependencies && !line.starts_with('#'))?;
        let refers = name.trim().ends_with(".workspace") || value.contains("workspace = true");
        let name = name.trim();
        let rule = || format!("{name} does not refer to [workspace.dependencies] by `workspace = true`");
        (!refers).then(|| source.violation(index + 1, rule()))
    })
}

fn own_rust(source: &Source) -> Option<Violation> {
    let refers = source.text.lines().any(|line| line.trim() == RUST);
    (!refers).then(|| source.violation(1, format!("the crate lacks `{RUST}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(dependencies: &str) -> Vec<String> {
        let text = format!("[package]\n{RUST}\n\n{dependencies}");
        let found = check(&Repository::sample(&[("crates/wax/Cargo.toml", &text)]));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn finds_a_version_of_a_crate() {
        let rule = "does not refer to [workspace.dependencies] by `workspace = true`";
        let found =
            violations("[dependencies]\nhive = \"1\"\n\n[target.'cfg(loom)'.dependencies]\nloom = \"0.7\"\n");
        let lines = ["5: hive", "8: loom"].map(|at| format!("crates/wax/Cargo.toml:{at} {rule}"));
        assert_eq!(found, lines);
        assert_eq!(violations("[dev-dependencies]\nhive = { version = \"1\" }\n").len(), 1);
        assert_eq!(violations("[build-dependencies]\nhive = { path = \"../hive\" }\n").len(), 1);
    }

    #[test]
    fn a_reference_to_the_workspace_is_fine() {
        let plain = "[dependencies]\n# a = \"1\"\nhive.workspace = true\n";
        assert!(violations(plain).is_empty());
        let optional = "[dependencies]\nhive = { workspace = true, optional = true }\n";
        assert!(violations(optional).is_empty());
        assert!(violations("[features]\nrtl = [\"dep:hive\"]\n").is_empty());
    }

    #[test]
    fn finds_a_rust_version_of_a_crate() {
        let own = ("crates/wax/Cargo.toml", "[package]\nrust-version = \"1.92\"\n");
        let found = check(&Repository::sample(&[own]));
        assert_eq!(found[0].to_string(), format!("crates/wax/Cargo.toml:1: the crate lacks `{RUST}`"));
        assert!(check(&Repository::sample(&[("Cargo.toml", own.1)])).is_empty());
    }
}
