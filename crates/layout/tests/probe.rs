//! Reads known bytes through the generated names. The expected results derive only from layout.toml.

use std::collections::BTreeMap;

use toml::{Table, Value};

/// A field of a struct according to the crate.
struct StructField {
    record: &'static str,
    name: &'static str,
    offset: usize,
    bytes: usize,
    count: usize,
}

/// A field of a word according to the crate.
struct WordField {
    record: &'static str,
    name: &'static str,
    shift: u32,
    bits: u32,
    mask: u64,
    extract: fn(u64) -> u64,
    replace: fn(u64, u64) -> u64,
}

/// Turns the list of names in names/mod.rs into functions that return the values and fields of the crate.
macro_rules! names {
    (
        constants { $($constant:ident: $CONSTANT:ident,)* }
        structs { $($struct:ident { $($field:ident: $OFFSET:ident, $BYTES:ident, $count:expr,)* })* }
        words { $($word:ident {
            $($part:ident, $with:ident: $SHIFT:ident, $BITS:ident, $MASK:ident,)*
        })* }
    ) => {
        pub(crate) fn constants() -> Vec<(&'static str, u64)> {
            vec![$((stringify!($constant), honeycomb_layout::$CONSTANT as u64)),*]
        }

        pub(crate) fn struct_sizes() -> Vec<(&'static str, u64)> {
            vec![$((stringify!($struct), honeycomb_layout::$struct::SIZE as u64)),*]
        }

        pub(crate) fn struct_fields() -> Vec<crate::StructField> {
            let mut fields = Vec::new();
            $({
                use honeycomb_layout::$struct::*;
                $(fields.push(crate::StructField {
                    record: stringify!($struct),
                    name: stringify!($field),
                    offset: $OFFSET,
                    bytes: $BYTES,
                    count: $count,
                });)*
            })*
            fields
        }

        pub(crate) fn word_sizes() -> Vec<(&'static str, u64)> {
            vec![$((stringify!($word), honeycomb_layout::$word::BITS.into())),*]
        }

        pub(crate) fn word_fields() -> Vec<crate::WordField> {
            let mut fields = Vec::new();
            $({
                use honeycomb_layout::$word::*;
                $(fields.push(crate::WordField {
                    record: stringify!($word),
                    name: stringify!($part),
                    shift: $SHIFT,
                    bits: $BITS,
                    mask: $MASK,
                    extract: $part,
                    replace: $with,
                });)*
            })*
            fields
        }
    };
}

mod names;

#[test]
fn constants_match_the_source() {
    assert_eq!(owned(names::constants()), numbers("constant", "value"));
}

#[test]
fn sizes_match_the_source() {
    assert_eq!(owned(names::struct_sizes()), numbers("struct", "size"));
    assert_eq!(owned(names::word_sizes()), numbers("word", "bits"));
}

#[test]
fn struct_fields_match_their_offsets() {
    let mut expected = fields("struct");
    for field in names::struct_fields() {
        let table = expected.remove(&(field.record.into(), field.name.into())).expect(field.name);
        let (offset, bytes) = (number(&table, "offset"), number(&table, "bytes"));
        let count = table.get("count").map_or(1, |_| number(&table, "count"));
        assert_eq!(field.count as u64, count, "{}", field.name);
        for index in 0..count {
            let read = read_counting(field.offset + field.bytes * index as usize, field.bytes);
            // Byte i has the value i modulo 256, so the bytes of the element are consecutive numbers.
            let first = offset + bytes * index;
            let expected = (0..bytes).fold(0, |element, at| element | ((first + at) % 256) << (8 * at));
            assert_eq!(read, expected, "{}.{}[{index}]", field.record, field.name);
        }
    }
    assert!(expected.is_empty(), "no names for {:?}", expected.keys());
}

#[test]
fn word_fields_match_their_shifts() {
    let mut expected = fields("word");
    for field in names::word_fields() {
        let table = expected.remove(&(field.record.into(), field.name.into())).expect(field.name);
        let (shift, bits) = (number(&table, "shift"), number(&table, "bits"));
        let whole = number(&section("word")[field.record], "bits");
        for bit in 0..whole {
            check_bit(&field, bit, (shift..shift + bits).contains(&bit).then(|| bit - shift), whole);
        }
        assert_eq!((u64::from(field.shift), u64::from(field.bits)), (shift, bits), "{}", field.name);
        assert_eq!(field.mask, ones(bits), "{}", field.name);
    }
    assert!(expected.is_empty(), "no names for {:?}", expected.keys());
}

/// Checks that bit `bit` of a word of `whole` bits is bit `inside` of the field, or not part of the field if
/// `inside` is `None`.
fn check_bit(field: &WordField, bit: u64, inside: Option<u64>, whole: u64) {
    let at = format!("{}.{}, bit {bit}", field.record, field.name);
    let others = ones(whole) & !(1 << bit);
    let in_field = inside.map_or(0, |inside| 1 << inside);
    assert_eq!((field.extract)(1 << bit), in_field, "{at}");
    assert_eq!((field.extract)(others), field.mask & !in_field, "{at}");
    if inside.is_some() {
        assert_eq!((field.replace)(0, in_field), 1 << bit, "{at}");
        assert_eq!((field.replace)(ones(whole), field.mask & !in_field), others, "{at}");
    } else {
        assert_eq!((field.replace)(1 << bit, 0), 1 << bit, "{at}");
    }
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "the value is wider than its field")]
fn a_value_wider_than_its_field_panics() {
    honeycomb_layout::lock_and_size::with_lock(0, 2);
}

/// Reads the little-endian number at `offset` of a memory in which byte i has the value i modulo 256.
fn read_counting(offset: usize, bytes: usize) -> u64 {
    let memory: Vec<u8> = (0..offset + bytes).map(|index| index as u8).collect();
    let mut word = [0; 8];
    word[..bytes].copy_from_slice(&memory[offset..]);
    u64::from_le_bytes(word)
}

fn ones(bits: u64) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Returns a section of layout.toml: its records by name.
fn section(kind: &str) -> Table {
    let source: Table = include_str!("../../../layout/layout.toml").parse().expect("layout.toml is TOML");
    source[kind].as_table().expect("a section is a table").clone()
}

/// Returns one number of each record of a section, by the name of the record.
fn numbers(kind: &str, key: &str) -> BTreeMap<String, u64> {
    section(kind).into_iter().map(|(name, table)| (name, number(&table, key))).collect()
}

fn owned(numbers: Vec<(&str, u64)>) -> BTreeMap<String, u64> {
    numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect()
}

/// Returns all fields of a section, by record and name.
fn fields(kind: &str) -> BTreeMap<(String, String), Value> {
    let records = section(kind);
    let of = |(record, table): (&String, &Value)| {
        let fields = table["fields"].as_table().expect("fields is a table").clone();
        let record = record.clone();
        fields.into_iter().map(move |(name, field)| ((record.clone(), name), field))
    };
    records.iter().flat_map(of).collect()
}

fn number(table: &Value, key: &str) -> u64 {
    let number = table[key].as_integer().expect(key);
    number.try_into().expect("no number is negative")
}
