//! The seam to a log, which makes the effects of writes durable.

use std::fmt;

use crate::operation::Effect;

/// The value of a key before a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before<'v> {
    /// The recorder has not requested it.
    Unknown,
    /// The key was absent.
    Absent,
    /// The value.
    Value(&'v [u8]),
}

/// Receives the effects of all writes of a table, except those of [`LockedKeys`](crate::LockedKeys), whose
/// caller knows them.
pub trait Recorder: Send + Sync {
    /// Receives an effect: the key has this value now, or is absent. The table calls this function after it
    /// has stored the effect, and while it holds the stripe of the key. So the effects of a key arrive in
    /// their order, and no reader has seen an effect that has not arrived. The stripe waits for this
    /// function, so it must be short and must not use the table.
    fn record(&self, key: &[u8], value: Option<&[u8]>, before: Before<'_>);

    /// Whether the next effect needs the value before it, which the table copies then. Several operations on
    /// one key in a batch can have one effect, whose value before is that of the first one.
    fn needs_values_before(&self) -> bool {
        false
    }

    /// Receives that all keys are absent now, while the table holds all stripes.
    fn record_clear(&self);
}

impl<'v> Before<'v> {
    /// The value of a key that a write has found, or has not found, if the recorder needs it.
    #[inline]
    pub(crate) fn of(is_needed: bool, exists: bool, value: &'v [u8]) -> Self {
        match (is_needed, exists) {
            (false, _) => Self::Unknown,
            (true, false) => Self::Absent,
            (true, true) => Self::Value(value),
        }
    }
}

/// The recorder of a table, if it has one.
#[derive(Default)]
pub(crate) struct Recording(Option<Box<dyn Recorder>>);

impl Recording {
    pub(crate) fn set(&mut self, recorder: Box<dyn Recorder>) {
        self.0 = Some(recorder);
    }

    /// Whether the value before the next effect must be passed to [`record`](Self::record).
    #[inline]
    pub(crate) fn needs_values_before(&self) -> bool {
        self.0.as_ref().is_some_and(|recorder| recorder.needs_values_before())
    }

    /// Records an effect that is stored. `computed` has the value of [`Effect::StoreComputed`].
    #[inline]
    pub(crate) fn record(&self, key: &[u8], effect: Effect<'_>, computed: &[u8], before: Before<'_>) {
        let Some(recorder) = &self.0 else { return };
        match effect {
            Effect::Nothing => {}
            Effect::Store(value) => recorder.record(key, Some(value), before),
            Effect::StoreComputed => recorder.record(key, Some(computed), before),
            Effect::Delete => recorder.record(key, None, before),
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
