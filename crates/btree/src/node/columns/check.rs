//! Checks every column of a node in columns.

use honeycomb_layout::columns as layout;

use crate::node::columns::Columns;
use crate::node::columns::encoding::{
    ALIGNMENT, WORD_BYTES, aligned, group_bits_for, is_determined, item_bytes,
};
use crate::node::item::ItemHeader;
use crate::node::key::head;
use crate::node::size::Lengths;
use crate::node::suffix::HEAD_BYTES;
use crate::node::view::View;

macro_rules! check {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

impl Columns<'_> {
    /// Returns the first violation found. `view` is that of the node.
    pub(crate) fn check(self, view: View<'_>) -> Result<(), String> {
        let bits = group_bits_for(self.count());
        check!(self.group_bits() == bits, "groups of 2^{} heads, not of 2^{bits}", self.group_bits());
        self.check_heads()?;
        check!(
            self.padding_after_heads().iter().all(|&byte| byte == 0),
            "padding after the heads is not zero"
        );
        let fences_end = view.fences_start() + view.fence_bytes();
        let start = aligned(fences_end);
        check!(self.items_start() == start, "items start at {} and not at {start}", self.items_start());
        check!(
            view.bytes(fences_end..start).iter().all(|&byte| byte == 0),
            "padding after the fences is not zero"
        );
        if self.is_leaf() { self.check_items() } else { self.check_separators() }
    }

    fn check_heads(self) -> Result<(), String> {
        for index in 0..self.count() {
            let (stored, suffix) = (self.head(index), self.item(index).suffix().to_bytes());
            let expected = head(&suffix);
            check!(stored == expected, "head {index} is {stored:#x}, not {expected:#x}");
        }
        for (number, sample) in self.samples().as_chunks::<HEAD_BYTES>().0[1..].iter().enumerate() {
            let (first, stored) = ((number + 1) << self.group_bits(), u64::from_le_bytes(*sample));
            let expected = if first < self.count() { self.head(first) } else { u64::MAX };
            check!(stored == expected, "sample {number} is {stored:#x}, not {expected:#x}");
        }
        let covered = (layout::SAMPLES_COUNT + 1) << self.group_bits();
        check!(self.count() <= covered, "the samples cover {covered} of {} heads", self.count());
        Ok(())
    }

    /// Checks stride, offsets and the padding of the items of a leaf.
    fn check_items(self) -> Result<(), String> {
        let headers = (0..self.count()).map(|index| self.item(index).header);
        let lengths = headers.fold(Lengths::None, |lengths, header| lengths.and(Lengths::of(header, 0)));
        let is_equal = matches!(lengths, Lengths::Equal { .. });
        let stride = self.stride();
        check!(!is_equal || stride.is_some(), "items of equal lengths have no stride");
        let stored = self.stride_bytes();
        let expected = stride.map_or(0, |stride| stride.bytes());
        check!(stored == expected, "stride of {stored} bytes, not {expected}");
        check!(stride.is_some() || self.place().stride() == Default::default(), "lengths without a stride");
        let mut next = self.items_start();
        for index in 0..self.count() {
            let (at, header) = (self.item_offset(index), self.item_header(index));
            check!(at == next, "item {index} is at {at}, not at {next}");
            let end = at + stride.map_or(item_bytes(header), |stride| stride.bytes());
            check!(end <= self.sorted_end(), "item {index} ends at {end}, after the sorted block");
            let padding = &self.from(self.value_range(index).end)[..end - self.value_range(index).end];
            check!(padding.iter().all(|&byte| byte == 0), "padding of item {index} is not zero");
            next = end;
        }
        check!(next == self.sorted_end(), "items end at {next}, not at {}", self.sorted_end());
        Ok(())
    }

    /// Checks the next head of a separator.
    fn check_next_head(self, index: usize, rest: &[u8]) -> Result<(), String> {
        if !self.has_separator_items() {
            return Ok(());
        }
        let (stored, expected) = (u64::from_le_bytes(self.next_heads()[index]), head(rest));
        check!(stored == expected, "next head {index} is {stored:#x}, not {expected:#x}");
        Ok(())
    }

    /// Checks the children, the next heads and the items of the separators of an interior node.
    fn check_separators(self) -> Result<(), String> {
        check!(self.place().0 >> 16 == 0, "an interior node has a stride");
        let mut next = self.items_start();
        for index in 0..self.count() {
            let (head, at) = (self.head(index), self.rest_offset(index));
            let suffix = self.item(index).suffix();
            self.check_next_head(index, suffix.rest())?;
            let is_alone = is_determined(head, suffix.len());
            check!((at == 0) == is_alone, "separator {index} has the wrong form");
            if at == 0 {
                continue;
            }
            check!(at == next, "item of separator {index} is at {at}, not at {next}");
            let header = ItemHeader::new(suffix.len(), 0);
            let (rest, end) = (at + WORD_BYTES + suffix.rest().len(), at + item_bytes(header));
            check!(end <= self.sorted_end(), "item of separator {index} ends after the sorted block");
            check!(self.from(at).starts_with(&header.word().to_le_bytes()), "separator {index} has flags");
            check!(
                self.from(rest)[..end - rest].iter().all(|&byte| byte == 0),
                "padding of separator {index} is not zero"
            );
            next = end;
        }
        check!(next.is_multiple_of(ALIGNMENT) && next == self.sorted_end(), "separators end at {next}");
        Ok(())
    }
}
