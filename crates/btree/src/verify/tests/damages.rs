//! One damage of each field of the header, of each column, of the items and of the log, and the words with
//! which `verify` names it.

use honeycomb_layout::{
    column_child, columns, fences, item_word, lock_and_size, log_word, node_header as header, value_reference,
};

use super::{KINDS, Pairs, forest, lids, replace, verify_with, with_view};
use crate::forest::{Forest, Root};
use crate::node::log_entry::LogEntry;
use crate::node::suffix::HEAD_BYTES;
use crate::node::view::{View, log_word_offset};

/// The byte of a node to damage and the bits to flip in it, if the node has such a field.
type Place = Option<(usize, u8)>;

struct Damage {
    /// The damaged field.
    field: &'static str,
    place: fn(View<'_>) -> Place,
    /// Parts of the descriptions that name it, separated by `|`. The first check that a damage fails depends
    /// on its other bytes.
    names: &'static str,
}

const fn damage(field: &'static str, place: fn(View<'_>) -> Place, names: &'static str) -> Damage {
    Damage { field, place, names }
}

/// Returns the byte with a bit of a word at an offset.
const fn bit(offset: usize, bit: u32) -> (usize, u8) {
    (offset + bit as usize / 8, 1 << (bit % 8))
}

fn leaf(view: View<'_>, place: (usize, u8)) -> Place {
    view.is_leaf().then_some(place)
}

fn interior(view: View<'_>, place: (usize, u8)) -> Place {
    (!view.is_leaf()).then_some(place)
}

/// Returns a place in a leaf with a stride.
fn strided(view: View<'_>, place: (usize, u8)) -> Place {
    (view.is_leaf() && view.columns().stride().is_some()).then_some(place)
}

/// Returns a place in the first item of a leaf without a stride: a bit of its word.
fn word_of_item(view: View<'_>, shift: u32) -> Place {
    let has_word = view.is_leaf() && view.columns().stride().is_none() && view.sorted_count() > 0;
    has_word.then(|| bit(view.columns().item_offset(0), shift))
}

/// Returns a place in the first log entry of a leaf.
fn in_log(view: View<'_>, place: fn(LogEntry<'_>) -> Place) -> Place {
    view.log_entries().next().and_then(place)
}

fn word_of_entry(view: View<'_>, shift: u32) -> Place {
    view.log_entries().next().map(|entry| bit(entry.place.at + HEAD_BYTES, shift))
}

fn in_log_word(view: View<'_>, shift: u32) -> Place {
    (view.log_count() > 0).then(|| bit(log_word_offset(NODE_BYTES, 0), shift))
}

/// Returns a place in the first separator with an item: a bit of its word.
fn word_of_separator(view: View<'_>, shift: u32) -> Place {
    let columns = view.columns();
    let has_items = !view.is_leaf() && columns.has_separator_items();
    has_items.then(|| bit(columns.items_start(), shift))
}

/// Returns the last byte of the padding of any item of a leaf.
fn padding_of_item(view: View<'_>) -> Place {
    let columns = view.columns();
    let ends = |index| (columns.value_range(index).end, columns.item_offset(index + 1));
    let mut ends = (0..view.sorted_count()).filter(|_| view.is_leaf()).map(ends);
    ends.find(|(end, next)| end < next).map(|(_, next)| (next - 1, 1))
}

fn padding_of_separator(view: View<'_>) -> Place {
    let columns = view.columns();
    let mut separators =
        view.all_items().filter(|&(index, _)| !view.is_leaf() && columns.rest_offset(index) > 0);
    separators.find_map(|(index, item)| {
        let end = columns.rest_offset(index) + 4 + item.suffix().rest().len();
        (!end.is_multiple_of(4)).then_some((end, 1))
    })
}

/// Returns the byte of a head after the end of a key that is shorter.
fn padding_of_head(view: View<'_>) -> Place {
    let mut items = view.all_items().filter(|_| view.is_leaf());
    items.find(|(_, item)| item.suffix().len() < HEAD_BYTES).map(|(index, _)| (HEADS + HEAD_BYTES * index, 1))
}

