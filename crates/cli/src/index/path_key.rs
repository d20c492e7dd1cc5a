//! How a path becomes a key of the table `files`: the path's bytes with a NUL put before its last name.
//!
//! | path | key |
//! |---|---|
//! | `/usr/bin/ls` | `/usr/bin/` NUL `ls` |
//! | `/usr` | `/` NUL `usr` |
//! | `/` | NUL `/` |
//!
//! No name contains NUL or `/`, so the key is unique and taking the NUL out gives the path back. It makes
//! both questions one prefix scan each:
//!
//! * `/usr/bin/` NUL begins the keys of exactly what `/usr/bin` lists, since NUL follows the listing
//!   directory only;
//! * `/usr/bin/` begins the keys of exactly what lies below `/usr/bin` at any depth, what it lists coming
//!   first.
//!
//! With the path as it stands, listing a directory would scan everything below it.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

/// Longest key a store takes, in bytes.
pub(crate) const KEY_BYTES_MAX: usize = 460;

/// Longest path that has a key, in bytes: the NUL takes one.
pub(crate) const PATH_BYTES_MAX: usize = KEY_BYTES_MAX - 1;

/// The key of an absolute path; `None` if it would be longer than [`KEY_BYTES_MAX`].
pub(crate) fn key_of(path: &Path) -> Option<Vec<u8>> {
    let path = path.as_os_str().as_bytes();
    let name = match path {
        b"/" => 0,
        _ => path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1),
    };
    (path.len() <= PATH_BYTES_MAX).then(|| [&path[..name], &[0], &path[name..]].concat())
}

/// The bytes of the path that `key` stands for.
pub(crate) fn path_of(key: &[u8]) -> Vec<u8> {
    key.iter().copied().filter(|byte| *byte != 0).collect()
}

/// What the keys of everything that `directory` lists begin with.
pub(crate) fn children(directory: &Path) -> Vec<u8> {
    let mut prefix = subtree(directory);
    prefix.push(0);
    prefix
}

/// What the keys of everything below `directory` begin with.
pub(crate) fn subtree(directory: &Path) -> Vec<u8> {
    let mut prefix = directory.as_os_str().as_bytes().to_vec();
    if prefix != b"/" {
        prefix.push(b'/');
    }
    prefix
}

/// `bytes` as a path.
pub(crate) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A path of the given names.
    fn path(names: &[Vec<u8>]) -> Vec<u8> {
        if names.is_empty() {
            b"/".to_vec()
        } else {
            names.iter().flat_map(|name| [b"/", &name[..]].concat()).collect()
        }
    }

    fn key(path: &[u8]) -> Vec<u8> {
        key_of(as_path(path)).unwrap()
    }

    /// Names of few different bytes, so that directories share them; among them the neighbours of `/` and
    /// NUL.
    fn names() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let byte = prop::sample::select(&[1, b'.', b'0', b'a', 0xff][..]);
        prop::collection::vec(prop::collection::vec(byte, 1..3), 0..5)
    }

    #[test]
    fn keys_are_as_documented() {
        assert_eq!(key(b"/usr/bin/ls"), b"/usr/bin/\0ls");
        assert_eq!(key(b"/usr"), b"/\0usr");
        assert_eq!(key(b"/"), b"\0/");
        assert_eq!(children(Path::new("/usr")), b"/usr/\0");
        assert_eq!(children(Path::new("/")), b"/\0");
        assert_eq!(subtree(Path::new("/")), b"/");
    }

    #[test]
    fn the_longest_path_has_a_key() {
        let path = format!("/{}", "a".repeat(PATH_BYTES_MAX - 1));
        assert_eq!(key_of(Path::new(&path)).map(|key| key.len()), Some(KEY_BYTES_MAX));
        assert_eq!(key_of(Path::new(&(path + "a"))), None);
    }

    proptest! {
        #[test]
        fn a_key_gives_its_path_back(names in names()) {
            let path = path(&names);
            prop_assert_eq!(path_of(&key(&path)), path);
        }

        #[test]
        fn prefixes_hold_exactly_children_and_subtree(directory in names(), other in names()) {
            let (directory_path, other_path) = (path(&directory), path(&other));
            let below = other.len() > directory.len() && other.starts_with(&directory);
            let child = below && other.len() == directory.len() + 1;
            let key = key(&other_path);
            prop_assert_eq!(key.starts_with(&subtree(as_path(&directory_path))), below);
            prop_assert_eq!(key.starts_with(&children(as_path(&directory_path))), child);
        }
    }
}
