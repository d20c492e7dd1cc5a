//! The accelerator and the machine around it, a cycle at a time.
//!
//! | port | the other end |
//! |---|---|
//! | `control_port` | AXI4-Lite: what writers tell |
//! | `stream_ports` | AXI-Stream: requests, completions |
//! | `host_port` | tagged reads of host memory |
//! | `on_board_port` | AXI4: on-board memory, several ports |
//!
//! In a cycle each port says what goes in, then sees what came out beside it.

mod control_port;
mod host_port;
mod on_board_port;
mod stream_ports;

use std::collections::BTreeMap;

use honeycomb_layout::control;

use crate::event::Event;
use crate::life::Life;
use crate::model::{DRAM_PORTS, Inputs, Model, Outputs};
use crate::platform::{
    HostLink, LINE_BYTES, LinkCounts, OnBoard, OnBoardCounts, OnBoardMemory, Picoseconds, Platform,
};
pub(crate) use control_port::{Command, ControlPort};
use host_port::HostPort;
use on_board_port::OnBoardPort;
use stream_ports::{Completed, Offered};

/// Cycles of a reset.
const RESET_CYCLES: usize = 4;
/// The port of on-board memory that has the page table, from address 0 on.
const PAGE_TABLE_PORT: usize = 0;
/// Of the page table, for a LID.
const PAGE_TABLE_WORD_BYTES: u64 = 8;

/// Reads a line of host memory at a bus address; false if there is none.
pub(crate) type ReadLine<'m> = dyn FnMut(u64, &mut [u8; LINE_BYTES]) -> bool + 'm;

/// The accelerator and the machine around it.
#[derive(Debug)]
pub(crate) struct Machine {
    model: Model,
    inputs: Inputs,
    outputs: Outputs,
    cycle: Picoseconds,
    now: Picoseconds,
    cycles: u64,
    pub(crate) control: ControlPort,
    requests: Offered,
    completions: Completed,
    host: HostPort,
    on_board: [OnBoardPort; DRAM_PORTS],
    told: ToldCounts,
    /// The life that is written down.
    life: Option<Life>,
}

/// Cycles in which what writers tell took time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToldCounts {
    /// In which a register was being written.
    pub busy: u64,
    /// In which the next request waited for that.
    pub held: u64,
}

impl ToldCounts {
    /// What was counted since an earlier time.
    #[must_use]
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self { busy: self.busy - earlier.busy, held: self.held - earlier.held }
    }
}

impl Machine {
    /// A machine after its reset.
    pub(crate) fn new(platform: &Platform, seed: u64) -> Self {
        let mut machine = Self {
            model: Model::new(),
            inputs: Inputs::default(),
            outputs: Outputs::default(),
            cycle: platform.cycle,
            now: 0,
            cycles: 0,
            control: ControlPort::default(),
            requests: Offered::default(),
            completions: Completed::default(),
            host: HostPort::new(HostLink::new(platform.link, seed)),
            on_board: on_board(platform),
            told: ToldCounts::default(),
            life: None,
        };
        machine.inputs.reset = 1;
        for _ in 0..RESET_CYCLES {
            machine.model.cycle(&machine.inputs, &mut machine.outputs);
        }
        machine.inputs.reset = 0;
        machine
    }

    /// Queues a request. It goes in once all is in force that was told before.
    pub(crate) fn submit(&mut self, request: &[u8]) {
        self.requests.push(request, self.control.told());
    }

    /// Tells the accelerator something.
    pub(crate) fn tell(&mut self, command: Command) {
        self.control.tell(command);
    }

    /// Has an accelerator that knows no LID yet know these, with their addresses. It is told of the first,
    /// which is in force once its page table is clear; the others are put into the table: to simulate that
    /// it is told of each node of a large tree would take longer than what is measured.
    pub(crate) fn load(&mut self, mappings: &BTreeMap<u64, u64>) {
        let Some((&lid, &address)) = mappings.first_key_value() else { return };
        self.tell(Command::Map { lid, address });
        self.settle();
        for (lid, &address) in mappings {
            self.on_board[PAGE_TABLE_PORT].put_word(lid * PAGE_TABLE_WORD_BYTES, address);
        }
    }

    /// Runs until no more than so many commands wait. Meanwhile host memory is not read, and no completion is
    /// taken.
    pub(crate) fn write_commands(&mut self, most: usize) {
        while self.control.waiting() > most {
            self.inputs.completion_ready = 0;
            self.run_cycle(None, &mut |_| {});
        }
    }

