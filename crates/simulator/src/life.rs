//! The life of a request, from what the accelerator tells of itself.

use std::collections::HashMap;
use std::fmt;

use honeycomb_layout as layout;

use crate::event::Event;
use crate::platform::Picoseconds;

/// All that happened to a request.
#[derive(Debug, Clone)]
pub struct Life {
    /// Its number in the workload.
    pub identifier: u64,
    /// The cycle in which it was submitted.
    pub submitted: u64,
    /// What happened since, in order.
    pub events: Vec<Event>,
    /// A cycle's length.
    pub cycle: Picoseconds,
    /// Of each slot, when its next request took it.
    begun: HashMap<u16, Event>,
    slot: Option<u16>,
    is_over: bool,
}

/// A part of a life in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Where: one of [`PLACES`], by its index.
    pub place: usize,
    /// The first cycle and the last.
    pub cycles: (u64, u64),
    /// What began it.
    pub event: Event,
}

/// Where a request can be, and the events that begin and end its stay.
pub const PLACES: [(&str, usize, &[usize]); 8] = [
    ("request manager", layout::EVENT_BEGUN, &[layout::EVENT_STARTED, layout::EVENT_REJECTED]),
    ("key search unit", layout::EVENT_DESCENT, &[layout::EVENT_LEAF]),
    ("slot of a leaf", layout::EVENT_LEAF_ACCEPTED, &[layout::EVENT_ANSWERED, layout::EVENT_DONE]),
    ("range scan unit", layout::EVENT_GRANT, &[layout::EVENT_ANSWERED, layout::EVENT_DONE]),
    ("completion", layout::EVENT_ANSWERED, &[layout::EVENT_DONE]),
    ("reads", layout::EVENT_READ, &[layout::EVENT_LINES]),
    ("on-board memory", layout::EVENT_ON_BOARD_READ, &[layout::EVENT_ON_BOARD_LINES]),
    ("host memory", layout::EVENT_HOST_READ, &[layout::EVENT_HOST_LINES]),
];

/// In the detail of reads.
const BY_LID: u32 = 1 << 31;

impl Life {
    pub(crate) fn new(identifier: u64, submitted: u64, cycle: Picoseconds) -> Self {
        let (events, begun) = (Vec::new(), HashMap::new());
        Self { identifier, submitted, events, cycle, begun, slot: None, is_over: false }
    }

    /// Takes what is of this life. A request has its slot before its identifier is known.
    pub(crate) fn take(&mut self, event: Event) {
        if event.kind == layout::EVENT_BEGUN {
            self.begun.insert(event.slot, event);
        }
        if event.kind == layout::EVENT_PARSED && event.argument == self.identifier {
            self.slot = Some(event.slot);
            self.events.extend(self.begun.get(&event.slot));
        }
        if self.slot == Some(event.slot) && !self.is_over {
            self.events.push(event);
            self.is_over = event.kind == layout::EVENT_DONE;
        }
    }

    /// Where the request was, in order of begin. What has no end lasts to the end of the life.
    pub fn spans(&self) -> Vec<Span> {
        let last = self.events.last().map_or(self.submitted, |event| event.cycle);
        let mut spans: Vec<Span> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for event in &self.events {
            if let Some(at) = open.iter().position(|&at| PLACES[spans[at].place].2.contains(&event.kind)) {
                spans[open.remove(at)].cycles.1 = event.cycle;
            }
            if let Some(place) = PLACES.iter().position(|place| place.1 == event.kind) {
                open.push(spans.len());
                spans.push(Span { place, cycles: (event.cycle, last), event: *event });
            }
        }
        spans
    }

    /// A cycle as cycles since submission, and in nanoseconds.
    pub(crate) fn since(&self, cycle: u64) -> (u64, f64) {
        let cycles = cycle.saturating_sub(self.submitted);
        (cycles, (cycles * self.cycle) as f64 / 1e3)
    }

    /// How long that lasted which an event ends.
    fn lasted(&self, spans: &[Span], event: &Event) -> String {
        let ends = |span: &&Span| span.cycles.1 == event.cycle && PLACES[span.place].2.contains(&event.kind);
        let Some(span) = spans.iter().find(ends) else { return String::new() };
        let cycles = span.cycles.1 - span.cycles.0;
        format!(" ({}: {cycles} cycles, {:.0} ns)", PLACES[span.place].0, (cycles * self.cycle) as f64 / 1e3)
    }
}

impl fmt::Display for Life {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "request {}", self.identifier)?;
        writeln!(formatter, "{:>8} {:>8} {:>7}", "cycle", "ns", "later")?;
        writeln!(formatter, "{:8} {:8} {:7}  submitted", 0, 0, 0)?;
        let (spans, mut before) = (self.spans(), self.submitted);
        for event in &self.events {
            let (cycle, nanoseconds) = self.since(event.cycle);
            let (later, what) = (event.cycle - before, what(event));
            let lasted = self.lasted(&spans, event);
            writeln!(formatter, "{cycle:8} {nanoseconds:8.0} {later:7}  {what}{lasted}")?;
            before = event.cycle;
        }
        Ok(())
    }
}

