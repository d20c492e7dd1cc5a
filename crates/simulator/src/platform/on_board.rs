//! On-board memory: the content of an AXI4 responder with several DRAM channels.
//!
//! Lines are distributed over the channels. A burst ends when the channels have transferred all of its lines,
//! and a response follows a latency later. Bursts with different ids can overtake each other; bursts with one
//! id cannot.
//!
//! AXI4 does not order reads and writes, so a read may return the data of any moment between its acceptance
//! and its answer. A third of the reads take all lines when they are accepted, a third take each line when
//! its channel transfers it, and a third take each line when it is returned. A write takes effect when its
//! lines are accepted.

use std::collections::VecDeque;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::dram_channel::{Access, DramChannel, DramCounts};
use super::dram_place::Place;
use super::pages::{Line, Pages, line_address};
use super::{DramTiming, LINE_BYTES, OnBoardCounts, Picoseconds};

/// The parameters of on-board memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnBoard {
    /// Number of channels.
    pub channels: usize,
    /// Times of a channel.
    pub timing: DramTiming,
    /// Time that a burst takes in addition to that of its channels: controller, physical layer, and clock
    /// crossings.
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
    pub data: Line,
    /// Whether this is the last beat of the burst.
    pub last: bool,
}

/// On-board memory.
#[derive(Debug)]
pub struct OnBoardMemory {
    latency: Picoseconds,
    random: SmallRng,
    pages: Pages,
    channels: Vec<DramChannel>,
    /// Number of the next burst.
    next: u64,
    now: Picoseconds,
    reads: Vec<Read>,
    /// The read whose beats are being returned, and the number of lines returned so far.
    responding: Option<(Read, usize)>,
    /// Writes without all their lines, with the number of lines received so far.
    writes: VecDeque<(Burst, u64)>,
    /// Complete writes that wait for their response.
    written: VecDeque<Transfer>,
    /// Reads, their lines, and lines written.
    counts: OnBoardCounts,
}

/// The transfer of a burst by the channels.
#[derive(Debug)]
struct Transfer {
    number: u64,
    burst: Burst,
    /// Lines that have not been transferred.
    rest: u64,
    /// Time of the response, if no line remains.
    due: Picoseconds,
}

#[derive(Debug)]
struct Read {
    transfer: Transfer,
    moment: Moment,
    /// The lines taken so far.
    lines: Vec<Option<Line>>,
}

/// When a read takes its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Accepted,
    Transferred,
    Returned,
}

/// Most pending bursts.
const PENDING_MAX: usize = 64;
/// Bits of a token for the number of a line in its burst.
const LINE_BITS: u32 = 8;

impl OnBoardMemory {
    /// Returns memory filled with zeros.
    #[must_use]
    pub fn new(parameters: OnBoard, seed: u64) -> Self {
        let OnBoard { channels, timing, latency } = parameters;
        Self {
            latency,
            random: SmallRng::seed_from_u64(seed),
            pages: Pages::default(),
            channels: (0..channels).map(|_| DramChannel::new(timing)).collect(),
            next: 0,
            now: 0,
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
        self.pages.line_mut(line_address(address))[within..within + 8].copy_from_slice(&word.to_le_bytes());
    }

    /// Advances to a time, which must not decrease. Bursts are accepted at this time.
    pub fn advance(&mut self, now: Picoseconds) {
        self.now = now;
        let mut transferred = Vec::new();
        for channel in &mut self.channels {
            channel.advance(now, &mut |token, end| transferred.push((token, end)));
        }
        for (token, end) in transferred {
            self.end_line(token >> LINE_BITS, token & ((1 << LINE_BITS) - 1), end);
        }
    }

    /// Returns whether the memory accepts a burst.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.reads.len() + self.writes.len() + self.written.len() < PENDING_MAX
    }