/// Returns the offset of the reference of the first sorted item that has one.
pub(super) fn reference(view: View<'_>) -> Option<usize> {
    let mut items = view.all_items().filter(|_| view.is_leaf());
    items
        .find(|(_, item)| item.reference().is_some())
        .map(|(index, _)| view.columns().value_range(index).start)
}

const HEADS: usize = honeycomb_layout::COLUMN_HEADS_OFFSET;
const COLUMNS: usize = header::SIZE;
const NODE_BYTES: usize = 1024;

#[rustfmt::skip]
const HEADER: &[Damage] = &[
    damage("lock", |_| Some(bit(0, lock_and_size::LOCK_SHIFT)), "is locked"),
    damage("size of a leaf", |view| leaf(view, bit(0, lock_and_size::SIZE_SHIFT + 2)),
        "log entries end|log entry|sorted block ends"),
    damage("size of an interior node", |view| interior(view, bit(0, lock_and_size::SIZE_SHIFT + 2)),
        "has a log block|sorted block ends"),
    damage("size below the heads", |_| Some((5, 0xff)), "ends before the heads|exceed the node"),
    damage("log_count of a leaf", |view| leaf(view, bit(0, lock_and_size::LOG_COUNT_SHIFT)), "log entr"),
    damage("log_count of an interior node", |view| interior(view, bit(0, lock_and_size::LOG_COUNT_SHIFT)),
        "has a log block"),
    damage("padding", |_| Some(bit(0, lock_and_size::PADDING_SHIFT)), "padding of the lock-and-size word"),
    damage("node_version", |_| Some((header::NODE_VERSION_OFFSET + 7, 1)), "is not released"),
    damage("previous_version", |_| Some((header::PREVIOUS_VERSION_OFFSET, 1)), "previous version"),
    damage("previous_version outside", |_| Some((header::PREVIOUS_VERSION_OFFSET + 7, 1)),
        "previous version"),
    damage("left", |view| leaf(view, (header::LEFT_OFFSET, 1)), "left sibling"),
    damage("more of left", |view| leaf(view, (header::LEFT_OFFSET + 7, 1)), "left sibling"),
    damage("leftmost child", |view| interior(view, (header::LEFT_OFFSET + 5, 1)), "does not exist"),
    damage("no leftmost child", |view| interior(view, (header::LEFT_OFFSET + 7, 1)), "no leftmost child"),
    damage("right", |view| leaf(view, (header::RIGHT_OFFSET, 1)), "right sibling"),
    damage("more of right", |view| leaf(view, (header::RIGHT_OFFSET + 7, 1)), "right sibling"),
    damage("right of an interior node", |view| interior(view, (header::RIGHT_OFFSET + 7, 1)),
        "has a right sibling"),
    damage("sorted_end", |_| Some((header::SORTED_END_OFFSET + 1, 0x80)), "sorted block ends"),
    damage("sorted_count", |_| Some((header::SORTED_COUNT_OFFSET + 1, 0x80)), "columns end"),
    damage("prefix_length", |_| Some((header::PREFIX_LENGTH_OFFSET + 1, 0x80)), "prefix length"),
    damage("group_bits", |_| Some((header::GROUP_BITS_OFFSET, 1)), "groups of 2^"),
    // The level of the root determines how its bytes are read, so another check fails.
    damage("level", |view| view.high_fence().map(|_| (header::LEVEL_OFFSET, 1)), "level"),
    damage("tags", |view| (view.log_count() > 0).then_some((header::TAGS_OFFSET, 1)), "fingerprint"),
];

