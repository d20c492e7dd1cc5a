//! Host memory behind PCIe, as reads of the accelerator see it.
//!
//! A read is split into requests of `request_bytes_max`, each of which holds a tag of its port until all its
//! bytes came. They come in packets of `packet_bytes_max` after a latency that is drawn anew for each read,
//! and share the port's bandwidth, each with `overhead_bytes`. Reads overtake each other; the packets of one
//! do not.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::{LINE_BYTES, Picoseconds, Quantiles, transfer_time};

/// The parameters of the links to host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Links side by side; a read takes the one that has fewer tags in use.
    pub ports: usize,
    /// Requests that a port has on their way at most.
    pub tags: usize,
    /// Bytes a second of a port, overhead included.
    pub bandwidth: u64,
    /// Bytes of a packet beside its payload.
    pub overhead_bytes: u64,
    /// Most bytes of payload.
    pub packet_bytes_max: u64,
    /// Most bytes that one request asks for.
    pub request_bytes_max: u64,
    /// From a request to its first packet, if nothing is in its way.
    pub latency: Quantiles,
}

/// A read of adjacent lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRead {
    /// Bus address of the first byte.
    pub address: u64,
    /// How many: a multiple of 64.
    pub bytes: u64,
    /// What its beats are told apart by; the accelerator's, not the link's.
    pub tag: u32,
}

/// A line of a read that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostBeat {
    /// Bus address of the line.
    pub address: u64,
    /// That of the read.
    pub tag: u32,
    /// Whether the read is complete with it.
    pub last: bool,
}

/// What went over the links so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Reads of the accelerator.
    pub reads: u64,
    /// Packets of data.
    pub packets: u64,
    /// Bytes of data, without overhead.
    pub bytes: u64,
    /// Time that ports were moving packets, all of them together.
    pub busy: Picoseconds,
    /// Time that reads were on their way, all of them together.
    pub in_flight: Picoseconds,
}

impl LinkCounts {
    /// What was counted since an earlier time.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            packets: self.packets - earlier.packets,
            bytes: self.bytes - earlier.bytes,
            busy: self.busy - earlier.busy,
            in_flight: self.in_flight - earlier.in_flight,
        }
    }
}

/// The links.
#[derive(Debug)]
pub struct HostLink {
    parameters: Link,
    random: SmallRng,
    ports: Vec<Port>,
    /// Taken, and waiting for tags.
    waiting: Option<HostRead>,
    /// What is on its way, by the time at which it has come, and in the order in which it was sent.
    coming: BinaryHeap<Reverse<(Picoseconds, u64, Packet)>>,
    sequence: u64,
    beats: VecDeque<HostBeat>,
    counts: LinkCounts,
}

#[derive(Debug, Clone, Default)]
struct Port {
    tags_in_use: usize,
    /// When it has moved all packets that were sent so far.
    free_at: Picoseconds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    port: usize,
    address: u64,
    /// Of this packet.
    bytes: u64,
    /// Of the packets that follow.
    rest: u64,
    tag: u32,
    /// When its read was sent.
    sent: Picoseconds,
    has_crossed: bool,
}

impl HostLink {
    /// Links that are idle.
    #[must_use]
    pub fn new(parameters: Link, seed: u64) -> Self {
        Self {
            parameters,
            random: SmallRng::seed_from_u64(seed),
            ports: vec![Port::default(); parameters.ports],
            waiting: None,
            coming: BinaryHeap::new(),
            sequence: 0,
            beats: VecDeque::new(),
            counts: LinkCounts::default(),
        }
    }

