//! The steps of a batch, a window of operations at a time. While the operations of one window search their
//! buckets, the buckets of the next window are on their way, and what those of the previous one read then.

/// A batch whose operations execute in three steps.
pub(crate) trait Windows {
    /// The operations of a window, at first none.
    type Stage: Default;

    /// The first step: prefetches the buckets of the next window. Returns whether there is one; otherwise
    /// the stage has no operations.
    fn begin(&mut self, stage: &mut Self::Stage) -> bool;

    /// The second step: searches the buckets, and prefetches what the third step reads.
    fn search(&mut self, stage: &mut Self::Stage);

    /// The third step: executes the operations that have not ended in the second one.
    fn execute(&mut self, stage: &Self::Stage);
}

/// Executes a batch.
#[inline(always)]
pub(crate) fn run<B: Windows>(mut batch: B) {
    let (mut previous, mut current, mut next) =
        (&mut B::Stage::default(), &mut B::Stage::default(), &mut B::Stage::default());
    let mut has_current = batch.begin(current);
    let mut has_previous = false;
    while has_current || has_previous {
        let has_next = batch.begin(next);
        batch.search(current);
        batch.execute(previous);
        (previous, current, next) = (current, next, previous);
        (has_previous, has_current) = (has_current, has_next);
    }
}
