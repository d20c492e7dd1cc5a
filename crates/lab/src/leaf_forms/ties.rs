//! Counts the keys that a head does not distinguish from others of their leaf, by kind of keys and bytes of a
//! head.

use std::fmt::Write;

use honeycomb_workload::Sizes;

use crate::map::Failure;

/// Kinds of keys, with values of 16 bytes.
const KINDS: [&str; 7] = ["16+16", "random+16", "dense+16", "uuids+16", "fields+16", "paths+16", "urls+16"];
/// Bytes of a head.
const WIDTHS: [usize; 4] = [2, 4, 6, 8];
/// Bytes of the pairs of a leaf: a node of 8 KiB after random inserts is filled to 70 %.
const LEAF_BYTES: usize = 8192 * 7 / 10;
/// Bytes of a pair besides its key: the value, the lengths and the offset.
const OTHER_BYTES: usize = 16 + 6;

/// Returns a table with a row for each kind.
pub(super) fn table(count: u64) -> Result<String, Failure> {
    let mut text =
        format!("{count} keys, share of those that share their head with another one of their leaf:\n");
    writeln!(
        text,
        "| keys | pairs of a leaf | {} |",
        WIDTHS.map(|width| format!("{width} bytes")).join(" | ")
    )?;
    writeln!(text, "|---{}|", "|---".repeat(WIDTHS.len() + 1))?;
    for kind in KINDS {
        let keys = sorted(kind.parse()?, count);
        let leaves = leaves(&keys);
        let shares = WIDTHS.map(|width| {
            let tied: usize = leaves.iter().map(|leaf| tied(leaf, width)).sum();
            format!("{:.2} %", 100.0 * tied as f64 / keys.len() as f64)
        });
        let pairs = keys.len() / leaves.len().max(1);
        writeln!(text, "| {} | {pairs} | {} |", kind.trim_end_matches("+16"), shares.join(" | "))?;
    }
    Ok(text)
}

fn sorted(sizes: Sizes, count: u64) -> Vec<Vec<u8>> {
    let key = |index| {
        let mut key = Vec::new();
        sizes.key(index, &mut key);
        key
    };
    let mut keys: Vec<_> = (0..count).map(key).collect();
    keys.sort_unstable();
    keys
}

/// Divides keys into leaves of [`LEAF_BYTES`].
fn leaves(keys: &[Vec<u8>]) -> Vec<&[Vec<u8>]> {
    let (mut leaves, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (index, key) in keys.iter().enumerate() {
        bytes += key.len() + OTHER_BYTES;
        if bytes > LEAF_BYTES || index + 1 == keys.len() {
            leaves.push(&keys[start..=index]);
            (start, bytes) = (index + 1, 0);
        }
    }
    leaves
}

/// The keys of a leaf whose head is also that of another one.
fn tied(leaf: &[Vec<u8>], width: usize) -> usize {
    let (Some(first), Some(last)) = (leaf.first(), leaf.last()) else { return 0 };
    let prefix = first.iter().zip(last).take_while(|(one, other)| one == other).count();
    let groups = leaf.chunk_by(|one, next| head(one, prefix, width) == head(next, prefix, width));
    groups.map(<[_]>::len).filter(|keys| *keys > 1).sum()
}

/// The bytes of a key after a prefix, with zeros after its end.
fn head(key: &[u8], prefix: usize, width: usize) -> impl PartialEq {
    let mut head = [0; 8];
    let rest = &key[prefix.min(key.len())..];
    let bytes = width.min(rest.len());
    head[..bytes].copy_from_slice(&rest[..bytes]);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_with_equal_heads_are_tied() {
        let leaf = ["pa", "pbxx1", "pbxx2", "pc"].map(|key| key.as_bytes().to_vec());
        let found = [1, 3, 4].map(|width| tied(&leaf, width));
        assert_eq!(found, [2, 2, 0]);
        assert_eq!(tied(&leaf[1..3], 4), 0, "the prefix of this leaf is longer");
    }

    #[test]
    fn each_key_is_in_one_leaf() -> Result<(), Failure> {
        let keys = sorted("urls+16".parse()?, 1000);
        let leaves = leaves(&keys);
        assert_eq!(leaves.concat(), keys);
        assert!(leaves.len() > 10);
        Ok(())
    }
}
