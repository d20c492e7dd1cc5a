//! Host memory behind PCIe, as reads of the accelerator see it.
//!
//! A read is split into requests of `request_bytes_max`. Each request occupies a tag of its port until all of
//! its bytes have arrived. They arrive in packets of `packet_bytes_max` after a latency that is drawn for
//! each request, and share the bandwidth of the port, each with `overhead_bytes`. Requests can overtake each
//! other, also those of one read; the packets of one request cannot. The lines of a read are delivered in
//! order, when all before them have arrived.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};

use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::{LINE_BYTES, Picoseconds, Quantiles, transfer_time};

/// The parameters of the links to host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Number of links. A read uses the link with the fewest tags in use.
    pub ports: usize,
    /// Most requests in flight on a port.
    pub tags: usize,
    /// Bandwidth of a port in bytes per second, including overhead.
    pub bandwidth: u64,
    /// Bytes of a packet in addition to its payload.
    pub overhead_bytes: u64,
    /// Most payload bytes of a packet.
    pub packet_bytes_max: u64,
    /// Most bytes of one request.
    pub request_bytes_max: u64,
    /// Time from a request to its first packet without contention.
    pub latency: Quantiles,
}

/// A read of adjacent lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRead {
    /// Bus address of the first byte.
    pub address: u64,
    /// Number of bytes, a multiple of 64.
    pub bytes: u64,
    /// Identifies the beats of this read among all reads in flight. The caller chooses it; it differs from
    /// the tags of the link.
    pub tag: u32,
}

/// A line of a read that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostBeat {
    /// Bus address of the line.
    pub address: u64,
    /// Tag of the read.
    pub tag: u32,
    /// Whether this is the last line of the read.
    pub last: bool,
}

/// Traffic of the links since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Reads of the accelerator.
    pub reads: u64,
    /// Packets of data.
    pub packets: u64,
    /// Bytes of data, without overhead.
    pub bytes: u64,
    /// Time that ports transferred packets, summed over all ports.
    pub busy: Picoseconds,
    /// Time that reads were in flight, summed over all reads.
    pub in_flight: Picoseconds,
}

impl LinkCounts {
    /// Returns the difference to earlier counts.
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
    /// An accepted read that waits for tags.
    waiting: Option<HostRead>,
    /// Reads that are in flight, by tag.
    reads: HashMap<u32, Assembly>,
    /// Packets in flight by their time of arrival; among equal times, in the order in which they were sent.
    arriving: BinaryHeap<Reverse<(Picoseconds, u64, Packet)>>,
    sequence: u64,
    beats: VecDeque<HostBeat>,
    counts: LinkCounts,
}

#[derive(Debug, Clone, Default)]
struct Port {
    tags_in_use: usize,
    /// Time at which the port has transferred all packets sent so far.
    free_at: Picoseconds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    port: usize,
    address: u64,
    /// Bytes of this packet.
    bytes: u64,
    /// Bytes of the packets of the same request that follow.
    rest: u64,
    tag: u32,
    has_crossed: bool,
}

/// The lines of a read that have not been delivered.
#[derive(Debug)]
struct Assembly {
    /// Address of the next line to deliver.
    next: u64,
    /// End of the read.
    end: u64,
    /// Addresses of the lines that have arrived.
    arrived: BTreeSet<u64>,
    /// Time at which the read was sent.
    sent: Picoseconds,
}

impl Assembly {
    /// Removes the next line if it has arrived.
    fn deliver(&mut self, tag: u32) -> Option<HostBeat> {
        let address = self.next;
        if !self.arrived.remove(&address) {
            return None;
        }
        self.next += LINE_BYTES as u64;
        Some(HostBeat { address, tag, last: self.next == self.end })
    }
}

impl HostLink {
    /// Returns idle links.
    #[must_use]
    pub fn new(parameters: Link, seed: u64) -> Self {
        Self {
            parameters,
            random: SmallRng::seed_from_u64(seed),
            ports: vec![Port::default(); parameters.ports],
            waiting: None,
            reads: HashMap::new(),
            arriving: BinaryHeap::new(),
            sequence: 0,
            beats: VecDeque::new(),
            counts: LinkCounts::default(),
        }
    }

