//! The life of a request as text.

use std::fmt;

use honeycomb_layout as layout;
use honeycomb_simulator::Event;

use crate::life::{BY_LID, Life, STAGES, Span};

impl fmt::Display for Life {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "request {}", self.number)?;
        writeln!(formatter, "{:>8} {:>8} {:>7}", "cycle", "ns", "later")?;
        writeln!(formatter, "{:8} {:8} {:7}  submitted", 0, 0, 0)?;
        let (spans, mut previous) = (self.spans(), self.submitted);
        for event in &self.events {
            let (cycle, nanoseconds) = self.since_submission(event.cycle);
            let (later, text) = (event.cycle - previous, text(event));
            let duration = self.duration(&spans, event);
            writeln!(formatter, "{cycle:8} {nanoseconds:8.0} {later:7}  {text}{duration}")?;
            previous = event.cycle;
        }
        Ok(())
    }
}

impl Life {
    /// Returns the duration of the span that an event ends.
    fn duration(&self, spans: &[Span], event: &Event) -> String {
        let ends = |span: &&Span| span.cycles.1 == event.cycle && STAGES[span.stage].2.contains(&event.kind);
        let Some(span) = spans.iter().find(ends) else { return String::new() };
        let cycles = span.cycles.1 - span.cycles.0;
        format!(" ({}: {cycles} cycles, {:.0} ns)", STAGES[span.stage].0, (cycles * self.cycle) as f64 / 1e3)
    }
}

fn text(event: &Event) -> String {
    let Event { kind, detail, argument, .. } = *event;
    match kind {
        layout::EVENT_HEADER | layout::EVENT_VERSION_STEP | layout::EVENT_CHILD | layout::EVENT_LEAF => {
            search_text(event)
        }
        layout::EVENT_READ..=layout::EVENT_ON_BOARD_LINES => memory_text(event),
        layout::EVENT_LEAF_ACCEPTED..=layout::EVENT_COMPARED => scan_text(event),
        layout::EVENT_BEGUN => format!("occupies a slot as request number {argument}"),
        layout::EVENT_PARSED if detail as usize == layout::OPCODE_SCAN => "parsed: a scan".into(),
        layout::EVENT_PARSED => "parsed: a get".into(),
        layout::EVENT_STARTED => format!("started at read version {argument}"),
        layout::EVENT_REJECTED => format!("rejected with status {argument}"),
        layout::EVENT_DESCENT => format!("a key search unit starts at the root, LID {argument}"),
        layout::EVENT_DONE => "the last line of its completion has left".into(),
        _ => format!("event {kind}"),
    }
}

fn search_text(event: &Event) -> String {
    let Event { kind, detail, argument, .. } = *event;
    match kind {
        layout::EVENT_HEADER => {
            let (level, separators) = (detail & 0xff, detail >> 8 & 0xffff);
            format!("searches LID {argument}: level {level}, {separators} separators")
        }
        layout::EVENT_VERSION_STEP => format!("too new; the previous version is at {argument:#x}"),
        layout::EVENT_CHILD => format!("the child is LID {argument}"),
        _ if detail != 0 => "memory failed during the descent".into(),
        _ => format!("the leaf is LID {argument}"),
    }
}

fn memory_text(event: &Event) -> String {
    let Event { kind, detail, argument, .. } = *event;
    let user = if detail & BY_LID != 0 { "the cache" } else { "the page table" };
    match kind {
        layout::EVENT_READ => {
            let (first, count) = (detail & 0xfff, detail >> 12 & 0x7ffff);
            let by = if detail & BY_LID != 0 { format!("LID {argument}") } else { "address".into() };
            format!("reads lines {first} to {} of the node, by {by}", (first + count).saturating_sub(1))
        }
        layout::EVENT_LINES if detail != 0 => "memory failed".into(),
        layout::EVENT_LINES if argument == 0 => "received the last line of a read of the node".into(),
        layout::EVENT_LINES => format!("received the last line of the buffer at {argument:#x}"),
        layout::EVENT_HOST_READ => format!("host memory accepts a read of {detail} bytes at {argument:#x}"),
        layout::EVENT_HOST_LINES => "host memory has responded".into(),
        layout::EVENT_ON_BOARD_READ => {
            format!("on-board memory accepts a read of {} bytes for {user}", (detail & !BY_LID) * 64)
        }
        _ => format!("on-board memory has responded for {user}"),
    }
}

fn scan_text(event: &Event) -> String {
    let Event { kind, detail, argument, .. } = *event;
    let either = |yes: &str, no: &str| if detail != 0 { yes.to_owned() } else { no.to_owned() };
    match kind {
        layout::EVENT_LEAF_ACCEPTED => format!("a slot of a range scan unit opens the leaf, LID {argument}"),
        layout::EVENT_GRANT => "the range scan unit grants it the engine".into(),
        layout::EVENT_LEAF_OPEN => format!("the leaf is open: node version {argument}, {detail} log entries"),
        layout::EVENT_LOG_WALKED => {
            either("searched the log block: the key is in it", "searched the log block")
        }
        layout::EVENT_POSITION_FOUND => {
            either("the sorted block contains the key", "found the position of the key")
        }
        layout::EVENT_STEPPED => either("skips a pair", "the leaf has no more pairs"),
        layout::EVENT_EMITTED => format!("wrote a value of {detail} bytes to the completion"),
        layout::EVENT_SIBLING => format!("continues in the sibling, LID {argument}"),
        layout::EVENT_ANSWERED => format!("the completion is ready, status {argument}"),
        _ => {
            let order = match detail {
                detail if detail & 1 == 0 => "examined",
                detail if detail & 4 != 0 => "equal",
                detail if detail & 2 != 0 => "less",
                _ => "greater",
            };
            format!("the key at offset {argument}: {order}")
        }
    }
}
