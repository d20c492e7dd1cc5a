//! The accelerator and the machine around it.
//!
//! | port | other end |
//! |---|---|
//! | `control_port` | AXI4-Lite: commands of writers |
//! | `stream_ports` | AXI-Stream: requests, completions |
//! | `host_port` | tagged reads of host memory |
//! | `on_board_port` | AXI4: on-board memory, several ports |
//!
//! In each cycle a port first drives the inputs of the model, then observes the outputs of the same cycle.

mod control_port;
mod host_port;
mod on_board_port;
mod stream_ports;

use std::collections::BTreeMap;

use honeycomb_layout::COUNTER_COUNT;

use crate::event::Event;
use crate::model::{DRAM_PORTS, Inputs, Model, Outputs};
use crate::platform::{
    HostLink, LINE_BYTES, LinkCounts, OnBoard, OnBoardCounts, OnBoardMemory, Picoseconds, Platform,
};
pub use control_port::Command;
use control_port::ControlPort;
use host_port::HostPort;
use on_board_port::OnBoardPort;
use stream_ports::{CompletionStream, RequestStream};

/// A writer waits while more commands than this are queued.
pub const COMMANDS_MAX: usize = 256;

/// Length of the reset, in cycles.
const RESET_CYCLES: usize = 4;
/// The port of on-board memory that contains the page table, which starts at address 0.
const PAGE_TABLE_PORT: usize = 0;
/// Bytes of the page table for each LID.
const PAGE_TABLE_WORD_BYTES: u64 = 8;

/// Distances of the seeds of host memory and on-board memory from that of the links, so that their random
/// values are independent of each other.
const HOST_SEED: u64 = 1 << 32;
const ON_BOARD_SEED: u64 = 2 << 32;

/// Reads a line of host memory at a bus address. Returns false if no memory exists there.
pub type ReadLine<'m> = dyn FnMut(u64, &mut [u8; LINE_BYTES]) -> bool + 'm;

/// The accelerator and the machine around it.
#[derive(Debug)]
pub struct Machine {
    model: Model,
    inputs: Inputs,
    outputs: Outputs,
    cycle: Picoseconds,
    now: Picoseconds,
    cycles: u64,
    control: ControlPort,
    requests: RequestStream,
    completions: CompletionStream,
    host: HostPort,
    on_board: [OnBoardPort; DRAM_PORTS],
    updates: UpdateCounts,
    /// Recorded events, while recording is on.
    events: Option<Vec<Event>>,
}

/// Cycles that the updates of writers took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UpdateCounts {
    /// Cycles with a register write in progress.
    pub busy: u64,
    /// Cycles in which the next request waited for updates.
    pub held: u64,
}

impl UpdateCounts {
    /// Returns the difference to earlier counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self { busy: self.busy - earlier.busy, held: self.held - earlier.held }
    }
}

impl Machine {
    /// Returns a machine after its reset. All random values follow from the seed.
    pub fn new(platform: &Platform, seed: u64) -> Self {
        let mut machine = Self {
            model: Model::new(seed),
            inputs: Inputs::default(),
            outputs: Outputs::default(),
            cycle: platform.cycle,
            now: 0,
            cycles: 0,
            control: ControlPort::default(),
            requests: RequestStream::default(),
            completions: CompletionStream::default(),
            host: HostPort::new(HostLink::new(platform.link, seed), seed.wrapping_add(HOST_SEED)),
            on_board: on_board(platform, seed),
            updates: UpdateCounts::default(),
            events: None,
        };
        machine.inputs.reset = 1;
        for _ in 0..RESET_CYCLES {
            machine.model.cycle(&machine.inputs, &mut machine.outputs);
        }
        machine.inputs.reset = 0;
        machine
    }

    /// Queues a request. It enters the accelerator after all commands that were sent before it took effect.
    pub fn submit(&mut self, request: &[u8]) {
        self.requests.push(request, self.control.sent());
    }

    /// Queues a command.
    pub fn send(&mut self, command: Command) {
        self.control.send(command);
    }

    /// Loads an empty page table with the addresses of LIDs. The first mapping is sent as a command, which
    /// takes effect once the accelerator has cleared the table. The others are written into on-board memory
    /// directly: simulating a command for each node of a large tree would take longer than the measurement.
    pub fn load(&mut self, mappings: &BTreeMap<u64, u64>) {
        let Some((&lid, &address)) = mappings.first_key_value() else { return };
        self.send(Command::Map { lid, address });
        self.settle();
        for (lid, &address) in mappings {
            self.on_board[PAGE_TABLE_PORT].put_word(lid * PAGE_TABLE_WORD_BYTES, address);
        }
    }

    /// Runs until at most `max` commands are queued. Meanwhile the machine neither reads host memory nor
    /// accepts completions.
    pub fn write_commands(&mut self, max: usize) {
        while self.control.waiting() > max {
            self.inputs.completion_ready = 0;
            self.run_cycle(None, &mut |_| {});
        }
    }

