//! Runs of datagrams for UDP segmentation offload: the system accepts a run in one call and sends it as
//! single datagrams.

use crate::PAYLOAD_BYTES_MAX;

/// Returns the length of the first run of datagrams: at least one and at most `most`, all of the size of the
/// first except the last, which may be shorter. `ends` are the end offsets of the datagrams; the first one
/// begins at `start`. Returns 0 if there are no datagrams.
pub fn segment_run(start: usize, ends: impl IntoIterator<Item = usize>, most: usize) -> usize {
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
