//! The master of the registers: what writers tell, one write after the other.

use std::collections::VecDeque;

use honeycomb_layout::{control, control_switches};

use crate::model::{Inputs, Outputs};

/// What the accelerator is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Where the blocks of nodes begin, and how much of the cache is used.
    Geometry { sorted_start: u64, shortcut_capacity: u64, cache_halvings: u64 },
    /// The LID of a table's root; 0 for none.
    Root { table: u16, lid: u64 },
    /// Where a LID leads to.
    Map { lid: u64, address: u64 },
    /// What requests read at that name no version. Of several the greatest counts.
    Publish { version: u64 },
    /// What is on.
    Switches { cache: bool, balance: bool, root_on_chip: bool },
    /// The counter that is read next.
    CounterIndex { index: u64 },
}

/// A half of a register.
#[derive(Debug, Clone, Copy)]
struct Write {
    address: u64,
    value: u32,
}

#[derive(Debug, Default)]
pub(crate) struct ControlPort {
    /// Those after the one that is being written.
    waiting: VecDeque<Command>,
    /// What is left of that one.
    writes: VecDeque<Write>,
    told: u64,
    in_force: u64,
    published: u64,
    /// The address and the data of the first write were taken.
    address_taken: bool,
    data_taken: bool,
    read: Option<Read>,
}

/// A half of a register that is read.
#[derive(Debug, Clone, Copy)]
struct Read {
    address: u64,
    taken: bool,
    value: Option<u32>,
}

impl Command {
    /// The registers that are written.
    fn writes(self) -> VecDeque<Write> {
        let registers: &[(usize, u64)] = match self {
            Self::Publish { version } => &[(control::READ_VERSION_OFFSET, version)],
            Self::Geometry { sorted_start, shortcut_capacity, cache_halvings } => {
                let capacity = shortcut_capacity << (8 * control::SHORTCUT_CAPACITY_OFFSET);
                let halvings = cache_halvings << (8 * control::CACHE_HALVINGS_OFFSET);
                &[(control::SORTED_START_OFFSET, sorted_start | capacity | halvings)]
            }
            Self::Root { table, lid } => {
                &[(control::TABLE_NUMBER_OFFSET, u64::from(table)), (control::ROOT_OFFSET, lid)]
            }
            Self::Switches { cache, balance, root_on_chip } => {
                let word = control_switches::with_cache(0, u64::from(cache));
                let word = control_switches::with_balance(word, u64::from(balance));
                let word = control_switches::with_root_on_chip(word, u64::from(root_on_chip));
                &[(control::SWITCHES_OFFSET, word)]
            }
            Self::CounterIndex { index } => &[(control::COUNTER_INDEX_OFFSET, index)],
            Self::Map { lid, address } => {
                &[(control::MAPPED_LID_OFFSET, lid), (control::MAPPED_ADDRESS_OFFSET, address)]
            }
        };
        let halves = |&(offset, value): &(usize, u64)| {
            let low = Write { address: offset as u64, value: value as u32 };
            [low, Write { address: offset as u64 + 4, value: (value >> 32) as u32 }]
        };
        registers.iter().flat_map(halves).collect()
    }
}

impl ControlPort {
    /// Queues a command. Versions that come one after the other are written once.
    pub(crate) fn tell(&mut self, command: Command) {
        if let Command::Publish { version } = command {
            if version <= self.published {
                return;
            }
            self.published = version;
            if let Some(Command::Publish { version: before }) = self.waiting.back_mut() {
                *before = version;
                return;
            }
        }
        self.told += 1;
        self.waiting.push_back(command);
        self.begin();
    }

    /// Begins the next command, if there is none under way.
    fn begin(&mut self) {
        if self.writes.is_empty()
            && let Some(command) = self.waiting.pop_front()
        {
            self.writes = command.writes();
        }
    }

    /// Commands that were queued.
    pub(crate) fn told(&self) -> u64 {
        self.told
    }

    /// How many of them are in force.
    pub(crate) fn in_force(&self) -> u64 {
        self.in_force
    }

