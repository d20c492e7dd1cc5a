//! Operations on the bits of strings: read and write numbers, count and find bits.

/// A non-empty range of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Span {
    /// Returns the range of all bits, or `None` for an empty string.
    pub(crate) fn all(data: &[u8]) -> Option<Self> {
        Self::new(data, 0, -1, false)
    }

    /// Returns the range between two positions, both included. Negative positions count from the end. The
    /// unit is a byte or a bit. Returns `None` for an empty range.
    pub(crate) fn new(data: &[u8], start: i64, end: i64, in_bits: bool) -> Option<Self> {
        let unit = if in_bits { 1 } else { 8 };
        let length = data.len() as i64 * 8 / unit;
        let place = |place: i64| if place < 0 { place.saturating_add(length).max(0) } else { place };
        let (start, end) = (place(start), place(end).min(length - 1));
        (start <= end).then(|| Self { start: (start * unit) as u64, end: ((end + 1) * unit) as u64 })
    }

    /// Returns the bytes of the range. In the first and the last byte, bits outside of the range have the
    /// value `outside`.
    fn edges(self, data: &[u8], outside: bool) -> (u8, &[u8], Option<u8>) {
        let (first, last) = (self.start as usize / 8, (self.end as usize - 1) / 8);
        let (before, after) =
            (!(0xff_u8 >> (self.start % 8)), !(0xff00_u16 >> ((self.end - 1) % 8 + 1)) as u8);
        let edge = |byte: u8, mask: u8| if outside { byte | mask } else { byte & !mask };
        if first == last {
            return (edge(data[first], before | after), &[], None);
        }
        (edge(data[first], before), &data[first + 1..last], Some(edge(data[last], after)))
    }
}

/// Reads up to 64 bits as a number. Bits beyond the data are zero.
pub(crate) fn read(data: &[u8], place: u64, bits: u32) -> u64 {
    (window(data, place) << (place % 8) >> (128 - bits)) as u64
}

/// Writes up to 64 bits. Ignores higher bits of the number. The data must contain the range.
pub(crate) fn write(data: &mut [u8], place: u64, bits: u32, number: u64) {
    let shift = 128 - bits - (place % 8) as u32;
    let mask = u128::MAX >> (128 - bits) << shift;
    let window = window(data, place) & !mask | u128::from(number) << shift & mask;
    let first = (place / 8) as usize;
    let last = ((place + u64::from(bits) - 1) / 8) as usize;
    data[first..=last].copy_from_slice(&window.to_be_bytes()[..=last - first]);
}

/// Returns sixteen bytes, from the byte of a bit position on.
fn window(data: &[u8], place: u64) -> u128 {
    let from = usize::try_from(place / 8).unwrap_or(usize::MAX).min(data.len());
    let there = &data[from..data.len().min(from + 16)];
    let mut bytes = [0; 16];
    bytes[..there.len()].copy_from_slice(there);
    u128::from_be_bytes(bytes)
}

/// Returns the number of bits that are set.
pub(crate) fn count(data: &[u8], span: Span) -> u64 {
    let (first, between, last) = span.edges(data, false);
    let (words, rest) = between.as_chunks::<8>();
    let words: u64 = words.iter().map(|word| u64::from(u64::from_ne_bytes(*word).count_ones())).sum();
    let bytes = rest.iter().copied().chain([first]).chain(last);
    words + bytes.map(|byte| u64::from(byte.count_ones())).sum::<u64>()
}

/// Returns the position of the first bit that is set, or clear.
pub(crate) fn find(data: &[u8], span: Span, set: bool) -> Option<u64> {
    let (first, between, last) = span.edges(data, !set);
    let background = if set { 0 } else { 0xff };
    let in_byte = |byte: u8| u64::from(if set { byte } else { !byte }.leading_zeros());
    let from = span.start / 8;
    if first != background {
        return Some(8 * from + in_byte(first));
    }
    // Skip words without a match first.
    let (words, _) = between.as_chunks::<8>();
    let skipped = 8 * words.iter().position(|word| *word != [background; 8]).unwrap_or(words.len());
    if let Some(index) = between[skipped..].iter().position(|byte| *byte != background) {
        let index = skipped + index;
        return Some(8 * (from + 1 + index as u64) + in_byte(between[index]));
    }
    let last = last.filter(|last| *last != background)?;
    Some(8 * (from + 1 + between.len() as u64) + in_byte(last))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bit(data: &[u8], place: u64) -> bool {
        data.get(place as usize / 8).is_some_and(|byte| byte >> (7 - place % 8) & 1 == 1)
    }

    proptest! {
        #[test]
        fn numbers_are_read_and_written_bit_by_bit(
            data in proptest::collection::vec(any::<u8>(), 0..24),
            place in 0..200_u64,
            bits in 1..=64_u32,
            number: u64,
        ) {
            let places = place..place + u64::from(bits);
            let expected = places.clone().fold(0, |number, at| number << 1 | u64::from(bit(&data, at)));
            prop_assert_eq!(read(&data, place, bits), expected);
            let mut written = data.clone();
            written.resize(data.len().max((places.end as usize).div_ceil(8)), 0);
            write(&mut written, place, bits, number);
            prop_assert_eq!(read(&written, place, bits), number & u64::MAX >> (64 - bits));
            for at in (0..8 * written.len() as u64).filter(|at| !places.contains(at)) {
                prop_assert_eq!(bit(&written, at), bit(&data, at));
            }
        }

        #[test]
        fn bits_are_counted_and_found_one_by_one(
            data in proptest::collection::vec(prop_oneof![Just(0_u8), Just(0xff), any::<u8>()], 0..40),
            start in -400..400_i64,
            end in -400..400_i64,
            in_bits: bool,
        ) {
            let Some(span) = Span::new(&data, start, end, in_bits) else { return Ok(()) };
            prop_assert!(span.start < span.end && span.end <= 8 * data.len() as u64);
            let set = (span.start..span.end).filter(|place| bit(&data, *place)).count();
            prop_assert_eq!(count(&data, span), set as u64);
            for wanted in [false, true] {
                let place = (span.start..span.end).find(|place| bit(&data, *place) == wanted);
                prop_assert_eq!(find(&data, span, wanted), place);
            }
        }
    }

    #[test]
    fn positions_become_spans() {
        let span = |start, end, in_bits| Span::new(b"foobar", start, end, in_bits).map(|s| (s.start, s.end));
        assert_eq!(span(0, -1, false), Some((0, 48)));
        assert_eq!(span(-2, -1, false), Some((32, 48)));
        assert_eq!(span(5, 30, true), Some((5, 31)));
        assert_eq!(span(i64::MIN, i64::MAX, true), Some((0, 48)));
        assert_eq!([span(6, 9, false), span(3, 2, false)], [None; 2]);
        assert_eq!(Span::all(b""), None);
    }
}
