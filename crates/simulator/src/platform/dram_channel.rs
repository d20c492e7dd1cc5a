//! A channel of DDR4 and its controller, one command in each cycle of its clock.
//!
//! The controller chooses among the oldest [`WINDOW`] accesses: reads and writes of open rows first, then
//! activations and precharges, older ones before younger ones. In a cycle without any of these it closes a
//! row that none of them needs: accesses of the accelerator rarely come back to a row.
//!
//! Reads and writes alternate in groups, because each turn of the data bus costs idle cycles. Writes wait
//! until there are [`WRITES_TOGETHER`] or no reads; then all of them follow each other.
//!
//! No access starves: once the oldest one has waited for [`PATIENCE`] cycles, the others do not use its bank,
//! and only accesses in its direction, read or write, proceed.

use std::collections::VecDeque;

use super::Picoseconds;
use super::dram_bank::Bank;
use super::dram_bus::Bus;
use super::dram_place::{BANKS, Place};
use super::dram_timing::DramTiming;

/// Accesses among which the controller chooses.
const WINDOW: usize = 32;
/// Writes that begin a group of writes while reads wait.
const WRITES_TOGETHER: usize = 8;
/// Cycles after which the oldest access has precedence.
const PATIENCE: u64 = 500;

/// An access to a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub(super) place: Place,
    pub(super) is_write: bool,
    /// Identifies the access when its line has been transferred.
    pub(super) token: u64,
}

/// Commands of channels since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DramCounts {
    /// Rows activated.
    pub activations: u64,
    /// Rows closed because another row of their bank was needed.
    pub conflicts: u64,
    /// Turns of the data bus between reads and writes.
    pub turns: u64,
    /// Time that channels transferred lines, summed over all channels.
    pub busy: Picoseconds,
    /// Time of refreshes, summed over all channels.
    pub refreshing: Picoseconds,
}

impl DramCounts {
    /// Returns the sum of both.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            activations: self.activations + other.activations,
            conflicts: self.conflicts + other.conflicts,
            turns: self.turns + other.turns,
            busy: self.busy + other.busy,
            refreshing: self.refreshing + other.refreshing,
        }
    }

    /// Returns the difference to earlier counts.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            activations: self.activations - earlier.activations,
            conflicts: self.conflicts - earlier.conflicts,
            turns: self.turns - earlier.turns,
            busy: self.busy - earlier.busy,
            refreshing: self.refreshing - earlier.refreshing,
        }
    }
}

/// A channel.
#[derive(Debug)]
pub(super) struct DramChannel {
    timing: DramTiming,
    /// The next cycle.
    cycle: u64,
    /// Accesses by age, each with the cycle in which it came.
    queue: VecDeque<(u64, Access)>,
    banks: [Bank; BANKS],
    bus: Bus,
    /// The direction of the data bus.
    is_writing: bool,
    /// The direction of the last transfer.
    has_written: bool,
    refresh_at: u64,
    counts: DramCounts,
}

impl DramChannel {
    /// Returns an idle channel.
    pub(super) fn new(timing: DramTiming) -> Self {
        Self {
            timing,
            cycle: 0,
            queue: VecDeque::new(),
            banks: [Bank::default(); BANKS],
            bus: Bus::default(),
            is_writing: false,
            has_written: false,
            refresh_at: timing.refi,
            counts: DramCounts::default(),
        }
    }

    /// Queues an access. It takes part from the time of the last call of `advance` on.
    pub(super) fn push(&mut self, access: Access) {
        self.queue.push_back((self.cycle, access));
    }

    /// Advances to a time, which must not decrease. Calls `done` for each access whose line is transferred,
    /// with its token and the time at which the transfer ends.
    pub(super) fn advance(&mut self, now: Picoseconds, done: &mut impl FnMut(u64, Picoseconds)) {
        let end = now.div_ceil(self.timing.ck);
        while self.cycle < end {
            if self.is_idle() && self.cycle < self.refresh_at {
                self.cycle = end.min(self.refresh_at);
                continue;
            }
            self.step(done);
            self.cycle += 1;
        }
    }

    pub(super) fn counts(&self) -> DramCounts {
        self.counts
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.banks.iter().all(|bank| bank.row.is_none())
    }

    /// Issues the command of a cycle, if any is possible.
    fn step(&mut self, done: &mut impl FnMut(u64, Picoseconds)) {
        if self.cycle >= self.refresh_at {
            self.refresh();
            return;
        }
        self.is_writing = self.direction();
        match self.next_transfer() {
            Some(index) => self.transfer(index, done),
            None => self.prepare(),
        }
    }