    /// Commands after the one that is being written.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether there is nothing to tell.
    pub(crate) fn is_idle(&self) -> bool {
        self.writes.is_empty()
    }

    /// Asks for a half of a register.
    pub(crate) fn read(&mut self, address: u64) {
        self.read = Some(Read { address, taken: false, value: None });
    }

    /// What it holds, once that has come.
    pub(crate) fn take_read(&mut self) -> Option<u32> {
        let value = self.read?.value?;
        self.read = None;
        Some(value)
    }

    pub(crate) fn drive(&self, inputs: &mut Inputs) {
        let write = self.writes.front();
        inputs.control_awvalid = u64::from(write.is_some() && !self.address_taken);
        inputs.control_wvalid = u64::from(write.is_some() && !self.data_taken);
        if let Some(write) = write {
            inputs.control_awaddr = write.address;
            inputs.control_wdata = u64::from(write.value);
        }
        inputs.control_bready = 1;
        inputs.control_arvalid = u64::from(self.read.is_some_and(|read| !read.taken));
        inputs.control_araddr = self.read.map_or(0, |read| read.address);
        inputs.control_rready = 1;
    }

    /// # Panics
    /// If an access is refused: there is no such register.
    pub(crate) fn observe(&mut self, inputs: &Inputs, outputs: &Outputs) {
        self.address_taken |= inputs.control_awvalid & outputs.control_awready != 0;
        self.data_taken |= inputs.control_wvalid & outputs.control_wready != 0;
        if outputs.control_bvalid != 0 {
            assert_eq!(outputs.control_bresp, 0, "{:?} is refused", self.writes.front());
            (self.address_taken, self.data_taken) = (false, false);
            self.writes.pop_front();
            self.in_force += u64::from(self.writes.is_empty());
            self.begin();
        }
        if let Some(read) = &mut self.read {
            read.taken |= inputs.control_arvalid & outputs.control_arready != 0;
            if outputs.control_rvalid != 0 {
                assert_eq!(outputs.control_rresp, 0, "{read:?} is refused");
                read.value = Some(outputs.control_rdata as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers every write in the cycle after it was taken. Returns what was written.
    fn write_all(port: &mut ControlPort) -> Vec<(u64, u64)> {
        let (mut inputs, mut outputs, mut written) = (Inputs::default(), Outputs::default(), Vec::new());
        while !port.is_idle() {
            port.drive(&mut inputs);
            (outputs.control_awready, outputs.control_wready) = (1, 1);
            outputs.control_bvalid = u64::from(inputs.control_awvalid == 0);
            if inputs.control_awvalid & inputs.control_wvalid != 0 {
                written.push((inputs.control_awaddr, inputs.control_wdata));
            }
            port.observe(&inputs, &outputs);
        }
        written
    }

    #[test]
    fn commands_are_written_in_order_and_versions_together() {
        let mut port = ControlPort::default();
        port.tell(Command::Map { lid: 7, address: 0x5_0000_0200 });
        [3, 2, 5].into_iter().for_each(|version| port.tell(Command::Publish { version }));
        port.tell(Command::Root { table: 9, lid: 7 });
        port.tell(Command::Switches { cache: true, balance: false, root_on_chip: true });
        assert_eq!((port.told(), port.in_force()), (4, 0));
        let of = |offset: usize, value: u64| {
            [(offset as u64, value & 0xffff_ffff), (offset as u64 + 4, value >> 32)]
        };
        let wanted = [
            of(control::MAPPED_LID_OFFSET, 7),
            of(control::MAPPED_ADDRESS_OFFSET, 0x5_0000_0200),
            of(control::READ_VERSION_OFFSET, 5),
            of(control::TABLE_NUMBER_OFFSET, 9),
            of(control::ROOT_OFFSET, 7),
            of(control::SWITCHES_OFFSET, 0b101),
        ];
        assert_eq!(write_all(&mut port), wanted.concat());
        assert_eq!((port.told(), port.in_force()), (4, 4));
        port.tell(Command::Publish { version: 4 });
        assert!(port.is_idle(), "an older version changes nothing");
    }
}
