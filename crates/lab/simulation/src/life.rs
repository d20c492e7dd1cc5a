//! The life of a request: all events of one request, in order.

use std::collections::HashMap;

use honeycomb_layout as layout;
use honeycomb_simulator::Event;
use honeycomb_simulator::platform::Picoseconds;
use serde_json::{Value, json};

/// All events of a request.
#[derive(Debug, Clone)]
pub struct Life {
    /// The number of its operation in the measurement.
    pub number: u64,
    /// The identifier of the request.
    pub identifier: u64,
    /// Cycle in which it was submitted.
    pub submitted: u64,
    /// Its events, in order.
    pub events: Vec<Event>,
    /// Length of a cycle.
    pub cycle: Picoseconds,
    /// The event that began the current request of each slot.
    begun: HashMap<u16, Event>,
    slot: Option<u16>,
    is_over: bool,
}

/// The time that a request spends in one stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Index into [`STAGES`].
    pub stage: usize,
    /// The first cycle and the last.
    pub cycles: (u64, u64),
    /// The event that began it.
    pub event: Event,
}

/// The stages of a request, each with the event that begins it and the events that end it.
pub const STAGES: [(&str, usize, &[usize]); 8] = [
    ("request manager", layout::EVENT_BEGUN, &[layout::EVENT_STARTED, layout::EVENT_REJECTED]),
    ("key search unit", layout::EVENT_DESCENT, &[layout::EVENT_LEAF]),
    ("slot of a leaf", layout::EVENT_LEAF_ACCEPTED, &[layout::EVENT_ANSWERED, layout::EVENT_DONE]),
    (
        "range scan unit",
        layout::EVENT_GRANT,
        &[layout::EVENT_SIBLING, layout::EVENT_ANSWERED, layout::EVENT_DONE],
    ),
    ("completion", layout::EVENT_ANSWERED, &[layout::EVENT_DONE]),
    ("reads", layout::EVENT_READ, &[layout::EVENT_LINES]),
    ("on-board memory", layout::EVENT_ON_BOARD_READ, &[layout::EVENT_ON_BOARD_LINES]),
    ("host memory", layout::EVENT_HOST_READ, &[layout::EVENT_HOST_LINES]),
];

/// Bit in the detail of reads: the read names its buffer by LID.
pub(crate) const BY_LID: u32 = 1 << 31;

impl Life {
    /// Returns the life of a request that has no events yet.
    pub(crate) fn new(number: u64, identifier: u64, cycle: Picoseconds) -> Self {
        let (events, begun) = (Vec::new(), HashMap::new());
        Self { number, identifier, submitted: 0, events, cycle, begun, slot: None, is_over: false }
    }

    /// Adds those events that belong to the request. A request receives its slot before its identifier is
    /// known.
    pub(crate) fn extend(&mut self, events: impl IntoIterator<Item = Event>) {
        events.into_iter().for_each(|event| self.add(event));
    }

    fn add(&mut self, event: Event) {
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

    /// Returns the stages of the request in the order of their begin. A span without an end lasts to the last
    /// event.
    pub fn spans(&self) -> Vec<Span> {
        let last = self.events.last().map_or(self.submitted, |event| event.cycle);
        let mut spans: Vec<Span> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for event in &self.events {
            if let Some(at) = open.iter().position(|&at| STAGES[spans[at].stage].2.contains(&event.kind)) {
                spans[open.remove(at)].cycles.1 = event.cycle;
            }
            if let Some(stage) = STAGES.iter().position(|stage| stage.1 == event.kind) {
                open.push(spans.len());
                spans.push(Span { stage, cycles: (event.cycle, last), event: *event });
            }
        }
        spans
    }

    /// Returns what `honeycomb_plots` draws. All times are nanoseconds since submission.
    pub fn json(&self) -> Value {
        let time = |cycle: u64| self.since_submission(cycle).1;
        let spans = self.spans().into_iter().map(|span| {
            let [start, end] = [span.cycles.0, span.cycles.1].map(time);
            json!({ "stage": STAGES[span.stage].0, "start": start, "end": end, "label": label(&span.event) })
        });
        let comparisons = self.events.iter().filter(|event| event.kind == layout::EVENT_COMPARED);
        json!({
            "request": self.number,
            "stages": STAGES.map(|(name, ..)| name),
            "spans": spans.collect::<Vec<_>>(),
            "comparisons": comparisons.map(|event| time(event.cycle)).collect::<Vec<_>>(),
        })
    }

    /// Returns the time since submission in cycles and in nanoseconds.
    pub(crate) fn since_submission(&self, cycle: u64) -> (u64, f64) {
        let cycles = cycle.saturating_sub(self.submitted);
        (cycles, (cycles * self.cycle) as f64 / 1e3)
    }
}

/// Returns the label of a span in a drawing.
fn label(event: &Event) -> String {
    match event.kind {
        layout::EVENT_READ if event.detail & BY_LID != 0 => format!("LID {}", event.argument),
        layout::EVENT_HOST_READ => format!("{} bytes", event.detail),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(cycle: u64, kind: usize, slot: u16, argument: u64) -> Event {
        Event { cycle, kind, slot, detail: 0, argument }
    }

    #[test]
    fn a_life_contains_the_events_of_one_request() {
        let mut life = Life::new(0, 40, 5000);
        life.submitted = 2;
        life.extend([
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
        ]);
        let cycles: Vec<u64> = life.events.iter().map(|event| event.cycle).collect();
        assert_eq!(cycles, [4, 6, 7, 8, 20, 30]);
        let spans: Vec<_> = life.spans().iter().map(|span| (span.stage, span.cycles)).collect();
        assert_eq!(spans, [(0, (4, 7)), (5, (8, 20))]);
        assert!(life.to_string().contains("      18       90      12  received the last line"), "{life}");
    }
}
