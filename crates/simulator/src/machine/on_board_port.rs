//! On-board memory: an AXI4 responder that takes what is offered whenever its memory is ready.

use super::stream_ports::{line_of, words_of};
use crate::model::{Inputs, Outputs};
use crate::platform::{Burst, OnBoardBeat, OnBoardCounts, OnBoardMemory, Picoseconds};

#[derive(Debug)]
pub(crate) struct OnBoardPort {
    memory: OnBoardMemory,
    /// What is offered and was not taken.
    beat: Option<OnBoardBeat>,
    written: Option<u32>,
}

impl OnBoardPort {
    pub(crate) fn new(memory: OnBoardMemory) -> Self {
        Self { memory, beat: None, written: None }
    }

    pub(crate) fn drive(&mut self, now: Picoseconds, inputs: &mut Inputs) {
        self.beat = self.beat.take().or_else(|| self.memory.next_beat(now));
        self.written = self.written.take().or_else(|| self.memory.next_written(now));
        inputs.dram_rvalid = u64::from(self.beat.is_some());
        if let Some(beat) = &self.beat {
            inputs.dram_rid = u64::from(beat.id);
            inputs.dram_rdata = words_of(&beat.data);
            inputs.dram_rlast = u64::from(beat.last);
        }
        inputs.dram_bvalid = u64::from(self.written.is_some());
        inputs.dram_bid = self.written.map_or(0, u64::from);
        // One of each can come in a cycle.
        let is_ready = self.memory.is_ready();
        inputs.dram_arready = u64::from(is_ready);
        inputs.dram_awready = u64::from(is_ready);
        inputs.dram_wready = u64::from(self.memory.takes_lines());
    }

    pub(crate) fn observe(&mut self, now: Picoseconds, inputs: &Inputs, outputs: &Outputs) {
        if inputs.dram_rvalid & outputs.dram_rready != 0 {
            self.beat = None;
        }
        if inputs.dram_bvalid & outputs.dram_bready != 0 {
            self.written = None;
        }
        if outputs.dram_arvalid & inputs.dram_arready != 0 {
            let (id, address) = (outputs.dram_arid as u32, outputs.dram_araddr);
            self.memory.read(now, Burst { id, address, lines: outputs.dram_arlen + 1 });
        }
        if outputs.dram_wvalid & inputs.dram_wready != 0 {
            self.memory.write_line(now, &line_of(&outputs.dram_wdata), outputs.dram_wstrb);
        }
        if outputs.dram_awvalid & inputs.dram_awready != 0 {
            let (id, address) = (outputs.dram_awid as u32, outputs.dram_awaddr);
            self.memory.write(Burst { id, address, lines: outputs.dram_awlen + 1 });
        }
    }

    pub(crate) fn counts(&self) -> OnBoardCounts {
        self.memory.counts()
    }
}
