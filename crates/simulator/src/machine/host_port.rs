//! Host memory: an AXI4 responder without writes.
//!
//! A read is not atomic: host memory reads each line at a random moment after the acceptance of the read,
//! within the shortest latency of the link, and lines of one read in any order. A beat arrives when the link
//! has transferred it.
//!
//! 1. The machine has host memory in some cycles only. A line that is due waits for the next of them, and a
//!    beat for its line.
//! 2. Commands that were sent before a line was read take effect before its beat: answers to reads of a
//!    device do not overtake posted writes, and the line may contain a LID that they map.
//! 3. A request is in the window until its last beat, so the buffers of its lines are not reclaimed before.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::ReadLine;
use super::stream_ports::words_of;
use crate::model::{Inputs, Outputs, Words};
use crate::platform::{HostBeat, HostLink, HostRead, LINE_BYTES, LinkCounts, Picoseconds};

#[derive(Debug)]
pub(crate) struct HostPort {
    link: HostLink,
    random: SmallRng,
    /// Bursts whose last beat has not arrived, by the number of their read.
    in_flight: HashMap<u32, Burst>,
    /// Lines that have not been read, as time, number of the read, and number of the line in its burst.
    unread: BinaryHeap<Reverse<(Picoseconds, u32, usize)>>,
    reads: u32,
}

#[derive(Debug)]
struct Burst {
    /// AXI id. The accelerator may reuse it after the last beat.
    id: u64,
    address: u64,
    /// The lines that have been read.
    lines: Vec<Option<Line>>,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    /// `None` for an address without memory.
    words: Option<Words>,
    /// Number of commands sent before the line was read. They must take effect before its beat.
    after: u64,
}

/// Values of `rresp`.
const OKAY: u64 = 0;
const SLAVE_ERROR: u64 = 2;

impl HostPort {
    pub(crate) fn new(link: HostLink, seed: u64) -> Self {
        let (random, unread) = (SmallRng::seed_from_u64(seed), BinaryHeap::new());
        Self { link, random, in_flight: HashMap::new(), unread, reads: 0 }
    }

    /// Reads the lines that are due, if the machine has host memory.
    pub(crate) fn read_lines(&mut self, now: Picoseconds, sent: u64, memory: Option<&mut ReadLine<'_>>) {
        let Some(memory) = memory else { return };
        while let Some(&Reverse((due, read, at))) = self.unread.peek()
            && due <= now
        {
            self.unread.pop();
            let burst = self.in_flight.get_mut(&read).expect("a burst is in flight until its lines arrive");
            burst.read_line(at, sent, memory);
        }
    }

    pub(crate) fn drive(&mut self, now: Picoseconds, applied: u64, inputs: &mut Inputs) {
        self.link.advance(now);
        inputs.host_arready = u64::from(self.link.is_ready());
        inputs.host_rvalid = 0;
        if let Some(beat) = self.link.offered() {
            self.in_flight[&beat.tag].drive(beat, applied, inputs);
        }
    }

    pub(crate) fn observe(&mut self, now: Picoseconds, inputs: &Inputs, outputs: &Outputs) {
        if let Some(beat) = self.link.offered().filter(|_| inputs.host_rvalid & outputs.host_rready != 0) {
            self.accept(beat);
        }
        if outputs.host_arvalid & inputs.host_arready != 0 {
            self.submit(now, outputs.host_arid, outputs.host_araddr, outputs.host_arlen as usize + 1);
        }
    }

    fn submit(&mut self, now: Picoseconds, id: u64, address: u64, lines: usize) {
        assert!(self.in_flight.values().all(|other| other.id != id), "id {id} is already in flight");
        for at in 0..lines {
            let due = now + self.random.random_range(0..=self.link.latency_min());
            self.unread.push(Reverse((due, self.reads, at)));
        }
        self.in_flight.insert(self.reads, Burst { id, address, lines: vec![None; lines] });
        self.link.submit(HostRead { address, bytes: (lines * LINE_BYTES) as u64, tag: self.reads });
        self.reads = self.reads.wrapping_add(1);
    }

    fn accept(&mut self, beat: HostBeat) {
        self.link.accept();
        if beat.last {
            self.in_flight.remove(&beat.tag);
        }
    }

    pub(crate) fn counts(&self) -> LinkCounts {
        self.link.counts()
    }
}

impl Burst {
    fn read_line(&mut self, at: usize, sent: u64, memory: &mut ReadLine<'_>) {
        let mut line = [0; LINE_BYTES];
        let is_there = memory(self.address + (at * LINE_BYTES) as u64, &mut line);
        self.lines[at] = Some(Line { words: is_there.then(|| words_of(&line)), after: sent });
    }

