//! On-board memory: the content and timing of an AXI4 responder with several DRAM channels.
//!
//! Lines are distributed over the channels. A response follows a latency after the channels have transferred
//! all lines of the burst. Bursts with different ids can overtake each other; bursts with one id cannot.

use std::collections::{HashMap, VecDeque};

use super::{LINE_BYTES, Picoseconds, transfer_time};

/// The parameters of on-board memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnBoard {
    /// Number of channels.
    pub channels: usize,
    /// Bandwidth of a channel in bytes per second.
    pub bandwidth: u64,
    /// Time from a request to its first line without contention.
    pub latency: Picoseconds,
}

/// A burst of whole lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// AXI id.
    pub id: u32,
    /// Address of the first byte. An unaligned address means the line that contains it.
    pub address: u64,
    /// Number of lines.
    pub lines: u64,
}

/// A beat of a read response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnBoardBeat {
    /// Id of its burst.
    pub id: u32,
    /// The line.
    pub data: [u8; LINE_BYTES],
    /// Whether this is the last beat of the burst.
    pub last: bool,
}

/// Traffic of on-board memory since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OnBoardCounts {
    /// Bursts read.
    pub reads: u64,
    /// Lines read.
    pub lines_read: u64,
    /// Lines written.
    pub lines_written: u64,
    /// Time that channels transferred lines, summed over all channels.
    pub busy: Picoseconds,
}

impl OnBoardCounts {
    /// Returns the sum of both.
    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            lines_read: self.lines_read + other.lines_read,
            lines_written: self.lines_written + other.lines_written,
            busy: self.busy + other.busy,
        }
    }

    /// Returns the difference to earlier counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            lines_read: self.lines_read - earlier.lines_read,
            lines_written: self.lines_written - earlier.lines_written,
            busy: self.busy - earlier.busy,
        }
    }
}

/// On-board memory.
#[derive(Debug)]
pub struct OnBoardMemory {
    parameters: OnBoard,
    /// Pages that were written. All other bytes are zero.
    pages: HashMap<u64, Box<[u8; PAGE_BYTES]>>,
    channels_free_at: Vec<Picoseconds>,
    reads: Vec<Pending>,
    /// The read whose beats are being returned, and the number of lines returned so far.
    responding: Option<(Burst, u64)>,
    /// Writes without all their lines, with the number of lines received so far.
    writes: VecDeque<(Burst, u64)>,
    /// Complete writes that wait for their response, as due time and id.
    written: VecDeque<(Picoseconds, u32)>,
    counts: OnBoardCounts,
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    due: Picoseconds,
    burst: Burst,
}

const PAGE_BYTES: usize = 4096;
/// Most pending bursts.
const PENDING_MAX: usize = 64;

impl OnBoardMemory {
    /// Returns memory filled with zeros.
    #[must_use]
    pub fn new(parameters: OnBoard) -> Self {
        Self {
            parameters,
            pages: HashMap::new(),
            channels_free_at: vec![0; parameters.channels],
            reads: Vec::new(),
            responding: None,
            writes: VecDeque::new(),
            written: VecDeque::new(),
            counts: OnBoardCounts::default(),
        }
    }

    /// Writes a word at a multiple of 8 immediately, without using bandwidth.
    pub fn put_word(&mut self, address: u64, word: u64) {
        let within = (address % LINE_BYTES as u64) as usize;
        self.line_mut(line_address(address))[within..within + 8].copy_from_slice(&word.to_le_bytes());
    }

