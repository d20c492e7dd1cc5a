//! The place of a line in a DDR4 channel: a bank, and a row of it.
//!
//! ```text
//!  bits of the number of a line   | 11 ...  |  10  9  |  8 ... 5  |  4  3  |  2  1  0  |
//!                                 |   row   |  bank   |  column   | group  |  column   |
//! ```
//! A row has 8 KiB. Eight adjacent lines are in one row, so a short burst activates one row; a long one
//! continues in the next bank group, so its lines follow each other at the rate of different groups. Bank and
//! group are XORed with the row, four bits of it at a time: nodes begin at multiples of 1 KiB to 8 KiB, and
//! without this the first lines of all nodes, which each search reads, would share few banks.

/// Bank groups of a channel.
pub(super) const GROUPS: usize = 4;
/// Banks of all groups.
pub(super) const BANKS: usize = 16;

/// The place of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The bank, of all groups. Its lower two bits are the group.
    pub(super) bank: usize,
    /// The row of the bank.
    pub(super) row: u64,
}

impl Place {
    /// Returns the place of a line by its number in the channel.
    pub(super) fn of_line(line: u64) -> Self {
        let (row, bank, group) = (line >> 11, line >> 9 & 3, line >> 3 & 3);
        let bank = (bank << 2 | group) ^ folded(row);
        Self { bank: bank as usize, row }
    }

    pub(super) fn group(self) -> usize {
        self.bank % GROUPS
    }
}

/// Returns the XOR of all groups of four bits.
fn folded(row: u64) -> u64 {
    [32, 16, 8, 4].into_iter().fold(row, |folded, shift| folded ^ folded >> shift) & 15
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_row_has_8_kib_and_lines_have_places_of_their_own() {
        let mut lines = HashMap::new();
        for line in 0..1 << 16 {
            let Place { bank, row } = Place::of_line(line);
            *lines.entry((bank, row)).or_insert(0) += 1;
        }
        assert_eq!(lines.len(), (1 << 16) / 128);
        assert!(lines.values().all(|&lines| lines == 128));
    }

    #[test]
    fn the_first_lines_of_nodes_use_all_banks() {
        for node_bytes in [2048, 4096, 8192] {
            let mut nodes = [0; BANKS];
            (0..4096).for_each(|node| nodes[Place::of_line(node * node_bytes / 64).bank] += 1);
            assert!(nodes.iter().all(|&nodes| nodes == 256), "{node_bytes}: {nodes:?}");
        }
    }

    #[test]
    fn a_burst_of_512_bytes_has_one_row() {
        let places = (64..72).map(Place::of_line);
        assert!(places.clone().all(|place| place == Place::of_line(64)));
        assert_ne!(Place::of_line(72).group(), Place::of_line(64).group());
    }
}
