//! The seam to a log, which makes the effects of writes durable.

use std::fmt;

use crate::operation::Effect;

/// Receives the effects of all writes of a table, except those of [`LockedKeys`](crate::LockedKeys), whose
/// caller knows them.
pub trait Recorder: Send + Sync {
    /// Receives an effect: the key has this value now, or is absent. The table calls this function after it
    /// has stored the effect, and while it holds the stripe of the key. So the effects of a key arrive in
    /// their order, and no reader has seen an effect that has not arrived. The stripe waits for this
    /// function, so it must be short and must not use the table.
    fn record(&self, key: &[u8], value: Option<&[u8]>);

    /// Receives that all keys are absent now, while the table holds all stripes.
    fn record_clear(&self);
}

/// The recorder of a table, if it has one.
#[derive(Default)]
pub(crate) struct Recording(Option<Box<dyn Recorder>>);

impl Recording {
    pub(crate) fn set(&mut self, recorder: Box<dyn Recorder>) {
        self.0 = Some(recorder);
    }

    /// Records an effect that is stored. `computed` has the value of [`Effect::StoreComputed`].
    #[inline]
    pub(crate) fn record(&self, key: &[u8], effect: Effect<'_>, computed: &[u8]) {
        let Some(recorder) = &self.0 else { return };
        match effect {
            Effect::Nothing => {}
            Effect::Store(value) => recorder.record(key, Some(value)),
            Effect::StoreComputed => recorder.record(key, Some(computed)),
            Effect::Delete => recorder.record(key, None),
        }
    }

    pub(crate) fn record_clear(&self) {
        self.0.iter().for_each(|recorder| recorder.record_clear());
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Recording({})", self.0.is_some())
    }
}