    /// Accepts a read. The memory must be ready.
    pub fn read(&mut self, burst: Burst) {
        self.counts.reads += 1;
        self.counts.lines_read += burst.lines;
        let moment =
            [Moment::Accepted, Moment::Transferred, Moment::Returned][self.random.random_range(0..3)];
        let take = |at| (moment == Moment::Accepted).then(|| self.pages.line(burst.line(at)));
        let lines = (0..burst.lines).map(take).collect();
        let transfer = self.transfer(burst, false);
        self.reads.push(Read { transfer, moment, lines });
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
    pub fn write_line(&mut self, data: &Line, strobe: u64) {
        let Some((burst, received)) = self.writes.front_mut() else { return };
        let line = self.pages.line_mut(burst.line(*received));
        *received += 1;
        let complete = (*received == burst.lines).then_some(*burst);
        for (byte, value) in data.iter().enumerate().filter(|(byte, _)| strobe >> byte & 1 == 1) {
            line[byte] = *value;
        }
        self.counts.lines_written += 1;
        if let Some(burst) = complete {
            self.writes.pop_front();
            let transfer = self.transfer(burst, true);
            self.written.push_back(transfer);
        }
    }

    /// Returns the next beat of a read response. The caller must accept it. Beats of other bursts follow
    /// after the last beat of this one.
    pub fn next_beat(&mut self) -> Option<OnBoardBeat> {
        if self.responding.is_none() {
            let index = self.first_due()?;
            self.responding = Some((self.reads.remove(index), 0));
        }
        let (read, at) = self.responding.as_mut()?;
        let burst = read.transfer.burst;
        let data = read.lines[*at].unwrap_or_else(|| self.pages.line(burst.line(*at as u64)));
        *at += 1;
        let last = *at == read.lines.len();
        if last {
            self.responding = None;
        }
        Some(OnBoardBeat { id: burst.id, data, last })
    }

    /// Returns the id of the next acknowledged write.
    pub fn next_written(&mut self) -> Option<u32> {
        let is_due = self.written.front().is_some_and(|write| write.is_due(self.now));
        if is_due { self.written.pop_front().map(|write| write.burst.id) } else { None }
    }

    /// Returns the traffic since the start.
    #[must_use]
    pub fn counts(&self) -> OnBoardCounts {
        let channels = self.channels.iter().map(DramChannel::counts);
        let channels = channels.fold(DramCounts::default(), DramCounts::with);
        OnBoardCounts { channels, ..self.counts }
    }

    /// Queues the lines of a burst in their channels.
    fn transfer(&mut self, burst: Burst, is_write: bool) -> Transfer {
        let (number, channels) = (self.next, self.channels.len() as u64);
        self.next += 1;
        for at in 0..burst.lines {
            let line = burst.line(at) / LINE_BYTES as u64;
            let place = Place::of_line(line / channels);
            let access = Access { place, is_write, token: number << LINE_BITS | at };
            self.channels[(line % channels) as usize].push(access);
        }
        Transfer { number, burst, rest: burst.lines, due: 0 }
    }

    /// Notes that a channel transfers a line of a burst.
    fn end_line(&mut self, number: u64, at: u64, end: Picoseconds) {
        let due = end + self.latency;
        if let Some(read) = self.reads.iter_mut().find(|read| read.transfer.number == number) {
            read.transfer.end_line(due);
            if read.moment == Moment::Transferred {
                read.lines[at as usize] = Some(self.pages.line(read.transfer.burst.line(at)));
            }
        } else if let Some(write) = self.written.iter_mut().find(|write| write.number == number) {
            write.end_line(due);
        }
    }

    /// Returns the earliest due read that has no older read with the same id.
    fn first_due(&self) -> Option<usize> {
        let is_next = |index: usize| {
            let id = self.reads[index].transfer.burst.id;
            self.reads[..index].iter().all(|older| older.transfer.burst.id != id)
        };
        let due = |&index: &usize| self.reads[index].transfer.is_due(self.now) && is_next(index);
        (0..self.reads.len()).filter(due).min_by_key(|&index| self.reads[index].transfer.due)
    }
}

impl Burst {
    /// Returns the address of a line, by its number in the burst.
    fn line(&self, at: u64) -> u64 {
        line_address(self.address) + at * LINE_BYTES as u64
    }
}

impl Transfer {
    fn end_line(&mut self, due: Picoseconds) {
        self.rest -= 1;
        self.due = self.due.max(due);
    }

