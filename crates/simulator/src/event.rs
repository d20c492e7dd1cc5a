//! What the accelerator tells of itself: see `event_t` in `rtl/common/accelerator_pkg.sv`.

use crate::model::EVENT_WORDS;

/// What happened to a request in a cycle. The layout has the kinds, and what detail and argument mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The cycle, counted from reset.
    pub cycle: u64,
    /// `EVENT_*` of the layout.
    pub kind: usize,
    /// The request's.
    pub slot: u16,
    /// See the kind.
    pub detail: u32,
    /// See the kind.
    pub argument: u64,
}

impl Event {
    /// An event as a port has it; none if nothing happened.
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
    fn words_are_a_struct_with_the_last_field_first() {
        let event = Event { cycle: 7, kind: 3, slot: 9, detail: 5, argument: 1 << 32 | 2 };
        assert_eq!(Event::of_words(7, &[2, 1, 5, 3 << 16 | 9]), Some(event));
        assert_eq!(Event::of_words(7, &[2, 1, 5, 9]), None);
    }
}
