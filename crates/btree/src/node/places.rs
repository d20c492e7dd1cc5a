//! Checks that the parts of a node are where its header says, before anything follows their offsets and
//! lengths. Columns, fence keys, items and log entries of a node that passes follow each other without a gap
//! and end with their blocks, so no damage of the node makes a read of them panic. The check reads no number
//! of the node before it has checked the numbers that lead to it.

use honeycomb_layout::{
    INLINE_VALUE_BYTES_MAX, KEY_BYTES_MAX, column_child, fences, lock_and_size, value_reference,
};
use honeycomb_memory::LockAndSize;

use crate::node::columns::Columns;
use crate::node::columns::encoding::{WORD_BYTES, aligned, item_bytes, word_and_rest};
use crate::node::item::ItemHeader;
use crate::node::log_entry;
use crate::node::shape::BLOCK_START;
use crate::node::suffix::{HEAD_BYTES, bytes_after_head};
use crate::node::view::View;

/// Returns an error with the message unless the condition holds.
macro_rules! check {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}
pub(crate) use check;

/// Checks the lock-and-size word of an idle node, which limits the bytes of its view.
pub(crate) fn check_state(state: LockAndSize, node_bytes: usize) -> Result<(), String> {
    check!(!state.locked(), "is locked although there is no writer");
    let (size, entries) = (state.size(), state.log_count());
    check!(size >= BLOCK_START, "size {size} ends before the heads");
    let bytes = size + log_entry::WORD_BYTES * entries;
    check!(bytes <= node_bytes, "size {size} and {entries} log words exceed the node");
    let padding = lock_and_size::padding(u64::from(state));
    check!(padding == 0, "padding of the lock-and-size word is {padding:#x}");
    Ok(())
}

impl View<'_> {
    /// Returns the first part that is not at its place. The level and the size of the node are correct.
    pub(crate) fn check_places(self) -> Result<(), String> {
        let (end, size) = (self.sorted_end(), self.size());
        check!(end <= size, "sorted block ends at {end} of {size} bytes");
        let start = self.fences_start();
        check!(start + fences::SIZE <= end, "columns end at {start}, sorted block at {end}");
        let fences_end = start + self.fence_bytes();
        check!(fences_end <= end, "fence keys end at {fences_end}, sorted block at {end}");
        let (low, prefix) = (self.low_fence().len(), self.prefix_length());
        check!(prefix <= low, "prefix length {prefix} exceeds the low fence of {low} bytes");
        let (start, stored) = (aligned(fences_end), self.columns().items_start());
        check!(stored == start && start <= end, "items start at {stored} and not at {start}");
        if self.is_leaf() {
            self.columns().check_item_places()?;
            return self.check_log_places();
        }
        check!(self.log_count() == 0 && size == end, "an interior node has a log block");
        check!(self.left().is_some(), "an interior node has no leftmost child");
        self.columns().check_separator_places()
    }

    fn check_log_places(self) -> Result<(), String> {
        let (mut next, size, count) = (self.sorted_end(), self.size(), self.sorted_count());
        for (index, place) in self.log_places().enumerate() {
            let (at, hint, position) = (place.at, place.order_hint, place.back_pointer);
            check!(at == next, "log entry {index} begins at {at}, not at {next}");
            check!(at + HEAD_BYTES + WORD_BYTES <= size, "log entry {index} begins at the size");
            let header = self.header_at(place);
            next = at + HEAD_BYTES + item_bytes(header);
            check!(next <= size, "log entry {index} ends at {next} of {size} bytes");
            check!(hint <= index, "order hint of log entry {index} is {hint}");
            check!(position <= count, "back pointer of log entry {index} is {position}, beyond {count}");
            check_reference(header, self.from(at + HEAD_BYTES + WORD_BYTES))
                .map_err(|wrong| format!("log entry {index} {wrong}"))?;
        }
        check!(next == size, "log entries end at {next} of {size} bytes");
        Ok(())
    }
}

impl Columns<'_> {
    /// Checks the stride or the offsets of a leaf, and the ends of its items.
    fn check_item_places(self) -> Result<(), String> {
        let (stored, lengths, end) = (self.stride_bytes(), self.stride_lengths(), self.sorted_end());
        let (key, value) = (lengths.suffix_bytes, lengths.value_bytes);
        if stored == 0 {
            check!(key == 0 && value == 0, "lengths {key} and {value} without a stride");
            return self.check_offsets();
        }
        check!(key <= KEY_BYTES_MAX, "key suffix of {key} bytes with a stride");
        check!(value <= INLINE_VALUE_BYTES_MAX, "value of {value} bytes with a stride");
        let bytes = lengths.bytes();
        check!(stored == bytes, "stride of {stored} bytes, not {bytes}");
        let items_end = self.items_start() + self.count() * bytes;
        check!(items_end == end, "items end at {items_end}, not at {end}");
        Ok(())
    }

    fn check_offsets(self) -> Result<(), String> {
        let (mut next, end) = (self.items_start(), self.sorted_end());
        for index in 0..self.count() {
            let at = self.item_offset(index);
            check!(at == next, "item {index} is at {at}, not at {next}");
            check!(at + WORD_BYTES <= end, "item {index} begins at the end of the sorted block");
            let (header, rest) = word_and_rest(self.from(at));
            next = at + item_bytes(header);
            check!(next <= end, "item {index} ends at {next}, after the sorted block");
            check_reference(header, rest).map_err(|wrong| format!("item {index} {wrong}"))?;
        }
        check!(next == end, "items end at {next}, not at {end}");
        Ok(())
    }

    /// Checks the children of an interior node, and the places of the items of its separators.
    fn check_separator_places(self) -> Result<(), String> {
        check!(self.is_without_stride(), "an interior node has a stride");
        let (mut next, end) = (self.items_start(), self.sorted_end());
        for index in 0..self.count() {
            check!(column_child::lid(self.child_word(index)) != 0, "child {index} has no LID");
            let at = self.rest_offset(index);
            if at == 0 {
                continue;
            }
            check!(at == next, "item of separator {index} is at {at}, not at {next}");
            check!(at + WORD_BYTES <= end, "item of separator {index} begins at the end");
            let header = word_and_rest(self.from(at)).0;
            let only_length = ItemHeader::new(header.suffix_bytes(), 0);
            check!(header == only_length, "separator {index} has flags or a value");
            next = at + item_bytes(header);
            check!(next <= end, "item of separator {index} ends at {next}, after the sorted block");
        }
        check!(next == end, "separators end at {next}, not at {end}");
        Ok(())
    }
}

/// Checks the form of the reference to an overflow value, if an item has one. `bytes` begins with the rest of
/// its key.
fn check_reference(header: ItemHeader, bytes: &[u8]) -> Result<(), String> {
    if header.overflow() {
        let length = header.value_bytes();
        check!(length == value_reference::SIZE, "has a reference of {length} bytes");
        let reference = &bytes[bytes_after_head(header.suffix_bytes())..][..length];
        let address = &reference[value_reference::ADDRESS_OFFSET..][..value_reference::ADDRESS_BYTES];
        check!(address.iter().any(|&byte| byte != 0), "has a reference to address 0");
    }
    Ok(())
}
