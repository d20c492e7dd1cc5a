//! Host memory: reads by tag. What a read asks for is read from the host when the link takes it, so while the
//! request that it is for is in flight; it arrives when the link has moved it.

use std::collections::HashMap;

use super::ReadLine;
use super::stream_ports::words_of;
use crate::model::{Inputs, Outputs, Words};
use crate::platform::{HostBeat, HostLink, HostRead, LINE_BYTES, LinkCounts, Picoseconds};

#[derive(Debug)]
pub(crate) struct HostPort {
    link: HostLink,
    /// What was read and has not arrived, by the number of its read.
    on_the_way: HashMap<u32, Fetched>,
    reads: u32,
}

#[derive(Debug)]
struct Fetched {
    /// The accelerator's, which may use it again once it has seen the last beat.
    tag: u64,
    address: u64,
    /// None where there is no memory.
    lines: Vec<Option<Words>>,
    /// Commands that were told before it was read: they are in force before it is used.
    after: u64,
    /// A beat with an error was the last one that the accelerator saw.
    is_over: bool,
}

impl HostPort {
    pub(crate) fn new(link: HostLink) -> Self {
        Self { link, on_the_way: HashMap::new(), reads: 0 }
    }

    pub(crate) fn drive(&mut self, now: Picoseconds, in_force: u64, inputs: &mut Inputs) {
        self.link.advance(now);
        inputs.host_read_ready = u64::from(self.link.is_ready());
        inputs.host_beat_valid = 0;
        while let Some(beat) = self.link.offered() {
            let fetched = &self.on_the_way[&beat.tag];
            if !fetched.is_over {
                inputs.host_beat_valid = u64::from(fetched.after <= in_force);
                return fetched.drive(beat, inputs);
            }
            self.take(beat);
        }
    }

    pub(crate) fn observe(
        &mut self,
        told: u64,
        inputs: &Inputs,
        outputs: &Outputs,
        memory: Option<&mut ReadLine<'_>>,
    ) {
        if let Some(beat) =
            self.link.offered().filter(|_| inputs.host_beat_valid & outputs.host_beat_ready != 0)
        {
            let fetched = self.on_the_way.get_mut(&beat.tag);
            fetched.into_iter().for_each(|fetched| fetched.is_over = inputs.host_beat_last != 0);
            self.take(beat);
        }
        if let Some(memory) = memory.filter(|_| outputs.host_read_valid & inputs.host_read_ready != 0) {
            let (address, bytes) = (outputs.host_read_address, outputs.host_read_bytes);
            let lines = lines(address, bytes, memory);
            let fetched = Fetched { tag: outputs.host_read_tag, address, lines, after: told, is_over: false };
            let is_free = self.on_the_way.values().all(|other| other.is_over || other.tag != fetched.tag);
            assert!(is_free, "tag {} is in flight", fetched.tag);
            self.on_the_way.insert(self.reads, fetched);
            self.link.submit(HostRead { address, bytes, tag: self.reads });
            self.reads = self.reads.wrapping_add(1);
        }
    }

    fn take(&mut self, beat: HostBeat) {
        self.link.take();
        if beat.last {
            self.on_the_way.remove(&beat.tag);
        }
    }

    pub(crate) fn counts(&self) -> LinkCounts {
        self.link.counts()
    }
}

impl Fetched {
    fn drive(&self, beat: HostBeat, inputs: &mut Inputs) {
        let line = self.lines[((beat.address - self.address) / LINE_BYTES as u64) as usize];
        inputs.host_beat_tag = self.tag;
        inputs.host_beat_last = u64::from(beat.last || line.is_none());
        inputs.host_beat_error = u64::from(line.is_none());
        inputs.host_beat_data = line.unwrap_or_default();
    }
}

fn lines(address: u64, bytes: u64, memory: &mut ReadLine<'_>) -> Vec<Option<Words>> {
    let mut line = [0; LINE_BYTES];
    let addresses = (0..bytes / LINE_BYTES as u64).map(|index| address + index * LINE_BYTES as u64);
    addresses.map(|address| memory(address, &mut line).then(|| words_of(&line))).collect()
}
