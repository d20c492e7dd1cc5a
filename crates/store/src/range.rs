//! Ranges of keys: conversion from the ranges of callers to bounds that trees accept.

use std::cmp::Ordering;
use std::ops::{Bound, RangeBounds};

/// A lower and an upper bound.
pub(crate) type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Returns the bounds of a range of byte strings.
pub(crate) fn bounds<'a, K: AsRef<[u8]> + ?Sized + 'a>(range: &impl RangeBounds<&'a K>) -> Bounds<'a> {
    let bytes = |bound: Bound<&&'a K>| bound.map(|key| (*key).as_ref());
    (bytes(range.start_bound()), bytes(range.end_bound()))
}

/// Returns an equivalent range with bounds of 1 to `max` bytes, or `None` if no key can be in it. With
/// `floor_start` the lower bound is where the search for the floor begins, so it may be above the upper
/// bound.
#[inline(always)]
pub(crate) fn normalize((lower, upper): Bounds<'_>, floor_start: bool, max: usize) -> Option<Bounds<'_>> {
    let lower = match lower {
        Bound::Included([]) | Bound::Excluded([]) => Bound::Unbounded,
        // No key equals a bound that is too long: the keys after the bound are the keys after its prefix.
        Bound::Included(key) | Bound::Excluded(key) if key.len() > max && floor_start => {
            Bound::Included(&key[..max])
        }
        Bound::Included(key) | Bound::Excluded(key) if key.len() > max => Bound::Excluded(&key[..max]),
        other => other,
    };
    let upper = match upper {
        Bound::Included([]) | Bound::Excluded([]) => return None,
        Bound::Included(key) | Bound::Excluded(key) if key.len() > max => Bound::Included(&key[..max]),
        other => other,
    };
    (floor_start || !is_inverted((lower, upper))).then_some((lower, upper))
}

/// Returns whether a range has a key.
pub(crate) fn contains((lower, upper): Bounds<'_>, key: &[u8]) -> bool {
    (lower, upper).contains(key)
}

/// Returns the keys that both ranges have, or `None` if there are none.
pub(crate) fn intersection<'a>(one: Bounds<'a>, other: Bounds<'a>) -> Option<Bounds<'a>> {
    let key = |bound: Bound<&'a [u8]>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    };
    // Of two equal keys the excluded one is the stricter bound.
    let is_excluded = |bound| matches!(bound, Bound::Excluded(_));
    let strictness = |bound| (key(bound), is_excluded(bound));
    let lower = if strictness(one.0) >= strictness(other.0) { one.0 } else { other.0 };
    let upper = match (key(one.1), key(other.1)) {
        (None, _) => other.1,
        (_, None) => one.1,
        (Some(first), Some(second)) if first == second && is_excluded(other.1) => other.1,
        (Some(first), Some(second)) => {
            if first <= second {
                one.1
            } else {
                other.1
            }
        }
    };
    (!is_inverted((lower, upper))).then_some((lower, upper))
}

fn is_inverted((lower, upper): Bounds<'_>) -> bool {
    let (low, high, both_included) = match (lower, upper) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => return false,
        (Bound::Included(low), Bound::Included(high)) => (low, high, true),
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            (low, high, false)
        }
    };
    match low.cmp(high) {
        Ordering::Less => false,
        Ordering::Equal => !both_included,
        Ordering::Greater => true,
    }
}

/// Returns the smallest byte string that is greater than all strings with this prefix, or `None` if there is
/// no such string. It is the exclusive upper bound of a range of all keys with a prefix.
#[must_use]
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Bound::{Excluded, Included, Unbounded};

    #[test]
    fn an_intersection_has_the_keys_of_both() {
        let keys = [b"a", b"b", b"c", b"d"];
        let bounds: Vec<Bound<&[u8]>> = [b"b", b"c"]
            .iter()
            .flat_map(|key| [Included(&key[..]), Excluded(&key[..])])
            .chain([Unbounded])
            .collect();
        let ranges = || bounds.iter().flat_map(|&lower| bounds.iter().map(move |&upper| (lower, upper)));
        for (one, other) in ranges().flat_map(|one| ranges().map(move |other| (one, other))) {
            let both = intersection(one, other);
            for key in keys {
                let expected = contains(one, key) && contains(other, key);
                assert_eq!(both.is_some_and(|both| contains(both, key)), expected, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn ends_of_prefixes() {
        assert_eq!(prefix_end(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(prefix_end(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(prefix_end(b"\xff"), None);
        assert_eq!(prefix_end(b""), None);
    }

    #[test]
    fn every_kind_of_range_becomes_bounds() {
        let (a, c) = (b"a".to_vec(), b"c".to_vec());
        assert_eq!(bounds(&("a".."c")), (Included(&b"a"[..]), Excluded(&b"c"[..])));
        assert_eq!(bounds(&(&a..=&c)), (Included(&b"a"[..]), Included(&b"c"[..])));
        assert_eq!(bounds(&(&a[..]..)), (Included(&b"a"[..]), Unbounded));
        assert_eq!(bounds(&(Excluded(b"a"), Unbounded)), (Excluded(&b"a"[..]), Unbounded));
    }

    #[test]
    fn bounds_are_brought_to_the_lengths_of_keys() {
        let all = (Unbounded, Unbounded);
        assert_eq!(normalize(all, false, 3), Some(all));
        assert_eq!(normalize((Included(b""), Unbounded), false, 3), Some(all));
        assert_eq!(normalize((Excluded(b""), Unbounded), true, 3), Some(all));
        assert_eq!(normalize((Unbounded, Included(b"")), false, 3), None);
        let (at, above) = ((Included(&b"abc"[..]), Unbounded), (Included(&b"abcd"[..]), Unbounded));
        assert_eq!(normalize(at, false, 3), Some(at));
        assert_eq!(normalize(above, false, 3), Some((Excluded(&b"abc"[..]), Unbounded)));
        assert_eq!(normalize(above, true, 3), Some(at));
        assert_eq!(
            normalize((Unbounded, Excluded(b"abcd")), false, 3),
            Some((Unbounded, Included(&b"abc"[..])))
        );
    }

    #[test]
    fn ranges_that_hold_no_key_are_none() {
        assert_eq!(normalize((Included(b"b"), Included(b"a")), false, 3), None);
        assert_eq!(normalize((Included(b"a"), Excluded(b"a")), false, 3), None);
        assert_eq!(normalize((Excluded(b"a"), Included(b"a")), false, 3), None);
        assert!(normalize((Included(b"a"), Included(b"a")), false, 3).is_some());
        assert!(normalize((Included(b"a"), Excluded(b"b")), false, 3).is_some());
        assert!(normalize((Included(b"b"), Included(b"a")), true, 3).is_some());
    }
}
