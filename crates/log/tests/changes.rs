//! Changes are encoded with and without memory of earlier ones.

use honeycomb_log::{Change, Changes, changes};

/// The encoding of short pairs begins and ends between these lengths.
const LENGTHS: std::ops::RangeInclusive<usize> = 0..=70;

#[test]
fn puts_of_all_lengths_are_decoded() {
    let (keys, values): (Vec<u8>, Vec<u8>) = ((1..=70).collect(), (101..=170).collect());
    let mut together = Changes::default();
    for (key, value) in LENGTHS.flat_map(|key| LENGTHS.map(move |value| (key, value))) {
        let (key, value) = (&keys[..key], &values[..value]);
        let mut alone = Changes::default();
        for encoded in [&mut alone, &mut together] {
            let start = encoded.bytes().len();
            encoded.put(7, key, value);
            let decoded: Vec<_> = changes(&encoded.bytes()[start..]).collect();
            assert_eq!(decoded, [Ok(Change::Put { tree: 7, key, value })]);
        }
    }
    assert_eq!(changes(together.bytes()).filter(Result::is_ok).count(), LENGTHS.count() * LENGTHS.count());
}

#[test]
fn a_short_put_uses_only_memory_that_is_there() {
    let (mut encoded, bytes) = (Changes::default(), [5; 65]);
    assert!(!encoded.put_short(1, &bytes[..16], &bytes[..16]), "there is no memory");
    encoded.put(1, &bytes[..16], &bytes[..16]);
    encoded.clear();
    assert!(encoded.is_empty());
    for (key, value) in [(15, 16), (16, 15), (65, 64), (64, 65)] {
        assert!(!encoded.put_short(1, &bytes[..key], &bytes[..value]), "{key} and {value} bytes");
    }
    assert!(encoded.is_empty());
    assert!(encoded.put_short(1, &bytes[..64], &bytes[..64]));
    assert!(!encoded.put_short(1, &bytes[..16], &bytes[..16]), "the memory is full");
}
