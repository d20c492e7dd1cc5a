//! A folder of a crate imports only lower folders of the same crate. The folders are called rooms.

use crate::imports::{Import, imports};
use crate::{Repository, Violation};

/// The crates with rooms, and the level of each room. A room imports itself and rooms of lower levels.
pub const ROOMS: [(&str, &[(&str, u32)]); 1] = [(
    "btree",
    &[
        ("error", 0),
        ("journal", 0),
        ("node", 1),
        ("counters", 2),
        ("forest", 3),
        ("read", 4),
        ("write", 5),
        ("verify", 5),
    ],
)];

/// Finds files without a room, and imports of the same or a higher level.
pub fn check(repository: &Repository) -> Vec<Violation> {
    let of = |(name, rooms): &(&str, &[(&str, u32)])| check_crate(repository, name, rooms);
    ROOMS.iter().flat_map(of).collect()
}

fn check_crate(repository: &Repository, name: &str, rooms: &[(&str, u32)]) -> Vec<Violation> {
    let folder = format!("crates/{name}/src/");
    let homeless = repository.with_extension("rs").filter(|source| {
        source.path.strip_prefix(&folder).is_some_and(|file| file != "lib.rs" && level(rooms, file).is_none())
    });
    let homeless = homeless.map(|source| source.violation(1, format!("no room of {name} in crates/tidy")));
    let upward =
        imports(repository, name).into_iter().filter_map(|import| upward_import(&folder, rooms, import));
    homeless.chain(upward).collect()
}

fn upward_import(
    folder: &str,
    rooms: &[(&str, u32)],
    Import { from, line, to }: Import,
) -> Option<Violation> {
    let (own, other) = (from.strip_prefix(folder)?, to.strip_prefix(folder)?);
    let goes_down = room(own) == room(other) || level(rooms, own) > level(rooms, other);
    let rule = format!("{} imports {}, which is not a lower room", room(own), room(other));
    (!goes_down).then_some(Violation { path: from, line, rule })
}

/// The first component of a path below `src`.
fn room(file: &str) -> &str {
    file.split(['/', '.']).next().unwrap_or(file)
}

fn level(rooms: &[(&str, u32)], file: &str) -> Option<u32> {
    rooms.iter().find(|(name, _)| *name == room(file)).map(|(_, level)| *level)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(files: &[(&str, &str)]) -> Vec<String> {
        check(&Repository::sample(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn finds_imports_that_go_up_or_sideways() {
        let files = [
            ("crates/btree/src/node/view.rs", "use crate::node::item::Item;\nuse crate::read::get::Get;\n"),
            ("crates/btree/src/node/item.rs", "use crate::error::Error;\n"),
            ("crates/btree/src/read/get.rs", "use crate::node::view::View;\n"),
            ("crates/btree/src/write/apply.rs", "use crate::read::get::Get;\n"),
            ("crates/btree/src/verify.rs", "use crate::write::apply::Apply;\n"),
            ("crates/btree/src/error.rs", ""),
        ];
        assert_eq!(
            violations(&files),
            [
                "crates/btree/src/node/view.rs:2: node imports read, which is not a lower room",
                "crates/btree/src/verify.rs:1: verify imports write, which is not a lower room",
            ]
        );
    }

    #[test]
    fn finds_a_file_without_a_room() {
        let found = violations(&[("crates/btree/src/lib.rs", ""), ("crates/btree/src/attic.rs", "")]);
        assert_eq!(found, ["crates/btree/src/attic.rs:1: no room of btree in crates/tidy"]);
    }
}