    /// Returns whether the links accept a read.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.waiting.is_none()
    }

    /// Accepts a read. The links must be ready.
    pub fn submit(&mut self, read: HostRead) {
        debug_assert!(self.is_ready() && read.bytes > 0 && read.bytes.is_multiple_of(LINE_BYTES as u64));
        self.waiting = Some(read);
        self.counts.reads += 1;
    }

    /// Advances to a time, which must not decrease.
    pub fn advance(&mut self, now: Picoseconds) {
        self.send(now);
        while let Some(&Reverse((due, _, packet))) = self.arriving.peek()
            && due <= now
        {
            self.arriving.pop();
            if packet.has_crossed {
                self.arrive(packet, due);
            } else {
                self.cross(packet, due);
            }
            self.send(due);
        }
    }

    /// Returns the shortest latency of a request, within which host memory has read its lines.
    #[must_use]
    pub fn latency_min(&self) -> Picoseconds {
        self.parameters.latency.least()
    }

    /// Returns the next line that has arrived. It stays until it is accepted.
    #[must_use]
    pub fn offered(&self) -> Option<HostBeat> {
        self.beats.front().copied()
    }

    /// Removes the line that is offered.
    pub fn accept(&mut self) {
        self.beats.pop_front();
    }

    /// Returns the traffic since the start.
    #[must_use]
    pub fn counts(&self) -> LinkCounts {
        self.counts
    }

    /// Sends the waiting read if a port has enough free tags.
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
        let HostRead { address, bytes, tag } = read;
        let end = address + bytes;
        self.reads.insert(tag, Assembly { next: address, end, arrived: BTreeSet::new(), sent: now });
        for address in (address..end).step_by(self.parameters.request_bytes_max as usize) {
            self.request(port, address, (end - address).min(self.parameters.request_bytes_max), tag, now);
        }
    }

    /// Sends a request. Its first packet begins to cross the port after the latency.
    fn request(&mut self, port: usize, address: u64, all: u64, tag: u32, now: Picoseconds) {
        let due = now + self.parameters.latency.draw(&mut self.random);
        let bytes = all.min(self.parameters.packet_bytes_max);
        self.push(due, Packet { port, address, bytes, rest: all - bytes, tag, has_crossed: false });
    }

    /// Transfers a packet from host memory over its port, after the packets before it.
    fn cross(&mut self, packet: Packet, now: Picoseconds) {
        let bytes = packet.bytes + self.parameters.overhead_bytes;
        let busy = transfer_time(bytes, self.parameters.bandwidth);
        let port = &mut self.ports[packet.port];
        port.free_at = port.free_at.max(now) + busy;
        self.counts.busy += busy;
        let due = port.free_at;
        self.push(due, Packet { has_crossed: true, ..packet });
    }

    /// Takes the lines of a packet, and frees the tag of its request or transfers the next packet of it.
    fn arrive(&mut self, packet: Packet, now: Picoseconds) {
        self.counts.packets += 1;
        self.counts.bytes += packet.bytes;
        self.deliver(packet, now);
        if packet.rest == 0 {
            self.ports[packet.port].tags_in_use -= 1;
        } else {
            let bytes = packet.rest.min(self.parameters.packet_bytes_max);
            let (address, rest) = (packet.address + packet.bytes, packet.rest - bytes);
            self.cross(Packet { address, bytes, rest, has_crossed: false, ..packet }, now);
        }
    }

    /// Delivers the lines of a read, up to the first one that has not arrived.
    fn deliver(&mut self, packet: Packet, now: Picoseconds) {
        let Packet { address, bytes, tag, .. } = packet;
        let Some(read) = self.reads.get_mut(&tag) else { return };
        read.arrived.extend((address..address + bytes).step_by(LINE_BYTES));
        while let Some(beat) = read.deliver(tag) {
            self.beats.push_back(beat);
        }
        if read.next == read.end {
            self.counts.in_flight += now - read.sent;
            self.reads.remove(&tag);
        }
    }

    fn tags(&self, bytes: u64) -> usize {
        bytes.div_ceil(self.parameters.request_bytes_max) as usize
    }

    fn push(&mut self, due: Picoseconds, packet: Packet) {
        self.arriving.push(Reverse((due, self.sequence, packet)));
        self.sequence += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Platform;
    use super::*;

    const CYCLE: Picoseconds = 1_000;

    /// Executes reads one after the other. Returns the latency of each in nanoseconds.
    fn latencies(count: usize, bytes: u64) -> Vec<u64> {
        let mut link = HostLink::new(Platform::PAPER.link, 1);
        let mut now = 0;
        let mut latency = |_| {
            let start = now;
            link.submit(HostRead { address: 0, bytes, tag: 0 });
            loop {
                now += CYCLE;
                link.advance(now);
                if let Some(beat) = link.offered() {
                    link.accept();
                    if beat.last {
                        return (now - start) / 1_000;
                    }
                }
            }
        };
        (0..count).map(&mut latency).collect()
    }

    /// Returns the rate of one saturated port, in million reads per second.
    fn rate(bytes: u64) -> f64 {
        let mut link = HostLink::new(Link { ports: 1, ..Platform::PAPER.link }, 1);
        let (mut now, mut done, mut tag) = (0, 0_u64, 0);
        const NANOSECONDS: u64 = 300_000;
        while now < NANOSECONDS * 1_000 {
            now += CYCLE;
            link.advance(now);
            if link.is_ready() {
                link.submit(HostRead { address: 0, bytes, tag });
                tag += 1;
            }
            while let Some(beat) = link.offered() {
                link.accept();
                done += u64::from(beat.last);
            }
        }
        done as f64 * 1_000.0 / NANOSECONDS as f64
    }

    #[test]
    fn latencies_have_the_measured_quantiles() {
        let mut latencies = latencies(20_000, 64);
        latencies.sort_unstable();
        let measured =
            [(10, 744), (50, 776), (100, 832), (250, 892), (500, 968), (750, 1036), (900, 1108), (990, 1232)];
        for (thousandths, nanoseconds) in measured {
            let found = latencies[latencies.len() * thousandths / 1000];
            assert!(found.abs_diff(nanoseconds) < 20, "{thousandths}: {found}, not {nanoseconds}");
        }
    }

    /// Compares with the rates that KV-Direct measured for one port, by payload.
    #[test]
    fn rates_match_the_measured_ones() {
        let measured = [(64, 60.0), (128, 48.6), (256, 27.3), (512, 13.6), (1024, 6.8), (2048, 3.4)];
        for (bytes, millions) in measured {
            let found = rate(bytes);
            assert!((found / millions - 1.0).abs() < 0.1, "{bytes}: {found}, not {millions}");
        }
    }

    /// A read waits for the slowest of its requests, so its latency exceeds the median of one request.
    #[test]
    fn each_request_has_a_latency_of_its_own() {
        let median = |bytes| {
            let mut latencies = latencies(5_000, bytes);
            latencies.sort_unstable();
            latencies[2_500]
        };
        let (one, two, eight) = (median(512), median(1024), median(4096));
        assert!(two > one + 60 && eight > two + 120, "{one} ns, {two} ns, {eight} ns");
    }

    #[test]
    fn a_line_waits_for_those_before_it() {
        let mut read = Assembly { next: 0, end: 128, arrived: BTreeSet::from([64]), sent: 0 };
        assert_eq!(read.deliver(7), None);
        read.arrived.insert(0);
        let beats = [read.deliver(7), read.deliver(7), read.deliver(7)];
        let beat = |address, last| Some(HostBeat { address, tag: 7, last });
        assert_eq!(beats, [beat(0, false), beat(64, true), None]);
    }

    /// The paper measured 13.0 GB/s on both ports.
    #[test]
    fn two_ports_transfer_as_many_bytes_as_in_the_paper() {
        let gigabytes = 2.0 * rate(512) * 512.0 / 1e3;
        assert!((12.8..=13.0).contains(&gigabytes), "{gigabytes} GB/s");
    }

    #[test]
    fn beats_of_a_read_arrive_in_order_and_reads_overtake_each_other() {
        let mut link = HostLink::new(Platform::PAPER.link, 3);
        let (mut now, mut submitted, mut finished) = (0, 0, Vec::new());
        let mut next = vec![0; 200];
        while finished.len() < next.len() {
            now += CYCLE;
            link.advance(now);
            if link.is_ready() && submitted < next.len() {
                link.submit(HostRead {
                    address: (submitted as u64) << 16,
                    bytes: 1024,
                    tag: submitted as u32,
                });
                submitted += 1;
            }
            if let Some(beat) = link.offered() {
                link.accept();
                let read = beat.tag as usize;
                assert_eq!(beat.address, ((read as u64) << 16) + next[read] * 64);
                next[read] += 1;
                assert_eq!(beat.last, next[read] == 16);
                if beat.last {
                    finished.push(read);
                }
            }
        }
        assert!(!finished.is_sorted(), "no read overtook another");
        assert_eq!(link.counts().bytes, 200 * 1024);
        assert!(link.ports.iter().all(|port| port.tags_in_use == 0));
    }
}