    fn drive(&self, beat: HostBeat, applied: u64, inputs: &mut Inputs) {
        let at = (beat.address - self.address) / LINE_BYTES as u64;
        let Some(Line { words, .. }) = self.lines[at as usize].filter(|line| line.after <= applied) else {
            return;
        };
        inputs.host_rvalid = 1;
        inputs.host_rid = self.id;
        inputs.host_rlast = u64::from(beat.last);
        inputs.host_rresp = if words.is_some() { OKAY } else { SLAVE_ERROR };
        inputs.host_rdata = words.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Platform;

    /// Reads a burst of four lines, every other one of which exists. Returns id, response and last of each
    /// beat.
    fn beats_of_a_burst(port: &mut HostPort) -> Vec<(u64, u64, bool)> {
        let (mut inputs, mut outputs, mut beats) = (Inputs::default(), Outputs::default(), Vec::new());
        let mut memory = |address: u64, line: &mut [u8; LINE_BYTES]| {
            line.fill(address as u8);
            address.is_multiple_of(2 * LINE_BYTES as u64)
        };
        (outputs.host_arvalid, outputs.host_arid, outputs.host_arlen, outputs.host_rready) = (1, 5, 3, 1);
        for now in (0..10_000).map(|cycle| cycle * 1_000) {
            port.read_lines(now, 0, Some(&mut memory));
            port.drive(now, 0, &mut inputs);
            if inputs.host_rvalid != 0 {
                beats.push((inputs.host_rid, inputs.host_rresp, inputs.host_rlast != 0));
            }
            port.observe(now, &inputs, &outputs);
            outputs.host_arvalid &= 1 - inputs.host_arready;
        }
        beats
    }

    #[test]
    fn a_burst_with_errors_returns_all_beats() {
        let mut port = HostPort::new(HostLink::new(Platform::PAPER.link, 1), 1);
        let expected = [OKAY, SLAVE_ERROR, OKAY, SLAVE_ERROR].iter().enumerate();
        let expected: Vec<_> = expected.map(|(at, &response)| (5, response, at == 3)).collect();
        assert_eq!(beats_of_a_burst(&mut port), expected);
        assert_eq!(beats_of_a_burst(&mut port), expected, "the id is free again");
    }

    /// Executes a burst of eight lines, during which all lines of host memory are replaced after a time.
    /// Returns for each beat whether it has the old line.
    fn old_lines(port: &mut HostPort, replaced: Picoseconds) -> Vec<bool> {
        let (mut inputs, mut outputs, mut beats) = (Inputs::default(), Outputs::default(), Vec::new());
        (outputs.host_arvalid, outputs.host_arlen, outputs.host_rready) = (1, 7, 1);
        for now in (0..3_000).map(|cycle| cycle * 1_000) {
            let mut memory = |_, line: &mut [u8; LINE_BYTES]| {
                line.fill(u8::from(now < replaced));
                true
            };
            port.read_lines(now, 0, Some(&mut memory));
            port.drive(now, 0, &mut inputs);
            if inputs.host_rvalid != 0 {
                beats.push(inputs.host_rdata[0] != 0);
            }
            port.observe(now, &inputs, &outputs);
            outputs.host_arvalid &= 1 - inputs.host_arready;
        }
        beats
    }

    #[test]
    fn lines_of_a_burst_are_of_different_moments() {
        let orders: Vec<_> = (0..20)
            .map(|seed| {
                let mut port = HostPort::new(HostLink::new(Platform::PAPER.link, seed), seed);
                old_lines(&mut port, 364_000)
            })
            .collect();
        assert!(orders.iter().all(|lines| lines.len() == 8));
        let is_older = |one: usize, other: usize| orders.iter().any(|lines| lines[one] && !lines[other]);
        assert!(is_older(0, 7) && is_older(7, 0), "lines of a read are read in any order");
        let share = orders.iter().flatten().filter(|&&is_old| is_old).count() as f64 / 160.0;
        assert!((0.4..0.6).contains(&share), "{share} of the lines are old");
        let mut port = HostPort::new(HostLink::new(Platform::PAPER.link, 1), 1);
        assert_eq!(old_lines(&mut port, 740_000), [true; 8], "all lines were read before");
    }

    /// A beat waits for the commands that were sent before its line was read, and for the line while the
    /// machine has no host memory.
    #[test]
    fn a_beat_waits_for_its_line_and_for_earlier_commands() {
        let mut port = HostPort::new(HostLink::new(Platform::PAPER.link, 1), 1);
        let (mut inputs, mut outputs) = (Inputs::default(), Outputs::default());
        port.drive(0, 0, &mut inputs);
        (outputs.host_arvalid, outputs.host_rready) = (1, 0);
        port.observe(0, &inputs, &outputs);
        port.drive(1_000, 9, &mut inputs);
        port.drive(2_000_000, 9, &mut inputs);
        assert_eq!(inputs.host_rvalid, 0, "the line has not been read");
        port.read_lines(2_000_000, 7, Some(&mut |_, _| true));
        port.drive(2_000_000, 6, &mut inputs);
        assert_eq!(inputs.host_rvalid, 0, "the seventh command has not taken effect");
        port.drive(2_000_000, 7, &mut inputs);
        assert_eq!(inputs.host_rvalid, 1);
    }
}
