//! Checks the contents of every column of a node. The places of its parts are correct: see `places`.

use honeycomb_layout::columns as layout;

use crate::node::columns::Columns;
use crate::node::columns::encoding::{WORD_BYTES, group_bits_for, is_determined, item_bytes};
use crate::node::item::ItemHeader;
use crate::node::key::head;
use crate::node::places::check;
use crate::node::size::Lengths;
use crate::node::suffix::HEAD_BYTES;
use crate::node::view::View;

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
        check!(
            view.bytes(fences_end..self.items_start()).iter().all(|&byte| byte == 0),
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

    /// Checks that a leaf has a stride if it can, and the padding of its items.
    fn check_items(self) -> Result<(), String> {
        let headers = (0..self.count()).map(|index| self.item(index).header);
        let lengths = headers.fold(Lengths::None, |lengths, header| lengths.and(Lengths::of(header, 0)));
        let is_equal = matches!(lengths, Lengths::Equal { .. });
        check!(is_equal == self.stride().is_some(), "items with {lengths:?} and stride {:?}", self.stride());
        for index in 0..self.count() {
            let padding = self.bytes(self.value_range(index).end..self.item_offset(index + 1));
            check!(padding.iter().all(|&byte| byte == 0), "padding of item {index} is not zero");
        }
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

    /// Checks the forms of the separators of an interior node, their next heads and the padding of their
    /// items.
    fn check_separators(self) -> Result<(), String> {
        for index in 0..self.count() {
            let (head, at) = (self.head(index), self.rest_offset(index));
            let suffix = self.item(index).suffix();
            self.check_next_head(index, suffix.rest())?;
            let is_alone = is_determined(head, suffix.len());
            check!((at == 0) == is_alone, "separator {index} has the wrong form");
            if at > 0 {
                let end = at + item_bytes(ItemHeader::new(suffix.len(), 0));
                let padding = self.bytes(at + WORD_BYTES + suffix.rest().len()..end);
                check!(padding.iter().all(|&byte| byte == 0), "padding of separator {index} is not zero");
            }
        }
        Ok(())
    }
}
