//! Host memory: an AXI4 responder without writes. The lines of a burst are read from the host when the link
//! accepts the burst, so while the request that needs them is in flight; a beat arrives when the link has
//! transferred it.

use std::collections::HashMap;

use super::ReadLine;
use super::stream_ports::words_of;
use crate::model::{Inputs, Outputs, Words};
use crate::platform::{HostBeat, HostLink, HostRead, LINE_BYTES, LinkCounts, Picoseconds};

#[derive(Debug)]
pub(crate) struct HostPort {
    link: HostLink,
    /// Bursts whose last beat has not arrived, by the number of their read.
    in_flight: HashMap<u32, Burst>,
    reads: u32,
}

#[derive(Debug)]
struct Burst {
    /// AXI id. The accelerator may reuse it after the last beat.
    id: u64,
    address: u64,
    /// `None` for addresses without memory.
    lines: Vec<Option<Words>>,
    /// Number of commands sent before the burst was read. They must take effect before its beats.
    after: u64,
}

/// Values of `rresp`.
const OKAY: u64 = 0;
const SLAVE_ERROR: u64 = 2;

impl HostPort {
    pub(crate) fn new(link: HostLink) -> Self {
        Self { link, in_flight: HashMap::new(), reads: 0 }
    }

    pub(crate) fn drive(&mut self, now: Picoseconds, applied: u64, inputs: &mut Inputs) {
        self.link.advance(now);
        inputs.host_arready = u64::from(self.link.is_ready());
        inputs.host_rvalid = 0;
        if let Some(beat) = self.link.offered() {
            let burst = &self.in_flight[&beat.tag];
            inputs.host_rvalid = u64::from(burst.after <= applied);
            burst.drive(beat, inputs);
        }
    }

    pub(crate) fn observe(
        &mut self,
        sent: u64,
        inputs: &Inputs,
        outputs: &Outputs,
        memory: Option<&mut ReadLine<'_>>,
    ) {
        if let Some(beat) = self.link.offered().filter(|_| inputs.host_rvalid & outputs.host_rready != 0) {
            self.accept(beat);
        }
        if let Some(memory) = memory.filter(|_| outputs.host_arvalid & inputs.host_arready != 0) {
            let (id, address) = (outputs.host_arid, outputs.host_araddr);
            let bytes = (outputs.host_arlen + 1) * LINE_BYTES as u64;
            assert!(self.in_flight.values().all(|other| other.id != id), "id {id} is already in flight");
            let burst = Burst { id, address, lines: lines(address, bytes, memory), after: sent };
            self.in_flight.insert(self.reads, burst);
            self.link.submit(HostRead { address, bytes, tag: self.reads });
            self.reads = self.reads.wrapping_add(1);
        }
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
    fn drive(&self, beat: HostBeat, inputs: &mut Inputs) {
        let line = self.lines[((beat.address - self.address) / LINE_BYTES as u64) as usize];
        inputs.host_rid = self.id;
        inputs.host_rlast = u64::from(beat.last);
        inputs.host_rresp = if line.is_some() { OKAY } else { SLAVE_ERROR };
        inputs.host_rdata = line.unwrap_or_default();
    }
}

fn lines(address: u64, bytes: u64, memory: &mut ReadLine<'_>) -> Vec<Option<Words>> {
    let mut line = [0; LINE_BYTES];
    let addresses = (0..bytes / LINE_BYTES as u64).map(|index| address + index * LINE_BYTES as u64);
    addresses.map(|address| memory(address, &mut line).then(|| words_of(&line))).collect()
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
            port.drive(now, 0, &mut inputs);
            if inputs.host_rvalid != 0 {
                beats.push((inputs.host_rid, inputs.host_rresp, inputs.host_rlast != 0));
            }
            port.observe(0, &inputs, &outputs, Some(&mut memory));
            outputs.host_arvalid &= 1 - inputs.host_arready;
        }
        beats
    }

    #[test]
    fn a_burst_with_errors_returns_all_beats() {
        let mut port = HostPort::new(HostLink::new(Platform::PAPER.link, 1));
        let expected = [OKAY, SLAVE_ERROR, OKAY, SLAVE_ERROR].iter().enumerate();
        let expected: Vec<_> = expected.map(|(at, &response)| (5, response, at == 3)).collect();
        assert_eq!(beats_of_a_burst(&mut port), expected);
        assert_eq!(beats_of_a_burst(&mut port), expected, "the id is free again");
    }
}
