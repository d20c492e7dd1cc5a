//! Events that the accelerator reports in simulation: `event_t` in `rtl/common/accelerator_pkg.sv`.

use crate::model::EVENT_WORDS;

/// One step of a request in one cycle. The layout defines the kinds and the meaning of detail and argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Cycle, counted from reset.
    pub cycle: u64,
    /// `EVENT_*` of the layout.
    pub kind: usize,
    /// Slot of the request.
    pub slot: u16,
    /// Meaning depends on the kind.
    pub detail: u32,
    /// Meaning depends on the kind.
    pub argument: u64,
}

impl Event {
    /// Decodes one lane of the event port. Returns `None` for an idle lane.
    pub(crate) fn of_words(cycle: u64, words: &[u32; EVENT_WORDS]) -> Option<Self> {
        let [low, high, detail, kind_and_slot] = *words;
        let kind = (kind_and_slot >> 16) as usize;
        let argument = u64::from(high) << 32 | u64::from(low);
        (kind != 0).then_some(Self { cycle, kind, slot: kind_and_slot as u16, detail, argument })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_the_last_field_of_the_struct() {
        let event = Event { cycle: 7, kind: 3, slot: 9, detail: 5, argument: 1 << 32 | 2 };
        assert_eq!(Event::of_words(7, &[2, 1, 5, 3 << 16 | 9]), Some(event));
        assert_eq!(Event::of_words(7, &[2, 1, 5, 9]), None);
    }
}
