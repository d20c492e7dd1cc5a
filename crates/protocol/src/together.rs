//! Datagrams that the system takes in one call, and sends one by one.

use crate::PAYLOAD_BYTES_MAX;

/// How many datagrams at the front go together, at most `most`, but one in any case: those of the size of
/// the first; the last may be shorter. `ends` says where each ends; the first begins at `start`.
pub fn together(start: usize, ends: impl IntoIterator<Item = usize>, most: usize) -> usize {
    let mut ends = ends.into_iter();
    let Some(first) = ends.next() else { return 0 };
    let size = first - start;
    let (mut count, mut end) = (1, first);
    for next in ends.take(most.saturating_sub(1)) {
        if next - end > size || next - start > PAYLOAD_BYTES_MAX {
            break;
        }
        count += 1;
        if next - end < size {
            break;
        }
        end = next;
    }
    count
}
