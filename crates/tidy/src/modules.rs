//! A SystemVerilog file holds one module or package of its name, and uses only those of its own folder and of
//! lower ones.

use std::collections::HashMap;

use crate::{Repository, Source, Violation};

/// The folders of `rtl`, lowest first. Tests and proofs stand outside: they may use all of them.
pub const FLOORS: [&str; 4] = ["common", "memory", "btree", "top"];

/// Finds files that do not hold the one module of their name, and uses that do not go down.
pub fn check(repository: &Repository) -> Vec<Violation> {
    let floors: HashMap<&str, usize> =
        sources(repository).filter_map(|source| Some((stem(source), floor(source)?))).collect();
    let climbs = sources(repository).flat_map(|source| climbs(source, &floors));
    sources(repository).filter_map(misnamed).chain(climbs).collect()
}

fn sources(repository: &Repository) -> impl Iterator<Item = &Source> {
    repository.with_extension("sv").filter(|source| source.path.starts_with("rtl/"))
}

fn stem(source: &Source) -> &str {
    let name = source.path.rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".sv").unwrap_or(name)
}

fn floor(source: &Source) -> Option<usize> {
    let folder = source.path.split('/').nth(1)?;
    FLOORS.iter().position(|floor| *floor == folder)
}

/// What the file declares must be one thing, of its name.
fn misnamed(source: &Source) -> Option<Violation> {
    let declares = |line: &str| {
        let rest = line.strip_prefix("module ").or_else(|| line.strip_prefix("package "))?;
        Some(words(rest).next().unwrap_or_default().to_string())
    };
    let names: Vec<String> = source.text.lines().filter_map(declares).collect();
    let rule = || format!("holds {names:?}; a file holds one module or package, of its name");
    (names != [stem(source)]).then(|| source.violation(1, rule()))
}

fn climbs(source: &Source, floors: &HashMap<&str, usize>) -> Vec<Violation> {
    let Some(own) = floor(source) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        for word in uses(code).filter(|word| floors.get(word).is_some_and(|floor| *floor > own)) {
            let rule = format!("{word} stands on a higher floor; modules use their own floor and lower ones");
            found.push(source.violation(index + 1, rule));
        }
    }
    found
}

/// Words that may be the name of what is used: instances begin their lines, packages have an ending.
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
    fn finds_uses_that_go_up() {
        let low = (
            "rtl/common/wax.sv",
            "// comb of bees\nmodule wax;\n  logic comb;\n  comb u_comb ();\nendmodule\n",
        );
        let high = ("rtl/btree/comb.sv", "module comb;\n  wax u_wax ();\nendmodule\n");
        let rule = "comb stands on a higher floor; modules use their own floor and lower ones";
        assert_eq!(violations(&[low, high]), [format!("rtl/common/wax.sv:4: {rule}")]);
        assert!(
            violations(&[("rtl/formal/prove.sv", "module prove;\n  comb u ();\nendmodule\n"), high])
                .is_empty()
        );
    }

    #[test]
    fn finds_a_file_that_holds_something_else() {
        let rule = "a file holds one module or package, of its name";
        let wrong = violations(&[("rtl/common/wax.sv", "module comb;\nendmodule\n")]);
        assert_eq!(wrong, [format!("rtl/common/wax.sv:1: holds [\"comb\"]; {rule}")]);
        let two = violations(&[("rtl/wax_pkg.sv", "package wax_pkg;\nendpackage\nmodule wax;\nendmodule\n")]);
        assert_eq!(two, [format!("rtl/wax_pkg.sv:1: holds [\"wax_pkg\", \"wax\"]; {rule}")]);
        assert!(violations(&[("rtl/top/wax.sv", "module wax\n  import a::*;\n();\nendmodule\n")]).is_empty());
    }
}
