//! The keys of the table `files`: the bytes of a path with a NUL before its last name.
//!
//! | path | key |
//! |---|---|
//! | `/usr/bin/ls` | `/usr/bin/` NUL `ls` |
//! | `/usr` | `/` NUL `usr` |
//! | `/` | NUL `/` |
//!
//! No name contains NUL or `/`, so keys are unique, and removing the NUL restores the path. One prefix scan
//! answers each of two queries:
//!
//! * Exactly the entries of `/usr/bin` have the prefix `/usr/bin/` NUL, because NUL follows only the parent
//!   directory.
//! * Exactly the files below `/usr/bin`, at any depth, have the prefix `/usr/bin/`. The entries of `/usr/bin`
//!   come first.
//!
//! If keys were plain paths, listing a directory would scan everything below it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The size of the longest key of a store, in bytes.
pub(crate) const KEY_BYTES_MAX: usize = 460;

/// The size of the longest path that has a key, in bytes. The NUL takes one byte.
pub(crate) const PATH_BYTES_MAX: usize = KEY_BYTES_MAX - 1;

/// Returns the key of an absolute path. Returns `None` for a path longer than [`PATH_BYTES_MAX`].
pub(crate) fn key_of(path: &Path) -> Option<Vec<u8>> {
    let path = path.as_os_str().as_bytes();
    let name = match path {
        b"/" => 0,
        _ => path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1),
    };
    (path.len() <= PATH_BYTES_MAX).then(|| [&path[..name], &[0], &path[name..]].concat())
}

/// Returns the bytes of the path of `key`.
pub(crate) fn path_of(key: &[u8]) -> Vec<u8> {
    key.iter().copied().filter(|byte| *byte != 0).collect()
}

/// Returns the common prefix of the keys of all entries of `directory`.
pub(crate) fn children(directory: &Path) -> Vec<u8> {
    let mut prefix = subtree(directory);
    prefix.push(0);
    prefix
}

/// Returns the common prefix of the keys of all files below `directory`, at any depth.
pub(crate) fn subtree(directory: &Path) -> Vec<u8> {
    let mut prefix = directory.as_os_str().as_bytes().to_vec();
    if prefix != b"/" {
        prefix.push(b'/');
    }
    prefix
}

/// Returns `bytes` as a path.
pub(crate) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the path with the given names.
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

    /// Generates names from few different bytes, so that directories share names. The bytes include the
    /// neighbours of `/` and NUL.
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
        fn a_key_restores_its_path(names in names()) {
            let path = path(&names);
            prop_assert_eq!(path_of(&key(&path)), path);
        }

        #[test]
        fn prefixes_match_exactly_children_and_subtree(directory in names(), other in names()) {
            let (directory_path, other_path) = (path(&directory), path(&other));
            let below = other.len() > directory.len() && other.starts_with(&directory);
            let child = below && other.len() == directory.len() + 1;
            let key = key(&other_path);
            prop_assert_eq!(key.starts_with(&subtree(as_path(&directory_path))), below);
            prop_assert_eq!(key.starts_with(&children(as_path(&directory_path))), child);
        }
    }
}