#[rustfmt::skip]
const COLUMN_FIELDS: &[Damage] = &[
    damage("items_start", |view| leaf(view, (COLUMNS, 4)), "items start"),
    damage("stride", |view| strided(view, (COLUMNS + columns::STRIDE_OFFSET, 4)), "stride of"),
    damage("stride of an interior node", |view| interior(view, (COLUMNS + columns::STRIDE_OFFSET, 4)),
        "has a stride"),
    damage("suffix_length", |view| strided(view, (COLUMNS + columns::SUFFIX_LENGTH_OFFSET + 1, 1)),
        "stride of"),
    damage("suffix_length beyond", |view| strided(view, (COLUMNS + columns::SUFFIX_LENGTH_OFFSET + 1, 2)),
        "with a stride"),
    damage("suffix_length without a stride",
        |view| word_of_item(view, 0).map(|_| (COLUMNS + columns::SUFFIX_LENGTH_OFFSET, 1)),
        "without a stride"),
    damage("suffix_length of an interior node",
        |view| interior(view, (COLUMNS + columns::SUFFIX_LENGTH_OFFSET, 1)), "has a stride"),
    damage("value_length", |view| strided(view, (COLUMNS + columns::VALUE_LENGTH_OFFSET + 1, 1)),
        "stride of"),
    damage("value_length beyond", |view| strided(view, (COLUMNS + columns::VALUE_LENGTH_OFFSET + 1, 2)),
        "with a stride"),
    damage("value_length without a stride",
        |view| word_of_item(view, 0).map(|_| (COLUMNS + columns::VALUE_LENGTH_OFFSET, 1)),
        "without a stride"),
    damage("first sample", |_| Some((COLUMNS + columns::SAMPLES_OFFSET, 1)), "sample 0"),
    damage("last sample", |_| Some((HEADS - 1, 1)), "sample 14"),
    damage("heads", |view| (view.sorted_count() > 1).then_some((HEADS + 2 * HEAD_BYTES - 1, 0x80)),
        "out of order|fence|head 1"),
    damage("padding of a head", padding_of_head, "head "),
    damage("padding after the heads",
        |view| interior(view, (HEADS + HEAD_BYTES * view.sorted_count(), 1)), "padding after the heads"),
    damage("offsets", |view| word_of_item(view, 0).map(|_| (view.columns().offsets_start(), 1)),
        "item 0 is at"),
    damage("child", |view| interior(view, bit(view.columns().children_start(), column_child::LID_BITS - 1)),
        "does not exist"),
    damage("rest of a child",
        |view| interior(view, bit(view.columns().children_start(), column_child::REST_SHIFT)),
        "item of separator 0"),
    damage("next heads", |view| word_of_separator(view, 0).map(|_| (view.columns().next_heads_start(), 1)),
        "next head 0"),
    damage("low_length", |view| Some((view.fences_start() + fences::LOW_LENGTH_OFFSET, 4)),
        "low fence|fence keys|items start"),
    damage("high_length", |view| Some((view.fences_start() + fences::HIGH_LENGTH_OFFSET, 4)),
        "high fence|fence keys|items start"),
    damage("low fence",
        |view| (!view.low_fence().is_empty()).then(|| (view.fences_start() + fences::SIZE, 1)),
        "low fence"),
    damage("high fence", |view| view.high_fence().map(|_| (view.fences_start() + view.fence_bytes() - 1, 1)),
        "high fence"),
    damage("padding after the fences", |view| {
        let end = view.fences_start() + view.fence_bytes();
        (end < view.columns().items_start()).then_some((end, 1))
    }, "padding after the fences"),
];