    /// Closes all rows and refreshes, once all rows may be closed. Meanwhile no other command is issued.
    fn refresh(&mut self) {
        let Self { timing, cycle, .. } = *self;
        if self.banks.iter().any(|bank| bank.row.is_some() && bank.precharge_at > cycle) {
            return;
        }
        for bank in &mut self.banks {
            bank.precharge(cycle + timing.rfc, &timing);
        }
        self.refresh_at += timing.refi;
        self.counts.refreshing += timing.rfc * timing.ck;
    }

    /// Returns the oldest access if it has waited for too long.
    fn overdue(&self) -> Option<Access> {
        let &(came, access) = self.queue.front()?;
        (self.cycle - came >= PATIENCE).then_some(access)
    }

    /// Returns whether writes proceed, and not reads.
    fn direction(&self) -> bool {
        if let Some(access) = self.overdue() {
            return access.is_write;
        }
        let window = self.queue.len().min(WINDOW);
        let writes = self.queue.iter().take(WINDOW).filter(|(_, access)| access.is_write).count();
        writes > 0 && (self.is_writing || writes == window || writes >= WRITES_TOGETHER)
    }

    /// Returns the accesses that may proceed, by age, with their indexes.
    fn candidates(&self) -> impl Iterator<Item = (usize, Access)> {
        let (is_writing, overdue) = (self.is_writing, self.overdue());
        let accesses = self.queue.iter().take(WINDOW).map(|&(_, access)| access).enumerate();
        accesses.filter(move |&(index, access)| {
            let yields = index > 0 && overdue.is_some_and(|first| first.place.bank == access.place.bank);
            access.is_write == is_writing && !yields
        })
    }

    fn is_open(&self, place: Place) -> bool {
        self.banks[place.bank].row == Some(place.row)
    }

    /// Returns a bit for each bank whose open row one of the accesses needs.
    fn banks_with_open_rows(&self, accesses: impl Iterator<Item = Access>) -> u32 {
        let open = accesses.filter(|access| self.is_open(access.place));
        open.fold(0, |banks, access| banks | 1 << access.place.bank)
    }

    /// Returns the index of the oldest access whose line can be transferred.
    fn next_transfer(&self) -> Option<usize> {
        let ready = |&(_, access): &(usize, Access)| {
            let Access { place, is_write, .. } = access;
            let at = self.banks[place.bank].column_at.max(self.bus.transfer_at(is_write, place.group()));
            self.is_open(place) && at <= self.cycle
        };
        self.candidates().find(ready).map(|(index, _)| index)
    }

    fn transfer(&mut self, index: usize, done: &mut impl FnMut(u64, Picoseconds)) {
        let Some((_, Access { place, is_write, token })) = self.queue.remove(index) else { return };
        let Self { timing, cycle, .. } = *self;
        self.banks[place.bank].transfer(is_write, cycle, &timing);
        self.bus.transfer(is_write, place.group(), cycle, &timing);
        self.counts.turns += u64::from(self.has_written != is_write);
        self.has_written = is_write;
        self.counts.busy += timing.burst * timing.ck;
        let latency = if is_write { timing.cwl } else { timing.cl };
        done(token, (cycle + latency + timing.burst) * timing.ck);
    }

    /// Activates the row of the oldest access that permits it, or closes a row for it, or a row that no
    /// access needs.
    fn prepare(&mut self) {
        let needed = self.banks_with_open_rows(self.candidates().map(|(_, access)| access));
        let next = self.candidates().find(|(_, access)| self.can_prepare(access.place, needed));
        match next {
            Some((_, access)) => self.prepare_bank(access.place),
            None => self.close_unneeded(),
        }
    }

    fn prepare_bank(&mut self, place: Place) {
        let Self { timing, cycle, .. } = *self;
        let bank = &mut self.banks[place.bank];
        if bank.row.is_some() {
            bank.precharge(cycle, &timing);
            self.counts.conflicts += 1;
        } else {
            bank.activate(place.row, cycle, &timing);
            self.bus.activate(place.group(), cycle, &timing);
            self.counts.activations += 1;
        }
    }

    fn close_unneeded(&mut self) {
        let Self { timing, cycle, .. } = *self;
        let needed = self.banks_with_open_rows(self.queue.iter().take(WINDOW).map(|&(_, access)| access));
        let can_close = |(at, bank): &(usize, &mut Bank)| {
            bank.row.is_some() && bank.precharge_at <= cycle && needed >> at & 1 == 0
        };
        if let Some((_, bank)) = self.banks.iter_mut().enumerate().find(can_close) {
            bank.precharge(cycle, &timing);
        }
    }