    /// Returns whether the memory accepts a burst.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.reads.len() + self.writes.len() + self.written.len() < PENDING_MAX
    }

    /// Accepts a read. The memory must be ready.
    pub fn read(&mut self, now: Picoseconds, burst: Burst) {
        self.counts.reads += 1;
        self.counts.lines_read += burst.lines;
        let due = self.move_lines(now, burst);
        self.reads.push(Pending { due, burst });
    }

    /// Accepts a write, whose lines follow. The memory must be ready.
    pub fn write(&mut self, burst: Burst) {
        self.writes.push_back((burst, 0));
    }

    /// Returns whether the memory accepts a line of a write.
    #[must_use]
    pub fn accepts_lines(&self) -> bool {
        !self.writes.is_empty()
    }

    /// Accepts the next line of the oldest incomplete write. Each bit of `strobe` enables a byte.
    pub fn write_line(&mut self, now: Picoseconds, data: &[u8; LINE_BYTES], strobe: u64) {
        let Some((burst, received)) = self.writes.front_mut() else { return };
        let address = line_address(burst.address) + *received * LINE_BYTES as u64;
        *received += 1;
        let complete = (*received == burst.lines).then_some(*burst);
        let line = self.line_mut(address);
        for (byte, value) in data.iter().enumerate().filter(|(byte, _)| strobe >> byte & 1 == 1) {
            line[byte] = *value;
        }
        self.counts.lines_written += 1;
        if let Some(burst) = complete {
            self.writes.pop_front();
            let due = self.move_lines(now, burst);
            self.written.push_back((due, burst.id));
        }
    }

    /// Returns the next beat of a read response. The caller must accept it. Beats of other bursts follow
    /// after the last beat of this one.
    pub fn next_beat(&mut self, now: Picoseconds) -> Option<OnBoardBeat> {
        if self.responding.is_none() {
            let index = self.first_due(now)?;
            self.responding = Some((self.reads.remove(index).burst, 0));
        }
        let (burst, returned) = self.responding?;
        let last = returned + 1 == burst.lines;
        self.responding = (!last).then_some((burst, returned + 1));
        let data = self.line(line_address(burst.address) + returned * LINE_BYTES as u64);
        Some(OnBoardBeat { id: burst.id, data, last })
    }

    /// Returns the id of the next acknowledged write.
    pub fn next_written(&mut self, now: Picoseconds) -> Option<u32> {
        let is_due = self.written.front().is_some_and(|&(due, _)| due <= now);
        if is_due { self.written.pop_front().map(|(_, id)| id) } else { None }
    }

    /// Returns the traffic since the start.
    #[must_use]
    pub fn counts(&self) -> OnBoardCounts {
        self.counts
    }

    /// Returns the earliest due read that has no older read with the same id.
    fn first_due(&self, now: Picoseconds) -> Option<usize> {
        let is_next = |index: usize| {
            let id = self.reads[index].burst.id;
            self.reads[..index].iter().all(|older| older.burst.id != id)
        };
        let due = |&index: &usize| self.reads[index].due <= now && is_next(index);
        (0..self.reads.len()).filter(due).min_by_key(|&index| self.reads[index].due)
    }

    /// Occupies the channels with the lines of a burst. Returns the time of the response.
    fn move_lines(&mut self, now: Picoseconds, burst: Burst) -> Picoseconds {
        let duration = transfer_time(LINE_BYTES as u64, self.parameters.bandwidth);
        let first = burst.address / LINE_BYTES as u64;
        let mut done = now;
        for line in first..first + burst.lines {
            let channel = line as usize % self.channels_free_at.len();
            let free_at = &mut self.channels_free_at[channel];
            *free_at = (*free_at).max(now) + duration;
            done = done.max(*free_at);
        }
        self.counts.busy += duration * burst.lines;
        done + self.parameters.latency
    }

    fn line(&self, address: u64) -> [u8; LINE_BYTES] {
        let within = address as usize % PAGE_BYTES;
        let page = self.pages.get(&(address / PAGE_BYTES as u64));
        page.map_or([0; LINE_BYTES], |page| {
            let mut line = [0; LINE_BYTES];
            line.copy_from_slice(&page[within..within + LINE_BYTES]);
            line
        })
    }

    fn line_mut(&mut self, address: u64) -> &mut [u8] {
        let within = address as usize % PAGE_BYTES;
        let page = self.pages.entry(address / PAGE_BYTES as u64).or_insert_with(|| Box::new([0; PAGE_BYTES]));
        &mut page[within..within + LINE_BYTES]
    }
}

fn line_address(address: u64) -> u64 {
    address - address % LINE_BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: OnBoard = OnBoard { channels: 2, bandwidth: 16_000_000_000, latency: 50_000 };

    fn beats_until(memory: &mut OnBoardMemory, now: Picoseconds) -> Vec<(u32, u8, bool)> {
        std::iter::from_fn(|| memory.next_beat(now)).map(|beat| (beat.id, beat.data[0], beat.last)).collect()
    }

    #[test]
    fn reads_return_written_bytes() {
        let mut memory = OnBoardMemory::new(PARAMETERS);
        memory.write(Burst { id: 3, address: 4032, lines: 2 });
        memory.write_line(0, &[7; LINE_BYTES], u64::MAX);
        assert_eq!(memory.next_written(1_000_000), None, "a line is missing");
        memory.write_line(0, &[9; LINE_BYTES], 1);
        assert_eq!((memory.next_written(1_000), memory.next_written(1_000_000)), (None, Some(3)));
        memory.read(0, Burst { id: 1, address: 4032, lines: 2 });
        assert_eq!(beats_until(&mut memory, 49_000), [], "the read is not due");
        memory.read(0, Burst { id: 2, address: 4097, lines: 1 });
        assert_eq!(beats_until(&mut memory, 1_000_000), [(1, 7, false), (1, 9, true), (2, 9, true)]);
        assert_eq!(memory.line(4096)[1], 0, "only the first byte was written");
        memory.put_word(4104, 0xa00b);
        assert_eq!(memory.line(4096)[..17], [9, 0, 0, 0, 0, 0, 0, 0, 0x0b, 0xa0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn bursts_of_one_id_stay_in_order_and_others_overtake_them() {
        let mut memory = OnBoardMemory::new(PARAMETERS);
        // Even lines are in one channel, odd lines in the other. A line takes 4 ns.
        for (id, line) in [(0, 0), (0, 2), (0, 4), (1, 1)] {
            memory.read(0, Burst { id, address: line * 64, lines: 1 });
        }
        let ids = |memory: &mut OnBoardMemory, now| -> Vec<u32> {
            beats_until(memory, now).into_iter().map(|beat| beat.0).collect()
        };
        assert!(ids(&mut memory, 53_000).is_empty());
        assert_eq!(ids(&mut memory, 54_000), [0, 1]);
        assert_eq!(ids(&mut memory, 100_000), [0, 0]);
        memory.read(100_000, Burst { id: 0, address: 0, lines: 16 });
        memory.read(100_000, Burst { id: 0, address: 64, lines: 1 });
        assert_eq!(memory.reads.len(), 2);
        assert_eq!(beats_until(&mut memory, 1_000_000).iter().position(|beat| beat.2), Some(15));
    }

    #[test]
    fn bandwidth_is_the_sum_of_the_channels() {
        let mut memory = OnBoardMemory::new(PARAMETERS);
        let (mut now, mut lines) = (0, 0);
        while now < 10_000_000 {
            now += 1_000;
            if memory.is_ready() {
                memory.read(now, Burst { id: 0, address: 0, lines: 8 });
            }
            lines += beats_until(&mut memory, now).len();
        }
        let gigabytes = (lines * LINE_BYTES) as f64 / 10_000.0;
        assert!((31.0..=32.0).contains(&gigabytes), "{gigabytes} GB/s of 32");
    }
}