#[rustfmt::skip]
const ITEMS: &[Damage] = &[
    damage("suffix_length", |view| word_of_item(view, item_word::SUFFIX_LENGTH_SHIFT + 8), "item"),
    damage("value_length", |view| word_of_item(view, item_word::VALUE_LENGTH_SHIFT + 8), "item"),
    damage("overflow", |view| word_of_item(view, item_word::OVERFLOW_SHIFT),
        "item 0 has a reference|live values"),
    damage("tombstone", |view| word_of_item(view, item_word::TOMBSTONE_SHIFT), "is a tombstone"),
    damage("replaces", |view| word_of_item(view, item_word::REPLACES_SHIFT), "has flags of a log entry"),
    damage("repeats", |view| word_of_item(view, item_word::REPEATS_SHIFT), "has flags of a log entry"),
    damage("padding of an item word", |view| word_of_item(view, item_word::PADDING_SHIFT),
        "padding of the item"),
    damage("padding of an item", padding_of_item, "padding of item"),
    damage("address of a reference", |view| reference(view).map(|at| (at, 1)), "no overflow value"),
    damage("address of another unit", |view| reference(view).map(|at| (at + 4, 1)), "no overflow value"),
    damage("length of a reference", |view| {
        reference(view).map(|at| (at + value_reference::LENGTH_OFFSET + 3, 0x80))
    }, "overflow value of"),
    damage("units of a reference",
        |view| reference(view).map(|at| (at + value_reference::LENGTH_OFFSET + 1, 8)),
        "no overflow value of"),
    damage("suffix_length of a separator", |view| word_of_separator(view, item_word::SUFFIX_LENGTH_SHIFT + 8),
        "separator"),
    damage("value of a separator", |view| word_of_separator(view, item_word::VALUE_LENGTH_SHIFT),
        "has flags or a value"),
    damage("flags of a separator", |view| word_of_separator(view, item_word::REPEATS_SHIFT),
        "has flags or a value"),
    damage("padding of a separator's word", |view| word_of_separator(view, item_word::PADDING_SHIFT),
        "has flags or a value"),
    damage("padding of a separator", padding_of_separator, "padding of separator"),
];

#[rustfmt::skip]
const LOG: &[Damage] = &[
    damage("head", |view| in_log(view, |entry| Some((entry.place.at + 7, 0x80))), "log entry 0|key at 0"),
    damage("suffix_length", |view| word_of_entry(view, item_word::SUFFIX_LENGTH_SHIFT + 8), "log entry 0"),
    damage("value_length", |view| word_of_entry(view, item_word::VALUE_LENGTH_SHIFT + 8), "log entry 0"),
    damage("overflow", |view| word_of_entry(view, item_word::OVERFLOW_SHIFT),
        "log entry 0 has a reference|live values"),
    damage("tombstone", |view| in_log(view, |entry| {
        let has_value = entry.item.header.value_bytes() > 0;
        has_value.then(|| bit(entry.place.at + HEAD_BYTES, item_word::TOMBSTONE_SHIFT))
    }), "tombstone 0 has a value"),
    damage("replaces", |view| word_of_entry(view, item_word::REPLACES_SHIFT), "replace flag of log entry 0"),
    damage("repeats", |view| word_of_entry(view, item_word::REPEATS_SHIFT), "repeat flag of log entry 0"),
    damage("padding of the item word", |view| word_of_entry(view, item_word::PADDING_SHIFT),
        "flags of log entry 0"),
    damage("padding", |view| in_log(view, |entry| {
        let end = entry.place.at + entry.bytes();
        (entry.padding_bytes() > 0).then_some((end - 1, 1))
    }), "padding of log entry 0"),
    damage("back_pointer", |view| in_log_word(view, log_word::BACK_POINTER_SHIFT),
        "back pointer of log entry 0"),
    damage("back_pointer beyond", |view| in_log_word(view, log_word::BACK_POINTER_SHIFT + 11),
        "back pointer of log entry 0"),
    damage("order_hint", |view| in_log_word(view, log_word::ORDER_HINT_SHIFT), "order hint of log entry 0"),
    damage("entry_offset", |view| in_log_word(view, log_word::ENTRY_OFFSET_SHIFT), "log entry 0 begins"),
    damage("version_delta",
        |view| in_log_word(view, log_word::VERSION_DELTA_SHIFT + log_word::VERSION_DELTA_BITS - 1),
        "is not released|is older than"),
    damage("repeats of the log word", |view| in_log_word(view, log_word::REPEATS_SHIFT),
        "log word of entry 0"),
];

