//! A port of on-board memory: an AXI4 responder that accepts bursts whenever its memory is ready.

use super::stream_ports::{line_of, words_of};
use crate::model::{DramInputs, DramOutputs};
use crate::platform::{Burst, OnBoardBeat, OnBoardCounts, OnBoardMemory, Picoseconds};

#[derive(Debug)]
pub(crate) struct OnBoardPort {
    memory: OnBoardMemory,
    /// The beat that waits for the accelerator.
    beat: Option<OnBoardBeat>,
    /// The id of the acknowledged write that waits for the accelerator.
    written: Option<u32>,
}

impl OnBoardPort {
    pub(crate) fn new(memory: OnBoardMemory) -> Self {
        Self { memory, beat: None, written: None }
    }

    pub(crate) fn drive(&mut self, now: Picoseconds, inputs: &mut DramInputs) {
        self.memory.advance(now);
        self.beat = self.beat.take().or_else(|| self.memory.next_beat());
        self.written = self.written.take().or_else(|| self.memory.next_written());
        inputs.rvalid = u64::from(self.beat.is_some());
        if let Some(beat) = &self.beat {
            inputs.rid = u64::from(beat.id);
            inputs.rdata = words_of(&beat.data);
            inputs.rlast = u64::from(beat.last);
        }
        inputs.bvalid = u64::from(self.written.is_some());
        inputs.bid = self.written.map_or(0, u64::from);
        // A read and a write can arrive in one cycle.
        let is_ready = self.memory.is_ready();
        inputs.arready = u64::from(is_ready);
        inputs.awready = u64::from(is_ready);
        inputs.wready = u64::from(self.memory.accepts_lines());
    }

    pub(crate) fn observe(&mut self, inputs: &DramInputs, outputs: &DramOutputs) {
        if inputs.rvalid & outputs.rready != 0 {
            self.beat = None;
        }
        if inputs.bvalid & outputs.bready != 0 {
            self.written = None;
        }
        if outputs.arvalid & inputs.arready != 0 {
            let (id, address) = (outputs.arid as u32, outputs.araddr);
            self.memory.read(Burst { id, address, lines: outputs.arlen + 1 });
        }
        if outputs.wvalid & inputs.wready != 0 {
            self.memory.write_line(&line_of(&outputs.wdata), outputs.wstrb);
        }
        if outputs.awvalid & inputs.awready != 0 {
            let (id, address) = (outputs.awid as u32, outputs.awaddr);
            self.memory.write(Burst { id, address, lines: outputs.awlen + 1 });
        }
    }

    pub(crate) fn put_word(&mut self, address: u64, word: u64) {
        self.memory.put_word(address, word);
    }

    pub(crate) fn counts(&self) -> OnBoardCounts {
        self.memory.counts()
    }
}