    /// Returns whether the bank of a place accepts the command that prepares it. `needed` has a bit for each
    /// bank whose open row is needed.
    fn can_prepare(&self, place: Place, needed: u32) -> bool {
        let bank = &self.banks[place.bank];
        match bank.row {
            Some(_) => needed >> place.bank & 1 == 0 && bank.precharge_at <= self.cycle,
            None => bank.activate_at.max(self.bus.activate_at(place.group())) <= self.cycle,
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    const TIMING: DramTiming = DramTiming { refi: u64::MAX, ..DramTiming::DDR4_2133 };
    /// Accesses that the tests keep in the queue.
    const QUEUED: usize = 32;

    /// Executes accesses with a full queue. Returns for each, in the order of the transfers, its index and
    /// the cycle at which its transfer ends, and the counts.
    fn execute(timing: DramTiming, accesses: &[(bool, u64)]) -> (Vec<(u64, u64)>, DramCounts) {
        let mut channel = DramChannel::new(timing);
        let (mut done, mut pushed, mut now) = (Vec::new(), 0, 0);
        while done.len() < accesses.len() {
            while pushed < accesses.len() && pushed - done.len() < QUEUED {
                let (is_write, line) = accesses[pushed];
                channel.push(Access { place: Place::of_line(line), is_write, token: pushed as u64 });
                pushed += 1;
            }
            now += timing.ck;
            channel.advance(now, &mut |token, end| done.push((token, end / timing.ck)));
        }
        (done, channel.counts())
    }

    fn reads(lines: impl Iterator<Item = u64>) -> Vec<(bool, u64)> {
        lines.map(|line| (false, line)).collect()
    }

    /// Returns the cycles of each access.
    fn cycles_each(timing: DramTiming, accesses: &[(bool, u64)]) -> f64 {
        let (done, _) = execute(timing, accesses);
        done.iter().map(|&(_, end)| end).max().expect("accesses were executed") as f64 / done.len() as f64
    }

    /// Returns a line of a row, and of a bank that is the same for all rows.
    fn line_of_row(row: u64) -> u64 {
        (0..16)
            .map(|bank| row << 11 | (bank >> 2) << 9 | (bank & 3) << 3)
            .find(|&line| Place::of_line(line).bank == 5)
            .expect("a row is in all banks")
    }

    #[test]
    fn sequential_lines_reach_nearly_the_peak() {
        let each = cycles_each(TIMING, &reads(0..10_000));
        assert!((4.0..4.1).contains(&each), "{each} cycles each, not 4");
    }

    #[test]
    fn lines_of_one_bank_group_follow_each_other_at_its_rate() {
        let each = cycles_each(TIMING, &reads((0..10_000).map(|at| at % 8)));
        assert!((6.0..6.1).contains(&each), "{each} cycles each, not tCCD_L");
    }

    #[test]
    fn rows_of_one_bank_take_a_row_cycle_each() {
        let each = cycles_each(TIMING, &reads((0..1000).map(line_of_row)));
        let row_cycle = (TIMING.ras + TIMING.rp) as f64;
        assert!((row_cycle - 0.1..row_cycle + 0.1).contains(&each), "{each} cycles each, not {row_cycle}");
    }

    #[test]
    fn four_rows_are_activated_in_a_window() {
        let mut random = SmallRng::seed_from_u64(1);
        let lines = reads((0..10_000).map(|_| random.random_range(0..1 << 24)));
        let slow = DramTiming { faw: 60, ..TIMING };
        let each = cycles_each(slow, &lines);
        assert!((14.9..15.3).contains(&each), "{each} cycles each, not a quarter of tFAW");
        let each = cycles_each(TIMING, &lines);
        assert!((5.7..5.9).contains(&each), "{each} cycles each, not a quarter of tFAW");
    }

    #[test]
    fn an_idle_channel_closes_its_rows() {
        let mut channel = DramChannel::new(TIMING);
        let mut latency = |start: u64, row| {
            let mut end = 0;
            channel.advance(start * TIMING.ck, &mut |_, _| {});
            channel.push(Access { place: Place::of_line(line_of_row(row)), is_write: false, token: 0 });
            channel.advance((start + 1000) * TIMING.ck, &mut |_, done| end = done / TIMING.ck);
            end - start
        };
        let DramTiming { rcd, cl, burst, .. } = TIMING;
        for (start, row) in [(0, 0), (2000, 1), (4000, 1)] {
            assert_eq!(latency(start, row), rcd + cl + burst, "the row is closed");
        }
    }

    #[test]
    fn refreshes_take_their_share() {
        let timing = DramTiming { refi: 2000, rfc: 400, ..TIMING };
        let without = cycles_each(TIMING, &reads(0..100_000));
        let with = cycles_each(timing, &reads(0..100_000));
        let share = 1.0 - without / with;
        assert!((0.2..0.25).contains(&share), "{share} of the time, not a fifth and the rows that it closes");
        let (_, counts) = execute(timing, &reads(0..10_000));
        assert_eq!(counts.refreshing % (400 * TIMING.ck), 0);
        assert!(counts.refreshing > 0);
    }

    #[test]
    fn an_idle_channel_refreshes() {
        let mut channel = DramChannel::new(DramTiming::DDR4_2133);
        channel.push(Access { place: Place::of_line(0), is_write: false, token: 0 });
        channel.advance(100_000_000, &mut |_, _| {});
        let DramTiming { refi, rfc, ck, .. } = DramTiming::DDR4_2133;
        assert_eq!(channel.counts().refreshing, 100_000_000 / (refi * ck) * rfc * ck);
    }

    /// A read that waits for a write waits for its data and tWTR, and a write for the data of a read.
    #[test]
    fn turns_cost_time() {
        let DramTiming { cwl, burst, wtr_l, cl, .. } = TIMING;
        let (done, counts) = execute(TIMING, &[(true, 0)]);
        let written = done[0].1;
        assert_eq!(counts.turns, 1);
        let mut channel = DramChannel::new(TIMING);
        let mut ends = Vec::new();
        channel.push(Access { place: Place::of_line(0), is_write: true, token: 0 });
        channel.advance((written - cwl) * TIMING.ck, &mut |_, _| {});
        channel.push(Access { place: Place::of_line(1), is_write: false, token: 1 });
        channel.advance(1_000_000, &mut |_, end| ends.push(end / TIMING.ck));
        assert_eq!(ends, [written + wtr_l + cl + burst]);
        let alternating: Vec<_> = (0..10_000).map(|at| (at % 2 == 0, at)).collect();
        let (_, counts) = execute(TIMING, &alternating);
        let each = cycles_each(TIMING, &alternating);
        assert!(each > 4.4 && counts.turns < 10_000 / 4, "{each} cycles each, {} turns", counts.turns);
    }

    /// Reads of one open row and of their direction never end, but a read of another row of the same bank and
    /// a write of it proceed.
    #[test]
    fn no_access_starves() {
        let mut channel = DramChannel::new(TIMING);
        let (mut tokens, mut queued, mut now) = (Vec::new(), 0, 0);
        for (is_write, row) in [(false, 0), (false, 1), (true, 2)] {
            let place = Place::of_line(line_of_row(row));
            channel.push(Access { place, is_write, token: row });
        }
        while now < 3 * PATIENCE {
            now += 1;
            while queued < 20 + tokens.len() {
                let place = Place::of_line(line_of_row(0));
                channel.push(Access { place, is_write: false, token: 3 });
                queued += 1;
            }
            channel.advance(now * TIMING.ck, &mut |token, _| tokens.push(token));
        }
        let read_at = tokens.iter().position(|&token| token == 1).expect("the read starves");
        let write_at = tokens.iter().position(|&token| token == 2).expect("the write starves");
        assert!(read_at > 20 && write_at > 20, "the open row has precedence: {read_at}, {write_at}");
    }

    #[test]
    fn all_accesses_end_once_and_in_the_same_order_each_time() {
        let mut random = SmallRng::seed_from_u64(2);
        let mut access = || (random.random_bool(0.3), random.random_range(0..1 << 20));
        let accesses: Vec<_> = (0..5000).map(|_| access()).collect();
        let (mut done, counts) = execute(DramTiming::DDR4_2133, &accesses);
        assert_eq!((done.clone(), counts), execute(DramTiming::DDR4_2133, &accesses));
        done.sort_unstable();
        assert!(done.iter().map(|&(token, _)| token).eq(0..5000));
    }

    /// With two rows in each bank, 32 queued accesses have about one of each row.
    #[test]
    fn rows_that_are_needed_stay_open() {
        let mut random = SmallRng::seed_from_u64(4);
        let mut line = || random.random_range(0..2) << 15 | random.random_range(0..1 << 11);
        let accesses = reads((0..10_000).map(|_| line()));
        let (_, counts) = execute(TIMING, &accesses);
        assert!(counts.activations < 4_000, "{} of 10,000 accesses need an activation", counts.activations);
    }

    /// Checks the data bus: no two lines overlap.
    #[test]
    fn lines_do_not_overlap_on_the_bus() {
        let mut random = SmallRng::seed_from_u64(3);
        let mut access = || (random.random_bool(0.5), random.random_range(0..1 << 12));
        let accesses: Vec<_> = (0..5000).map(|_| access()).collect();
        let (done, _) = execute(TIMING, &accesses);
        let mut ends: Vec<_> = done.iter().map(|&(_, end)| end).collect();
        ends.sort_unstable();
        assert!(ends.array_windows().all(|[one, next]| next - one >= TIMING.burst));
    }
}