    /// Runs a cycle and passes a complete completion to `done`.
    pub fn cycle(&mut self, memory: &mut ReadLine<'_>, done: &mut dyn FnMut(&[u8])) {
        self.inputs.completion_ready = 1;
        self.run_cycle(Some(memory), done);
    }

    fn run_cycle(&mut self, mut memory: Option<&mut ReadLine<'_>>, done: &mut dyn FnMut(&[u8])) {
        let Self { inputs, outputs, now, .. } = self;
        let applied = self.control.applied();
        self.updates.busy += u64::from(!self.control.is_idle());
        self.updates.held += u64::from(self.requests.is_held(applied));
        self.control.drive(inputs);
        self.requests.drive(applied, inputs);
        self.host.read_lines(*now, self.control.sent(), memory.as_deref_mut());
        self.host.drive(*now, applied, inputs);
        inputs.host_arready &= u64::from(memory.is_some());
        for (port, inputs) in self.on_board.iter_mut().zip(&mut inputs.dram) {
            port.drive(*now, inputs);
        }
        self.model.cycle(inputs, outputs);
        if let Some(events) = &mut self.events {
            let words = self.model.events().iter();
            events.extend(words.filter_map(|words| Event::of_words(self.cycles, words)));
        }
        self.control.observe(inputs, outputs);
        self.requests.observe(inputs, outputs);
        self.host.observe(*now, inputs, outputs);
        for (index, port) in self.on_board.iter_mut().enumerate() {
            port.observe(&inputs.dram[index], &outputs.dram[index]);
        }
        self.completions.observe(inputs, outputs, done);
        *now += self.cycle;
        self.cycles += 1;
    }

    /// Returns the accelerator's window: the numbers of the oldest request in flight and of the newest
    /// request that it has started.
    pub fn window(&self) -> (u64, u64) {
        (self.outputs.window_oldest, self.outputs.window_newest)
    }

    /// Turns the recording of events on or off, and removes all recorded events.
    pub fn record_events(&mut self, on: bool) {
        self.events = on.then(Vec::new);
    }

    /// Removes and returns the recorded events, in order.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.events.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Starts a waveform. Returns false if the file cannot be written.
    #[cfg(feature = "trace")]
    pub fn trace(&mut self, path: &std::ffi::CStr) -> bool {
        self.model.trace(path, self.cycle)
    }

    /// Returns the number of cycles since the reset.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Returns whether all commands have taken effect.
    pub fn is_idle(&self) -> bool {
        self.control.is_idle()
    }

    /// Returns the number of queued commands, without the one in progress.
    pub fn commands_waiting(&self) -> usize {
        self.control.waiting()
    }

    /// Runs until all commands have taken effect. No request may be in flight.
    pub fn settle(&mut self) {
        while !self.control.is_idle() {
            self.idle_cycle();
        }
    }

    /// Returns the counters of the accelerator, `COUNTER_*` of the layout, all of the same cycle.
    ///
    /// # Panics
    /// If the accelerator has another number of counters.
    pub fn counters(&self) -> [u64; COUNTER_COUNT] {
        let counters = self.model.counters();
        assert_eq!(counters.len(), COUNTER_COUNT, "the layout and the accelerator define the same counters");
        std::array::from_fn(|index| {
            let [low, high] = counters[index];
            u64::from(high) << 32 | u64::from(low)
        })
    }

    /// Runs a cycle without host memory: reads of fills that are in flight wait.
    fn idle_cycle(&mut self) {
        self.run_cycle(None, &mut |_| {});
    }

    /// Returns how many cycles a time takes, rounded up.
    pub fn cycles_in(&self, time: Picoseconds) -> u64 {
        time.div_ceil(self.cycle)
    }

    /// Returns the counts of updates.
    pub fn update_counts(&self) -> UpdateCounts {
        self.updates
    }

    /// Returns the counts of the links to host memory.
    pub fn link_counts(&self) -> LinkCounts {
        self.host.counts()
    }

    /// Returns the counts of on-board memory, over all ports.
    pub fn on_board_counts(&self) -> OnBoardCounts {
        let ports = self.on_board.iter().map(OnBoardPort::counts);
        ports.fold(OnBoardCounts::default(), OnBoardCounts::with)
    }
}

/// Returns the ports of on-board memory. Each port has its share of the channels.
fn on_board(platform: &Platform, seed: u64) -> [OnBoardPort; DRAM_PORTS] {
    let channels = (platform.on_board.channels / DRAM_PORTS).max(1);
    let parameters = OnBoard { channels, ..platform.on_board };
    let seed = |port| seed.wrapping_add(ON_BOARD_SEED + port as u64);
    std::array::from_fn(|port| OnBoardPort::new(OnBoardMemory::new(parameters, seed(port))))
}
