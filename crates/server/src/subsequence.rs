//! The longest common subsequence of two strings, with 64 cells of the table per word.
//!
//! The table contains the length of the longest common subsequence for each pair of prefixes. From one column
//! to the next the length grows by at most one, so a row has one bit per column, which is clear where the
//! length grows. An addition computes each row from the previous one (H. Hyyrö, *Bit-parallel LCS-length
//! computation revisited*, 2004). The bits of all rows suffice to reconstruct a subsequence.

/// Maximum number of bits of the table: 16 MiB. It has a row for each byte of the first string, with a bit
/// for each byte of the second string, rounded up to words of 64.
pub(crate) const TABLE_BITS_MAX: usize = 1 << 27;

/// The table of two strings.
#[derive(Debug)]
pub(crate) struct Subsequence<'s> {
    first: &'s [u8],
    second: &'s [u8],
    /// Words of a row.
    width: usize,
    /// The row after each byte of the first string.
    rows: Vec<u64>,
}

/// Consecutive bytes that both strings contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Match {
    /// Its offset in the first string, and in the second.
    pub(crate) first: usize,
    pub(crate) second: usize,
    pub(crate) length: usize,
}

impl<'s> Subsequence<'s> {
    /// Returns the bytes of the table of two strings.
    pub(crate) fn table_bytes(first: &[u8], second: &[u8]) -> usize {
        first.len().saturating_mul(second.len()) / 8
    }

    /// Returns `None` if the table would be too large.
    pub(crate) fn of(first: &'s [u8], second: &'s [u8]) -> Option<Self> {
        if first.len().checked_mul(second.len().checked_next_multiple_of(64)?)? > TABLE_BITS_MAX {
            return None;
        }
        if second.is_empty() {
            return Some(Self { first: &[], second, width: 0, rows: Vec::new() });
        }
        let width = second.len().div_ceil(64);
        let places = Places::of(first, second, width);
        let mut rows = Vec::with_capacity(first.len() * width);
        let mut row = vec![u64::MAX; width];
        for byte in first {
            step(&mut row, places.of_byte(*byte));
            rows.extend_from_slice(&row);
        }
        Some(Self { first, second, width, rows })
    }

    /// Returns the length of the longest common subsequence in bytes.
    pub(crate) fn length(&self) -> usize {
        let last = self.rows.chunks_exact(self.width.max(1)).last().unwrap_or_default();
        let clear: u32 = last.iter().map(|word| word.count_zeros()).sum();
        clear as usize
    }

    /// Returns the matches of one longest subsequence, last to first. Among several subsequences it chooses
    /// the one that skips bytes of the second string first.
    pub(crate) fn matches(&self) -> Vec<Match> {
        let (mut first, mut second) = (self.first.len(), self.second.len());
        let mut matches: Vec<Match> = Vec::new();
        while first > 0 && second > 0 {
            if self.first[first - 1] == self.second[second - 1] {
                match matches.last_mut().filter(|last| last.first == first && last.second == second) {
                    Some(last) => {
                        *last = Match { first: first - 1, second: second - 1, length: last.length + 1 };
                    }
                    None => matches.push(Match { first: first - 1, second: second - 1, length: 1 }),
                }
                (first, second) = (first - 1, second - 1);
            } else if self.grows(first, second) {
                first -= 1;
            } else {
                second -= 1;
            }
        }
        matches
    }

    /// Returns whether the last byte of a prefix of the second string makes the subsequence longer. If this
    /// byte differs from the last one of the prefix of the first string, the shorter prefix also has a longer
    /// subsequence.
    fn grows(&self, first: usize, second: usize) -> bool {
        let column = second - 1;
        self.rows[(first - 1) * self.width + column / 64] >> (column % 64) & 1 == 0
    }
}

/// Computes the next row from the columns in which the next byte of the first string occurs.
fn step(row: &mut [u64], places: &[u64]) {
    let mut carried = false;
    for (word, places) in row.iter_mut().zip(places) {
        let met = *word & places;
        let (sum, first) = word.overflowing_add(met);
        let (sum, second) = sum.overflowing_add(u64::from(carried));
        carried = first || second;
        *word = sum | *word & !places;
    }
}

/// For each byte of the first string, the columns of the second string in which it occurs.
struct Places {
    width: usize,
    /// The row of each byte.
    index: [usize; 256],
    rows: Vec<u64>,
}

impl Places {
    fn of(first: &[u8], second: &[u8], width: usize) -> Self {
        let (mut index, mut count) = ([usize::MAX; 256], 0);
        for byte in first {
            let index = &mut index[usize::from(*byte)];
            if *index == usize::MAX {
                *index = count;
                count += 1;
            }
        }
        let mut rows = vec![0; count * width];
        for (column, byte) in second.iter().enumerate() {
            let index = index[usize::from(*byte)];
            if index != usize::MAX {
                rows[index * width + column / 64] |= 1 << (column % 64);
            }
        }
        Self { width, index, rows }
    }

    fn of_byte(&self, byte: u8) -> &[u64] {
        let start = self.index[usize::from(byte)] * self.width;
        &self.rows[start..start + self.width]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns length and matches from the full table of numbers.
    fn by_full_table(first: &[u8], second: &[u8]) -> (usize, Vec<Match>) {
        let mut table = vec![vec![0; second.len() + 1]; first.len() + 1];
        for i in 1..=first.len() {
            for j in 1..=second.len() {
                table[i][j] = match first[i - 1] == second[j - 1] {
                    true => table[i - 1][j - 1] + 1,
                    false => table[i - 1][j].max(table[i][j - 1]),
                };
            }
        }
        let (mut i, mut j, mut matches) = (first.len(), second.len(), Vec::<Match>::new());
        while i > 0 && j > 0 {
            if first[i - 1] == second[j - 1] {
                (i, j) = (i - 1, j - 1);
                match matches.last_mut().filter(|last| last.first == i + 1 && last.second == j + 1) {
                    Some(last) => *last = Match { first: i, second: j, length: last.length + 1 },
                    None => matches.push(Match { first: i, second: j, length: 1 }),
                }
            } else if table[i - 1][j] > table[i][j - 1] {
                i -= 1;
            } else {
                j -= 1;
            }
        }
        (table[first.len()][second.len()], matches)
    }

    proptest! {
        #[test]
        fn the_result_agrees_with_the_table_of_numbers(
            first in proptest::collection::vec(0..4_u8, 0..150),
            second in proptest::collection::vec(0..5_u8, 0..150),
        ) {
            let found = Subsequence::of(&first, &second).unwrap();
            let (length, matches) = by_full_table(&first, &second);
            prop_assert_eq!(found.length(), length);
            prop_assert_eq!(found.matches(), matches);
        }
    }

    #[test]
    fn the_table_has_a_maximum_size() {
        let (first, second) = (vec![0; 1 << 14], vec![0; 1 << 13]);
        assert_eq!(Subsequence::of(&first, &second).unwrap().length(), 1 << 13);
        assert!(Subsequence::of(&first, &[&second[..], b"x"].concat()).is_none());
        assert_eq!(Subsequence::of(&vec![0; 1 << 24], b"").unwrap().length(), 0);
        assert_eq!(Subsequence::of(b"", &vec![0; 1 << 24]).unwrap().length(), 0);
        assert!(Subsequence::of(&vec![0; 1 << 24], b"x").is_none());
    }
}
