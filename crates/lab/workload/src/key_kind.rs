//! Keys as people have them. Each is a function of the index of its pair, and distinct for distinct indexes.
//!
//! | name | example | bytes |
//! |---|---|---|
//! | `paths` | `/srv/projects/amber-4f/src/filter/handlers/request_00c41f9e_parser.rs` | 65 on average |
//! | `urls` | `https://www.harbor27.example.com/articles/2024/copper-linen-00c41f9e` | 68 on average |
//! | `fields` | `user:00012345:email` | 18 to 21 |
//! | `uuids` | `1b4e28ba-2fa1-41d2-883f-0016d3cca427` | 36 |
//! | `dense` | the index, big-endian | 8 |
//! | `random` | a permutation of the index, big-endian | 8 |

use std::io::Write;

use crate::mix;
use crate::names::{self, Named};

/// A kind of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyKind {
    /// Paths of files in a few thousand directories.
    Paths,
    /// Addresses of articles on a few thousand hosts.
    Urls,
    /// Ten fields each of many users: `user:%08d:field`.
    Fields,
    /// Random UUIDs (version 4) as text.
    Uuids,
    /// Consecutive integers of eight bytes.
    Dense,
    /// Random integers of eight bytes.
    Random,
}

const NAMES: &Named<KeyKind> = &[
    (KeyKind::Paths, "paths"),
    (KeyKind::Urls, "urls"),
    (KeyKind::Fields, "fields"),
    (KeyKind::Uuids, "uuids"),
    (KeyKind::Dense, "dense"),
    (KeyKind::Random, "random"),
];

const WORDS: [&str; 16] = [
    "amber", "birch", "copper", "delta", "ember", "filter", "garnet", "harbor", "index", "juniper", "kernel",
    "linen", "marble", "nickel", "orbit", "parser",
];
const FIELDS: [&str; 10] =
    ["name", "email", "phone", "street", "city", "country", "created", "visited", "orders", "balance"];

/// Users of [`KeyKind::Fields`]; their numbers have eight digits.
const USERS: u64 = 100_000_000;
/// Coprime to [`USERS`], so that multiplication by it permutes them.
const STEP: u64 = 61_803_399;

impl KeyKind {
    /// The greatest number of bytes of a key.
    pub const BYTES_MAX: usize = 88;

    /// Returns the name.
    pub fn name(self) -> &'static str {
        names::name_of(NAMES, &self)
    }

    /// Returns the kind of a name.
    pub fn of_name(name: &str) -> Option<KeyKind> {
        names::named(NAMES, name)
    }

    /// Returns all names, separated by commas.
    pub fn names() -> String {
        names::names(NAMES)
    }

    /// Returns the average bytes of a key, rounded.
    pub fn mean_bytes(self) -> u64 {
        match self {
            KeyKind::Paths => 65,
            KeyKind::Urls => 68,
            KeyKind::Fields => 20,
            KeyKind::Uuids => 36,
            KeyKind::Dense | KeyKind::Random => 8,
        }
    }

    /// Appends the key of a pair.
    pub fn append(self, index: u64, bytes: &mut Vec<u8>) {
        let written = match self {
            KeyKind::Paths => path(index, bytes),
            KeyKind::Urls => url(index, bytes),
            KeyKind::Fields => field(index, bytes),
            KeyKind::Uuids => uuid(index, bytes),
            KeyKind::Dense => bytes.write_all(&index.to_be_bytes()),
            KeyKind::Random => bytes.write_all(&mix(index).to_be_bytes()),
        };
        written.expect("a vector accepts all bytes");
    }
}

fn word(bits: u64) -> &'static str {
    WORDS[(bits & 0xf) as usize]
}

fn path(index: u64, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let random = mix(index);
    let [project, module, folder, name, role] = [0, 4, 8, 12, 16].map(|shift| word(random >> shift));
    let copy = (random >> 20) & 0x3f;
    write!(bytes, "/srv/projects/{project}-{copy:02x}/src/{module}/{folder}/{name}_{index:08x}_{role}.rs")
}

fn url(index: u64, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let random = mix(index);
    let [host, first, second] = [0, 4, 8].map(|shift| word(random >> shift));
    let (server, year) = ((random >> 12) & 0xff, 2000 + (random >> 20) % 27);
    write!(bytes, "https://www.{host}{server}.example.com/articles/{year}/{first}-{second}-{index:08x}")
}

fn field(index: u64, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let fields = FIELDS.len() as u64;
    let user = index / fields % USERS * STEP % USERS;
    write!(bytes, "user:{user:08}:{}", FIELDS[(index % fields) as usize])
}

fn uuid(index: u64, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let (high, low) = (mix(index), mix(!index));
    let (first, second, third) = (high >> 32, (high >> 16) & 0xffff, high & 0xfff);
    let (fourth, fifth) = (low >> 50 | 0x8000, low & 0xffff_ffff_ffff);
    write!(bytes, "{first:08x}-{second:04x}-4{third:03x}-{fourth:04x}-{fifth:012x}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn key(kind: KeyKind, index: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        kind.append(index, &mut bytes);
        bytes
    }

    #[test]
    fn keys_are_distinct_and_have_the_documented_lengths() {
        const KEYS: u64 = 300_000;
        for &(kind, name) in NAMES {
            let keys: BTreeSet<Vec<u8>> = (0..KEYS).map(|index| key(kind, index)).collect();
            assert_eq!(keys.len(), KEYS as usize, "{name}");
            let mean = keys.iter().map(Vec::len).sum::<usize>() as f64 / KEYS as f64;
            assert!((mean - kind.mean_bytes() as f64).abs() < 0.6, "{name}: {mean}");
            assert!(keys.iter().all(|key| (8..=KeyKind::BYTES_MAX).contains(&key.len())), "{name}");
        }
    }

    #[test]
    fn examples() {
        let text = |kind, index| String::from_utf8(key(kind, index)).unwrap();
        assert_eq!(text(KeyKind::Fields, 11), "user:61803399:email");
        assert_eq!(text(KeyKind::Uuids, 1).len(), 36);
        assert_eq!(text(KeyKind::Uuids, 1).as_bytes()[14], b'4');
        assert!(text(KeyKind::Paths, 5).ends_with(".rs"));
        assert_eq!(key(KeyKind::Dense, 258), [0, 0, 0, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn kinds_have_names() {
        for &(kind, name) in NAMES {
            assert_eq!((kind.name(), KeyKind::of_name(name)), (name, Some(kind)));
        }
        assert_eq!(KeyKind::of_name("path"), None);
    }
}