/// Applies a damage to some nodes of a tree, and returns what `verify` finds.
fn found_with(forest: &Forest, root: Root, damage: &Damage) -> Vec<String> {
    const NODES: usize = 4;
    let damaged = |lid| {
        with_view(forest, lid, |view, bytes| {
            let (offset, bits) = (damage.place)(view)?;
            let mut damaged = bytes.to_vec();
            damaged[offset] ^= bits;
            Some((lid, damaged))
        })
    };
    let damaged = lids(forest, root).into_iter().filter_map(damaged).take(NODES);
    let found = |(lid, bytes): (_, Vec<u8>)| match verify_with(forest, root, lid, &bytes) {
        Ok(()) => "nothing".to_owned(),
        Err(violation) => violation.description,
    };
    damaged.map(found).collect()
}

#[test]
fn each_damaged_field_is_named() {
    let (forests, mut wrong) = (KINDS.each_ref().map(forest), Vec::new());
    for damage in [HEADER, COLUMN_FIELDS, ITEMS, LOG].into_iter().flatten() {
        let of_forest = |(forest, root): &_| found_with(forest, *root, damage);
        let found: Vec<String> = forests.iter().flat_map(of_forest).collect();
        assert!(!found.is_empty(), "no node has the field {}", damage.field);
        let is_named = |found: &String| damage.names.split('|').any(|name| found.contains(name));
        let others = found.into_iter().filter(|found| !is_named(found));
        wrong.extend(others.map(|found| format!("{}: {found}", damage.field)));
    }
    assert!(wrong.is_empty(), "damaged fields, and what was found instead: {wrong:#?}");
}

/// Returns what `verify` finds if the first reference in a tree is another one.
fn found_with_reference(other: fn(&[u8]) -> Vec<u8>) -> String {
    let (forest, root) = forest(&KINDS[3]);
    let references: Vec<_> = lids(&forest, root)
        .into_iter()
        .filter_map(|lid| {
            with_view(&forest, lid, |view, bytes| {
                let at = reference(view)?;
                Some((lid, at, bytes[at..at + value_reference::SIZE].to_vec()))
            })
        })
        .collect();
    let (lid, at, _) = &references[0];
    let mut bytes = with_view(&forest, *lid, |_, bytes| bytes.to_vec());
    bytes[*at..*at + value_reference::SIZE].copy_from_slice(&other(&references[1].2));
    replace(&forest, *lid, &bytes);
    forest.verify(&[root]).unwrap_err().description
}

#[test]
fn an_overflow_value_belongs_to_one_pair() {
    let found = found_with_reference(<[u8]>::to_vec);
    assert!(found.contains("belongs to two pairs"), "{found}");
}

#[test]
fn no_overflow_value_is_at_address_zero() {
    let found =
        found_with_reference(|reference| [&[0; value_reference::ADDRESS_BYTES], &reference[6..]].concat());
    assert!(found.contains("has a reference to address 0"), "{found}");
}

/// Without the flags that tell references from other values, the items of a leaf have equal lengths.
#[test]
fn items_of_equal_lengths_have_a_stride() {
    let (forest, root) = forest(&Pairs { keys: [4; 3], values: [200; 3] });
    let flagless = |lid| {
        with_view(&forest, lid, |view, bytes| {
            let mut bytes = bytes.to_vec();
            for index in (0..view.sorted_count()).filter(|_| view.is_leaf()) {
                let (offset, flag) = bit(view.columns().item_offset(index), item_word::OVERFLOW_SHIFT);
                bytes[offset] &= !flag;
            }
            (view.is_leaf() && view.sorted_count() > 1).then_some((lid, bytes))
        })
    };
    let (lid, bytes) = lids(&forest, root).into_iter().find_map(flagless).unwrap();
    let found = verify_with(&forest, root, lid, &bytes).unwrap_err().description;
    assert!(found.contains("items with Equal") && found.contains("stride None"), "{found}");
}
