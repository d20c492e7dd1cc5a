//! The life of a request as a picture: a row for each place, a bar for each stay.

use std::fmt::Write;

use honeycomb_layout as layout;

use crate::life::{Life, PLACES, Span};

const WIDTH: f64 = 900.0;
/// Left of the rows, for their names.
const LEFT: f64 = 120.0;
const ROW: f64 = 26.0;
const TOP: f64 = 40.0;
const COLOURS: [&str; PLACES.len()] =
    ["#8da0cb", "#66a61e", "#f6dc8a", "#e6ab02", "#8da0cb", "#bbbbbb", "#7570b3", "#d95f02"];
/// Lines of time.
const TICKS: u64 = 8;

/// The picture as SVG.
pub fn svg(life: &Life) -> String {
    let last = life.events.last().map_or(1, |event| life.since(event.cycle).0.max(1));
    let x = |cycle: u64| LEFT + cycle as f64 * (WIDTH - LEFT - 20.0) / last as f64;
    let bottom = TOP + ROW * PLACES.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        bottom + 30.0
    );
    text(&mut svg, 8.0, 18.0, &format!("request {}: where it is, in nanoseconds", life.identifier));
    for tick in 0..=TICKS {
        let (cycle, at) = (tick * last / TICKS, x(tick * last / TICKS));
        let _ = writeln!(svg, "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#dddddd\"/>");
        text(&mut svg, at - 8.0, bottom + 16.0, &format!("{:.0}", life.since(life.submitted + cycle).1));
    }
    for (index, (name, ..)) in PLACES.iter().enumerate() {
        text(&mut svg, 8.0, TOP + ROW * index as f64 + 17.0, name);
    }
    for span in life.spans() {
        let [from, to] = [span.cycles.0, span.cycles.1].map(|cycle| x(life.since(cycle).0));
        bar(&mut svg, &span, from, to);
    }
    compares(&mut svg, life, &x);
    svg + "</svg>\n"
}

/// A stay, and what it is about if there is room for that.
fn bar(svg: &mut String, span: &Span, from: f64, to: f64) {
    let (y, colour) = (TOP + ROW * span.place as f64 + 4.0, COLOURS[span.place]);
    let _ = writeln!(
        svg,
        "<rect x=\"{from:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"18\" fill=\"{colour}\" stroke=\"white\"/>",
        (to - from).max(1.0)
    );
    let about = match span.event.kind {
        // By LID, which bit 31 says.
        layout::EVENT_READ if span.event.detail >> 31 != 0 => format!("LID {}", span.event.argument),
        layout::EVENT_HOST_READ => format!("{} bytes", span.event.detail),
        _ => String::new(),
    };
    if !about.is_empty() && to - from > 7.0 * about.len() as f64 {
        text(svg, from + 3.0, y + 13.0, &about);
    }
}

/// A stroke for each key in the leaf that was compared.
fn compares(svg: &mut String, life: &Life, x: &dyn Fn(u64) -> f64) {
    let unit = PLACES.iter().position(|place| place.1 == layout::EVENT_GRANT);
    let y = TOP + ROW * unit.unwrap_or(0) as f64 + 4.0;
    for event in life.events.iter().filter(|event| event.kind == layout::EVENT_COMPARED) {
        let at = x(life.since(event.cycle).0);
        let _ = writeln!(svg, "<path d=\"M{at:.1} {y}v18\" stroke=\"#444444\"/>");
    }
}

fn text(svg: &mut String, x: f64, y: f64, words: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>");
}