    /// Whether a read would be taken.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.waiting.is_none()
    }

    /// Takes a read; only when ready.
    pub fn submit(&mut self, read: HostRead) {
        debug_assert!(self.is_ready() && read.bytes > 0 && read.bytes.is_multiple_of(LINE_BYTES as u64));
        self.waiting = Some(read);
        self.counts.reads += 1;
    }

    /// Does what there is to do up to a time, which never goes back.
    pub fn advance(&mut self, now: Picoseconds) {
        self.send(now);
        while let Some(&Reverse((due, _, packet))) = self.coming.peek()
            && due <= now
        {
            self.coming.pop();
            if packet.has_crossed {
                self.arrive(packet, due);
            } else {
                self.cross(packet, due);
            }
            self.send(due);
        }
    }

    /// The next line that has come. It stays until it is taken.
    #[must_use]
    pub fn offered(&self) -> Option<HostBeat> {
        self.beats.front().copied()
    }

    /// Takes it.
    pub fn take(&mut self) {
        self.beats.pop_front();
    }

    /// What went over the links so far.
    #[must_use]
    pub fn counts(&self) -> LinkCounts {
        self.counts
    }

    /// Sends the read that waits, if a port has the tags for it.
    fn send(&mut self, now: Picoseconds) {
        let Some(read) = self.waiting else { return };
        let tags = self.tags(read.bytes);
        let port = (0..self.ports.len()).min_by_key(|&port| self.ports[port].tags_in_use);
        let Some(port) = port.filter(|&port| self.ports[port].tags_in_use + tags <= self.parameters.tags)
        else {
            return;
        };
        self.waiting = None;
        self.ports[port].tags_in_use += tags;
        let due = now + self.parameters.latency.draw(&mut self.random);
        let bytes = read.bytes.min(self.parameters.packet_bytes_max);
        let (address, tag, rest) = (read.address, read.tag, read.bytes - bytes);
        self.push(due, Packet { port, address, bytes, rest, tag, sent: now, has_crossed: false });
    }

    /// A packet that host memory has given waits for its port, and crosses it.
    fn cross(&mut self, packet: Packet, now: Picoseconds) {
        let bytes = packet.bytes + self.parameters.overhead_bytes;
        let busy = transfer_time(bytes, self.parameters.bandwidth);
        let port = &mut self.ports[packet.port];
        port.free_at = port.free_at.max(now) + busy;
        self.counts.busy += busy;
        let due = port.free_at;
        self.push(due, Packet { has_crossed: true, ..packet });
    }

    /// A packet has come: its lines are there, tags may be free, and the next one may cross.
    fn arrive(&mut self, packet: Packet, now: Picoseconds) {
        self.counts.packets += 1;
        self.counts.bytes += packet.bytes;
        let lines = packet.bytes / LINE_BYTES as u64;
        self.beats.extend((0..lines).map(|line| HostBeat {
            address: packet.address + line * LINE_BYTES as u64,
            tag: packet.tag,
            last: packet.rest == 0 && line + 1 == lines,
        }));
        let freed = self.tags(packet.bytes + packet.rest) - self.tags(packet.rest);
        self.ports[packet.port].tags_in_use -= freed;
        if packet.rest == 0 {
            self.counts.in_flight += now - packet.sent;
        } else {
            let bytes = packet.rest.min(self.parameters.packet_bytes_max);
            let (address, rest) = (packet.address + packet.bytes, packet.rest - bytes);
            self.cross(Packet { address, bytes, rest, has_crossed: false, ..packet }, now);
        }
    }

    fn tags(&self, bytes: u64) -> usize {
        bytes.div_ceil(self.parameters.request_bytes_max) as usize
    }

    fn push(&mut self, due: Picoseconds, packet: Packet) {
        self.coming.push(Reverse((due, self.sequence, packet)));
        self.sequence += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Platform;
    use super::*;

    const CYCLE: Picoseconds = 1_000;

    /// Reads of so many bytes one after the other, and the nanoseconds that each took.
    fn latencies(count: usize, bytes: u64) -> Vec<u64> {
        let mut link = HostLink::new(Platform::PAPER.link, 1);
        let mut now = 0;
        let mut latency = |_| {
            let begun = now;
            link.submit(HostRead { address: 0, bytes, tag: 0 });
            loop {
                now += CYCLE;
                link.advance(now);
                if let Some(beat) = link.offered() {
                    link.take();
                    if beat.last {
                        return (now - begun) / 1_000;
                    }
                }
            }
        };
        (0..count).map(&mut latency).collect()
    }

    /// Million reads a second of one port that is kept busy.
    fn rate(bytes: u64) -> f64 {
        let mut link = HostLink::new(Link { ports: 1, ..Platform::PAPER.link }, 1);
        let (mut now, mut done) = (0, 0_u64);
        const NANOSECONDS: u64 = 300_000;
        while now < NANOSECONDS * 1_000 {
            now += CYCLE;
            link.advance(now);
            if link.is_ready() {
                link.submit(HostRead { address: 0, bytes, tag: 0 });
            }
            while let Some(beat) = link.offered() {
                link.take();
                done += u64::from(beat.last);
            }
        }
        done as f64 * 1_000.0 / NANOSECONDS as f64
    }

    #[test]
    fn the_measured_latencies_come_out() {
        let mut latencies = latencies(20_000, 64);
        latencies.sort_unstable();
        let measured =
            [(10, 744), (50, 776), (100, 832), (250, 892), (500, 968), (750, 1036), (900, 1108), (990, 1232)];
        for (thousandths, nanoseconds) in measured {
            let found = latencies[latencies.len() * thousandths / 1000];
            assert!(found.abs_diff(nanoseconds) < 20, "{thousandths}: {found}, not {nanoseconds}");
        }
    }

    /// The figures of KV-Direct for one port, by payload.
    #[test]
    fn the_measured_rates_come_out() {
        let measured = [(64, 60.0), (128, 48.6), (256, 27.3), (512, 13.6), (1024, 6.8), (2048, 3.4)];
        for (bytes, millions) in measured {
            let found = rate(bytes);
            assert!((found / millions - 1.0).abs() < 0.1, "{bytes}: {found}, not {millions}");
        }
    }

    #[test]
    fn beats_of_a_read_come_in_order_and_reads_overtake_each_other() {
        let mut link = HostLink::new(Platform::PAPER.link, 3);
        let (mut now, mut asked, mut finished) = (0, 0, Vec::new());
        let mut next = vec![0; 200];
        while finished.len() < next.len() {
            now += CYCLE;
            link.advance(now);
            if link.is_ready() && asked < next.len() {
                link.submit(HostRead { address: (asked as u64) << 16, bytes: 1024, tag: asked as u32 });
                asked += 1;
            }
            if let Some(beat) = link.offered() {
                link.take();
                let read = beat.tag as usize;
                assert_eq!(beat.address, ((read as u64) << 16) + next[read] * 64);
                next[read] += 1;
                assert_eq!(beat.last, next[read] == 16);
                if beat.last {
                    finished.push(read);
                }
            }
        }
        assert!(!finished.is_sorted(), "some read overtook another");
        assert_eq!(link.counts().bytes, 200 * 1024);
        assert!(link.ports.iter().all(|port| port.tags_in_use == 0));
    }
}