    fn is_due(&self, now: Picoseconds) -> bool {
        self.rest == 0 && self.due <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line in a closed row takes 34 cycles, about 32 ns.
    const PARAMETERS: OnBoard = OnBoard { channels: 2, timing: DramTiming::DDR4_2133, latency: 50_000 };

    fn beats_until(memory: &mut OnBoardMemory, now: Picoseconds) -> Vec<(u32, u8, bool)> {
        memory.advance(now);
        std::iter::from_fn(|| memory.next_beat()).map(|beat| (beat.id, beat.data[0], beat.last)).collect()
    }

    fn written_until(memory: &mut OnBoardMemory, now: Picoseconds) -> Option<u32> {
        memory.advance(now);
        memory.next_written()
    }

    #[test]
    fn reads_return_written_bytes() {
        let mut memory = OnBoardMemory::new(PARAMETERS, 1);
        memory.write(Burst { id: 3, address: 4032, lines: 2 });
        memory.write_line(&[7; LINE_BYTES], u64::MAX);
        assert_eq!(written_until(&mut memory, 1_000_000), None, "a line is missing");
        memory.write_line(&[9; LINE_BYTES], 1);
        assert_eq!(written_until(&mut memory, 1_070_000), None);
        assert_eq!(written_until(&mut memory, 1_100_000), Some(3));
        memory.read(Burst { id: 1, address: 4032, lines: 2 });
        assert_eq!(beats_until(&mut memory, 1_149_000), [], "the read is not due");
        memory.read(Burst { id: 2, address: 4097, lines: 1 });
        assert_eq!(beats_until(&mut memory, 2_000_000), [(1, 7, false), (1, 9, true), (2, 9, true)]);
        assert_eq!(memory.pages.line(4096)[1], 0, "only the first byte was written");
        memory.put_word(4104, 0xa00b);
        assert_eq!(memory.pages.line(4096)[..11], [9, 0, 0, 0, 0, 0, 0, 0, 0x0b, 0xa0, 0]);
    }

    #[test]
    fn bursts_of_one_id_stay_in_order_and_others_overtake_them() {
        let mut memory = OnBoardMemory::new(PARAMETERS, 1);
        // Even lines are in one channel, odd lines in the other.
        for (id, line) in [(0, 0), (0, 2), (0, 4), (1, 1)] {
            memory.read(Burst { id, address: line * 64, lines: 1 });
        }
        let ids = |memory: &mut OnBoardMemory, now| -> Vec<u32> {
            beats_until(memory, now).into_iter().map(|beat| beat.0).collect()
        };
        assert!(ids(&mut memory, 81_000).is_empty());
        assert_eq!(ids(&mut memory, 82_000), [0, 1]);
        assert_eq!(ids(&mut memory, 100_000), [0, 0]);
        memory.read(Burst { id: 0, address: 0, lines: 16 });
        memory.read(Burst { id: 0, address: 64, lines: 1 });
        assert_eq!(memory.reads.len(), 2);
        assert_eq!(beats_until(&mut memory, 1_000_000).iter().position(|beat| beat.2), Some(15));
    }

    #[test]
    fn bandwidth_is_the_sum_of_the_channels() {
        let timing = DramTiming { refi: u64::MAX, ..PARAMETERS.timing };
        let mut memory = OnBoardMemory::new(OnBoard { timing, ..PARAMETERS }, 1);
        let (mut now, mut lines, mut next) = (0, 0, 0);
        while now < 10_000_000 {
            now += 1_000;
            lines += beats_until(&mut memory, now).len();
            if memory.is_ready() {
                memory.read(Burst { id: 0, address: next * 512, lines: 8 });
                next += 1;
            }
        }
        let gigabytes = (lines * LINE_BYTES) as f64 / 10_000.0;
        assert!((33.0..=34.2).contains(&gigabytes), "{gigabytes} GB/s of 34.1");
    }

    /// Writes of three lines, two of which are in one channel, during a read of them.
    #[test]
    fn data_are_of_any_moment_of_a_read() {
        let mut memory = OnBoardMemory::new(PARAMETERS, 1);
        let mut seen = std::collections::BTreeSet::new();
        for number in 1..=400_u64 {
            let (start, written) = (number * 1_000_000, 2 + number % 40 * 2);
            memory.advance(start);
            memory.read(Burst { id: 0, address: 0, lines: 3 });
            memory.advance(start + written * 1_000);
            (0..3).for_each(|line| memory.put_word(line * 64, number));
            let beats = beats_until(&mut memory, start + 500_000);
            seen.insert((written, [0, 1, 2].map(|at| u64::from(beats[at].1) == number & 0xff)));
        }
        assert!(seen.contains(&(2, [true; 3])), "lines are never taken after 2 ns");
        assert!(seen.contains(&(80, [false; 3])), "lines are never taken before 80 ns");
        assert!(seen.contains(&(60, [false; 3])) && seen.contains(&(60, [true; 3])), "{seen:?}");
        let is_mixed = |lines: &[bool; 3]| lines.contains(&true) && lines.contains(&false);
        assert!(seen.iter().any(|(_, lines)| is_mixed(lines)), "the lines of a read are of one moment");
    }
}
