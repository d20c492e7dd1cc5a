//! A SystemVerilog file contains one module or package with the name of the file. It uses only modules and
//! packages of its own folder and of lower folders.

use std::collections::HashMap;

use crate::{Repository, Source, Violation};

/// The folders of `rtl`, lowest first. Tests and proofs may use all of them.
pub const LAYERS: [&str; 5] = ["common", "memory", "btree", "top", "shell"];

/// Finds files without exactly one module of their name, and uses of modules in higher folders.
pub fn check(repository: &Repository) -> Vec<Violation> {
    let layers: HashMap<&str, usize> =
        sources(repository).filter_map(|source| Some((stem(source), layer(source)?))).collect();
    let upward = sources(repository).flat_map(|source| upward_uses(source, &layers));
    sources(repository).filter_map(misnamed).chain(upward).collect()
}

fn sources(repository: &Repository) -> impl Iterator<Item = &Source> {
    repository.with_extension("sv").filter(|source| source.path.starts_with("rtl/"))
}

fn stem(source: &Source) -> &str {
    let name = source.path.rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".sv").unwrap_or(name)
}

fn layer(source: &Source) -> Option<usize> {
    let folder = source.path.split('/').nth(1)?;
    LAYERS.iter().position(|layer| *layer == folder)
}

/// The file must declare one module or package, with the name of the file.
fn misnamed(source: &Source) -> Option<Violation> {
    let declares = |line: &str| {
        let rest = line.strip_prefix("module ").or_else(|| line.strip_prefix("package "))?;
        Some(words(rest).next().unwrap_or_default().to_string())
    };
    let names: Vec<String> = source.text.lines().filter_map(declares).collect();
    let rule = || format!("declares {names:?}; a file declares one module or package, with its own name");
    (names != [stem(source)]).then(|| source.violation(1, rule()))
}

fn upward_uses(source: &Source, layers: &HashMap<&str, usize>) -> Vec<Violation> {
    let Some(own) = layer(source) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        for word in uses(code).filter(|word| layers.get(word).is_some_and(|layer| *layer > own)) {
            let rule =
                format!("{word} is in a higher folder; modules use only their own folder and lower ones");
            found.push(source.violation(index + 1, rule));
        }
    }
    found
}

/// The words of a line that can name a used module or package: an instance begins its line, and the name of
/// a package has a suffix.
fn uses(code: &str) -> impl Iterator<Item = &str> {
    words(code).enumerate().filter(|(at, word)| *at == 0 || word.ends_with("_pkg")).map(|(_, word)| word)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(files: &[(&str, &str)]) -> Vec<String> {
        check(&Repository::sample(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn finds_uses_of_higher_folders() {
        let low = (
            "rtl/common/wax.sv",
            "// comb of bees\nmodule wax;\n  logic comb;\n  comb u_comb ();\nendmodule\n",
        );
        let high = ("rtl/btree/comb.sv", "module comb;\n  wax u_wax ();\nendmodule\n");
        let rule = "comb is in a higher folder; modules use only their own folder and lower ones";
        assert_eq!(violations(&[low, high]), [format!("rtl/common/wax.sv:4: {rule}")]);
        assert!(
            violations(&[("rtl/formal/prove.sv", "module prove;\n  comb u ();\nendmodule\n"), high])
                .is_empty()
        );
    }

    #[test]
    fn finds_a_file_that_declares_something_else() {
        let rule = "a file declares one module or package, with its own name";
        let wrong = violations(&[("rtl/common/wax.sv", "module comb;\nendmodule\n")]);
        assert_eq!(wrong, [format!("rtl/common/wax.sv:1: declares [\"comb\"]; {rule}")]);
        let two = violations(&[("rtl/wax_pkg.sv", "package wax_pkg;\nendpackage\nmodule wax;\nendmodule\n")]);
        assert_eq!(two, [format!("rtl/wax_pkg.sv:1: declares [\"wax_pkg\", \"wax\"]; {rule}")]);
        assert!(violations(&[("rtl/top/wax.sv", "module wax\n  import a::*;\n();\nendmodule\n")]).is_empty());
    }
}
