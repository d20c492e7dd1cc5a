//! Checks the shortcuts of a node in rows.

use std::collections::HashSet;

use crate::node::key::head;
use crate::node::rows::build::even_bytes;
use crate::node::rows::{self, segment};
use crate::node::shape::Shape;
use crate::node::view::View;

/// Returns the first violation found.
pub(crate) fn check(shape: &Shape, view: View<'_>) -> Result<(), String> {
    let count = view.shortcut_count();
    let violated = |is: bool, description: String| if is { Err(description) } else { Ok(()) };
    violated(count > view.geometry().shortcut_capacity(), format!("{count} shortcuts are too many"))?;
    let items = view.sorted_count();
    violated((count == 0) != (items == 0), format!("{count} shortcuts for {items} items"))?;
    let starts_late = count > 0 && segment(view, 0) != view.first();
    violated(starts_late, "the first segment does not start at the first item".to_owned())?;
    let boundaries: HashSet<usize> = view.all_items().map(|(at, _)| at).collect();
    let even = even_bytes(shape, view.sorted_end() - view.first());
    for index in 0..count {
        let range = rows::segment_range(view, index);
        let start = range.start;
        let is_inside = !boundaries.contains(&start);
        violated(is_inside, format!("segment {index} starts inside an item, at {start}"))?;
        violated(range.is_empty(), format!("segment {index} is empty"))?;
        let to_last = view.items(range).last().map_or(0, |(last, _)| last - start);
        let is_long = to_last > 2 * even;
        violated(is_long, format!("segment {index} has {to_last} bytes before its last item"))?;
        let (stored, expected) = (rows::head(view, index), head(&view.item(start).suffix().to_bytes()));
        violated(stored != expected, format!("head {index} is {stored:#x}, not {expected:#x}"))?;
    }
    Ok(())
}