/// An event in words.
fn what(event: &Event) -> String {
    let Event { kind, detail, argument, .. } = *event;
    match kind {
        layout::EVENT_HEADER | layout::EVENT_VERSION_STEP | layout::EVENT_CHILD | layout::EVENT_LEAF => {
            what_search_does(event)
        }
        layout::EVENT_READ..=layout::EVENT_ON_BOARD_LINES => what_memory_does(event),
        layout::EVENT_LEAF_ACCEPTED..=layout::EVENT_COMPARED => what_scan_does(event),
        layout::EVENT_BEGUN => format!("takes a slot; its number is {argument}"),
        layout::EVENT_PARSED if detail as usize == layout::OPCODE_SCAN => "parsed: a scan".into(),
        layout::EVENT_PARSED => "parsed: a get".into(),
        layout::EVENT_STARTED => format!("started at read version {argument}"),
        layout::EVENT_REJECTED => format!("refused with status {argument}"),
        layout::EVENT_DESCENT => format!("a key search unit begins at the root, LID {argument}"),
        layout::EVENT_DONE => "the last part of its completion is out".into(),
        _ => format!("event {kind}"),
    }
}

fn what_search_does(event: &Event) -> String {
    let Event { kind, detail, argument, .. } = *event;
    match kind {
        layout::EVENT_HEADER => {
            let (level, shortcuts) = (detail & 0xff, detail >> 8 & 0xff);
            format!("searches LID {argument}: level {level}, {shortcuts} shortcuts")
        }
        layout::EVENT_VERSION_STEP => format!("too new: its previous version is at {argument:#x}"),
        layout::EVENT_CHILD => format!("the child is LID {argument}"),
        _ if detail != 0 => "memory failed on the way down".into(),
        _ => format!("the leaf is LID {argument}"),
    }
}

fn what_memory_does(event: &Event) -> String {
    let Event { kind, detail, argument, .. } = *event;
    let is_of_cache = detail & BY_LID != 0;
    let part = if is_of_cache { "the cache" } else { "the page table" };
    match kind {
        layout::EVENT_READ => {
            let (first, count) = (detail & 0xfff, detail >> 12 & 0x7ffff);
            let by = if detail & BY_LID != 0 { format!("LID {argument}") } else { "address".into() };
            format!("asks for the node's lines {first} to {}, by {by}", (first + count).saturating_sub(1))
        }
        layout::EVENT_LINES if detail != 0 => "memory failed".into(),
        layout::EVENT_LINES => format!("the last line is there, of the buffer at {argument:#x}"),
        layout::EVENT_HOST_READ => format!("host memory takes a read of {detail} bytes at {argument:#x}"),
        layout::EVENT_HOST_LINES => "host memory has answered".into(),
        layout::EVENT_ON_BOARD_READ => {
            format!("on-board memory takes a read of {} bytes, of {part}", (detail & !BY_LID) * 64)
        }
        _ => format!("on-board memory has answered for {part}"),
    }
}

fn what_scan_does(event: &Event) -> String {
    let Event { kind, detail, argument, .. } = *event;
    let yes = |found: &str, not: &str| if detail != 0 { found.to_owned() } else { not.to_owned() };
    match kind {
        layout::EVENT_LEAF_ACCEPTED => format!("a slot of a range scan unit opens the leaf, LID {argument}"),
        layout::EVENT_GRANT => "the range scan unit begins to work on it".into(),
        layout::EVENT_LEAF_OPEN => format!("the leaf is open: node version {argument}, {detail} log entries"),
        layout::EVENT_LOG_WALKED => "the log block was looked at".to_owned() + &yes(": the key is there", ""),
        layout::EVENT_POSITION_FOUND => yes("the sorted block has the key", "the key's place is found"),
        layout::EVENT_STEPPED => yes("steps over a pair", "no pair is left in the leaf"),
        layout::EVENT_EMITTED => format!("a value of {detail} bytes is in the answer"),
        layout::EVENT_SIBLING => format!("goes on to the sibling, LID {argument}"),
        layout::EVENT_ANSWERED => format!("the answer is complete, status {argument}"),
        _ => {
            let order = match detail {
                detail if detail & 1 == 0 => "looked at",
                detail if detail & 4 != 0 => "equal",
                detail if detail & 2 != 0 => "less",
                _ => "greater",
            };
            format!("the key at offset {argument}: {order}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(cycle: u64, kind: usize, slot: u16, argument: u64) -> Event {
        Event { cycle, kind, slot, detail: 0, argument }
    }

    #[test]
    fn a_life_is_that_of_one_request() {
        let mut life = Life::new(40, 2, 5000);
        let events = [
            event(3, layout::EVENT_BEGUN, 1, 1),
            event(4, layout::EVENT_BEGUN, 2, 2),
            event(5, layout::EVENT_PARSED, 1, 39),
            event(6, layout::EVENT_PARSED, 2, 40),
            event(7, layout::EVENT_STARTED, 2, 9),
            event(8, layout::EVENT_READ, 2, 5),
            event(9, layout::EVENT_READ, 1, 5),
            event(20, layout::EVENT_LINES, 2, 64),
            event(30, layout::EVENT_DONE, 2, 0),
            event(31, layout::EVENT_BEGUN, 2, 3),
        ];
        events.into_iter().for_each(|event| life.take(event));
        let cycles: Vec<u64> = life.events.iter().map(|event| event.cycle).collect();
        assert_eq!(cycles, [4, 6, 7, 8, 20, 30]);
        let spans: Vec<_> = life.spans().iter().map(|span| (span.place, span.cycles)).collect();
        assert_eq!(spans, [(0, (4, 7)), (5, (8, 20))]);
        assert!(life.to_string().contains("      18       90      12  the last line is there"));
    }
}
