//! The master of the registers. It writes the commands of writers, one register write after the other.

use std::collections::VecDeque;

use honeycomb_layout::{control, control_switches};

use crate::balance::Balance;
use crate::model::{Inputs, Outputs};

/// An update of the accelerator's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Sets the size of the nodes and that of the cache.
    Geometry {
        /// Bytes of a node.
        node_bytes: u64,
        /// How often the number of sets of the cache is halved.
        cache_halvings: u64,
    },
    /// Sets the root of a table.
    Root {
        /// The table.
        table: u16,
        /// LID of its root; 0 if it has no tree.
        lid: u64,
    },
    /// Maps a LID.
    Map {
        /// The LID.
        lid: u64,
        /// Bus address of its buffer.
        address: u64,
    },
    /// Sets the version that requests without a version read. The accelerator keeps the greatest version.
    Publish {
        /// The read version.
        version: u64,
    },
    /// Turns parts on and off.
    Switches {
        /// The node cache.
        cache: bool,
        /// The load balancer.
        balance: Option<Balance>,
        /// Levels of interior nodes on chip.
        levels_on_chip: u8,
        /// Columns of leaves in on-board memory.
        leaf_columns: bool,
    },
}

/// A write of one half of a register.
#[derive(Debug, Clone, Copy)]
struct RegisterWrite {
    address: u64,
    value: u32,
}

#[derive(Debug, Default)]
pub(crate) struct ControlPort {
    /// Commands after the one in progress.
    waiting: VecDeque<Command>,
    /// Remaining writes of the command in progress.
    writes: VecDeque<RegisterWrite>,
    sent: u64,
    applied: u64,
    published: u64,
    /// Whether the address and the data of the first write were accepted.
    address_accepted: bool,
    data_accepted: bool,
}

impl Command {
    fn writes(self) -> VecDeque<RegisterWrite> {
        let registers: &[(usize, u64)] = match self {
            Self::Publish { version } => &[(control::READ_VERSION_OFFSET, version)],
            Self::Geometry { node_bytes, cache_halvings } => {
                let halvings = cache_halvings << (8 * control::CACHE_HALVINGS_OFFSET);
                &[(control::NODE_BYTES_OFFSET, node_bytes | halvings)]
            }
            Self::Root { table, lid } => {
                &[(control::TABLE_NUMBER_OFFSET, u64::from(table)), (control::ROOT_OFFSET, lid)]
            }
            Self::Switches { cache, balance, levels_on_chip, leaf_columns } => {
                let word = balance.map_or(0, Balance::word);
                let word = control_switches::with_cache(word, u64::from(cache));
                let word = control_switches::with_levels_on_chip(word, u64::from(levels_on_chip));
                let word = control_switches::with_leaf_columns(word, u64::from(leaf_columns));
                &[(control::SWITCHES_OFFSET, word)]
            }
            Self::Map { lid, address } => {
                &[(control::MAPPED_LID_OFFSET, lid), (control::MAPPED_ADDRESS_OFFSET, address)]
            }
        };
        let halves = |&(offset, value): &(usize, u64)| {
            let low = RegisterWrite { address: offset as u64, value: value as u32 };
            [low, RegisterWrite { address: offset as u64 + 4, value: (value >> 32) as u32 }]
        };
        registers.iter().flat_map(halves).collect()
    }
}

impl ControlPort {
    /// Queues a command. Of consecutive versions, only the last one is written.
    pub(crate) fn send(&mut self, command: Command) {
        if let Command::Publish { version } = command {
            if version <= self.published {
                return;
            }
            self.published = version;
            if let Some(Command::Publish { version: previous }) = self.waiting.back_mut() {
                *previous = version;
                return;
            }
        }
        self.sent += 1;
        self.waiting.push_back(command);
        self.start_next();
    }

    /// Starts the next command unless one is in progress.
    fn start_next(&mut self) {
        if self.writes.is_empty()
            && let Some(command) = self.waiting.pop_front()
        {
            self.writes = command.writes();
        }
    }

    /// Returns the number of commands that were queued so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns how many of them have taken effect.
    pub(crate) fn applied(&self) -> u64 {
        self.applied
    }

    /// Returns the number of commands after the one in progress.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns whether all commands have taken effect.
    pub(crate) fn is_idle(&self) -> bool {
        self.writes.is_empty()
    }

    pub(crate) fn drive(&self, inputs: &mut Inputs) {
        let write = self.writes.front();
        inputs.control_awvalid = u64::from(write.is_some() && !self.address_accepted);
        inputs.control_wvalid = u64::from(write.is_some() && !self.data_accepted);
        if let Some(write) = write {
            inputs.control_awaddr = write.address;
            inputs.control_wdata = u64::from(write.value);
        }
        inputs.control_bready = 1;
    }

    /// # Panics
    /// If the accelerator rejects an access, because the register does not exist.
    pub(crate) fn observe(&mut self, inputs: &Inputs, outputs: &Outputs) {
        self.address_accepted |= inputs.control_awvalid & outputs.control_awready != 0;
        self.data_accepted |= inputs.control_wvalid & outputs.control_wready != 0;
        if outputs.control_bvalid != 0 {
            assert_eq!(outputs.control_bresp, 0, "the accelerator rejected {:?}", self.writes.front());
            (self.address_accepted, self.data_accepted) = (false, false);
            self.writes.pop_front();
            self.applied += u64::from(self.writes.is_empty());
            self.start_next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acknowledges each write in the cycle after it was accepted. Returns the writes.
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
    fn commands_are_written_in_order_and_versions_are_coalesced() {
        let mut port = ControlPort::default();
        port.send(Command::Map { lid: 7, address: 0x5_0000_0200 });
        [3, 2, 5].into_iter().for_each(|version| port.send(Command::Publish { version }));
        port.send(Command::Root { table: 9, lid: 7 });
        let balance = Some(Balance { on_board_lines: 0xab, host_lines: 0xcd });
        port.send(Command::Switches { cache: true, balance, levels_on_chip: 2, leaf_columns: true });
        assert_eq!((port.sent(), port.applied()), (4, 0));
        let of = |offset: usize, value: u64| {
            [(offset as u64, value & 0xffff_ffff), (offset as u64 + 4, value >> 32)]
        };
        let expected = [
            of(control::MAPPED_LID_OFFSET, 7),
            of(control::MAPPED_ADDRESS_OFFSET, 0x5_0000_0200),
            of(control::READ_VERSION_OFFSET, 5),
            of(control::TABLE_NUMBER_OFFSET, 9),
            of(control::ROOT_OFFSET, 7),
            of(control::SWITCHES_OFFSET, 0xcd_00ab_001b),
        ];
        assert_eq!(write_all(&mut port), expected.concat());
        assert_eq!((port.sent(), port.applied()), (4, 4));
        port.send(Command::Publish { version: 4 });
        assert!(port.is_idle(), "an older version changes nothing");
    }
}