    /// Runs a cycle, and hands a completion that is whole to `done`.
    pub(crate) fn cycle(&mut self, memory: &mut ReadLine<'_>, done: &mut dyn FnMut(&[u8])) {
        self.inputs.completion_ready = 1;
        self.run_cycle(Some(memory), done);
    }

    fn run_cycle(&mut self, memory: Option<&mut ReadLine<'_>>, done: &mut dyn FnMut(&[u8])) {
        let Self { inputs, outputs, now, .. } = self;
        let in_force = self.control.in_force();
        self.told.busy += u64::from(!self.control.is_idle());
        self.told.held += u64::from(self.requests.is_held(in_force));
        self.control.drive(inputs);
        self.requests.drive(in_force, inputs);
        self.host.drive(*now, in_force, inputs);
        inputs.host_arready &= u64::from(memory.is_some());
        for (port, inputs) in self.on_board.iter_mut().zip(&mut inputs.dram) {
            port.drive(*now, inputs);
        }
        self.model.cycle(inputs, outputs);
        if let Some(life) = &mut self.life {
            let events = self.model.events().iter();
            events.filter_map(|words| Event::of_words(self.cycles, words)).for_each(|event| life.take(event));
        }
        self.control.observe(inputs, outputs);
        self.requests.observe(inputs, outputs);
        self.host.observe(self.control.told(), inputs, outputs, memory);
        for (index, port) in self.on_board.iter_mut().enumerate() {
            port.observe(*now, &inputs.dram[index], &outputs.dram[index]);
        }
        self.completions.observe(inputs, outputs, done);
        *now += self.cycle;
        self.cycles += 1;
    }

    /// The numbers of the oldest request in flight and of the newest that was begun, as the accelerator has
    /// them.
    pub(crate) fn window(&self) -> (u64, u64) {
        (self.outputs.window_oldest, self.outputs.window_newest)
    }

    /// Writes down from here on what happens to the request of an identifier, which is submitted now.
    pub(crate) fn explain(&mut self, identifier: u64) {
        self.life = Some(Life::new(identifier, self.cycles, self.cycle));
    }

    /// The life that was written down.
    pub(crate) fn take_life(&mut self) -> Option<Life> {
        self.life.take()
    }

    /// Writes a waveform from here on; false if the file cannot be written.
    #[cfg(feature = "trace")]
    pub(crate) fn trace(&mut self, path: &std::ffi::CStr) -> bool {
        self.model.trace(path, self.cycle)
    }

    /// Cycles so far.
    pub(crate) fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Runs until all is in force that was told. Nothing is to be in flight.
    pub(crate) fn settle(&mut self) {
        while !self.control.is_idle() {
            self.idle_cycle();
        }
    }

    /// The counter of an index of the layout. Nothing is to be in flight.
    pub(crate) fn counter(&mut self, index: usize) -> u64 {
        self.tell(Command::CounterIndex { index: index as u64 });
        self.settle();
        let [low, high] = [0, 4].map(|half| self.register_half((control::COUNTER_OFFSET + half) as u64));
        u64::from(high) << 32 | u64::from(low)
    }

    fn register_half(&mut self, address: u64) -> u32 {
        self.control.read(address);
        loop {
            if let Some(value) = self.control.take_read() {
                return value;
            }
            self.idle_cycle();
        }
    }

    fn idle_cycle(&mut self) {
        self.cycle(&mut |_, _| false, &mut |_| {});
    }

    /// Cycles in a time.
    pub(crate) fn cycles_in(&self, time: Picoseconds) -> u64 {
        time.div_ceil(self.cycle)
    }

    /// What writers told.
    pub(crate) fn told_counts(&self) -> ToldCounts {
        self.told
    }

    /// What went over the links to host memory.
    pub(crate) fn link_counts(&self) -> LinkCounts {
        self.host.counts()
    }

    /// What on-board memory was asked for.
    pub(crate) fn on_board_counts(&self) -> OnBoardCounts {
        let ports = self.on_board.iter().map(OnBoardPort::counts);
        ports.fold(OnBoardCounts::default(), OnBoardCounts::with)
    }
}

/// On-board memory: each port has its share of the channels.
fn on_board(platform: &Platform) -> [OnBoardPort; DRAM_PORTS] {
    let channels = (platform.on_board.channels / DRAM_PORTS).max(1);
    let parameters = OnBoard { channels, ..platform.on_board };
    std::array::from_fn(|_| OnBoardPort::new(OnBoardMemory::new(parameters)))
}
