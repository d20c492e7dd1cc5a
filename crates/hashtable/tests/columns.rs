//! Conditions and folds of columns, beside the same of their values one by one.

use honeycomb_hashtable::{BuiltIn, Condition, Element, Fold, Functions, ValueColumn};
use honeycomb_testing::{Random, seed};

#[test]
fn columns_agree_with_their_values() {
    let mut random = Random::new(seed());
    let mut functions = Functions::default();
    let odd = functions.register_predicate(Element::U16, 0, Box::new(|it, _| it % 2 == 1)).unwrap();
    let halves = functions.register_update(Element::U16, 1, Box::new(|sum, it| (sum / 2) ^ it[0])).unwrap();
    for _ in 0..2000 {
        let (count, value_bytes) = (1 + random.below(200), random.below(21));
        let stride_bytes = value_bytes.max(1) + random.below(4);
        let bytes = random.bytes((count - 1) * stride_bytes + value_bytes);
        let column = ValueColumn::new(&bytes, stride_bytes, value_bytes, count);
        let values: Vec<_> = column.iter().collect();
        assert!(values.len() == count && values.iter().all(|value| value.len() == value_bytes));
        let offset = random.below(14);
        let of = |function: BuiltIn| Element::ALL.map(|element| (function.number(element), element));
        let all = BuiltIn::ALL.into_iter().flat_map(of).collect::<Vec<_>>();
        let (number, element) = all[random.below(all.len())];
        let numbers = if random.chance(10) { [odd, halves] } else { [number; 2] };
        let element = if numbers[0] == odd { Element::U16 } else { element };
        for operands in [0, 1, 2].map(|count| random.bytes(count * element.bytes())) {
            if let Ok(condition) = Condition::new(&functions, numbers[0], &operands, offset) {
                check_condition(&condition, &column);
            }
            let fold = || Fold::new(&functions, numbers[1], &operands, offset);
            if let (Ok(mut by_column), Ok(mut by_value)) = (fold(), fold()) {
                let (first, last) = values.split_at(random.below(count));
                by_column.add(first.iter().copied());
                by_column.add_column(&column);
                by_column.add(last.iter().copied());
                by_value.add([first, &values, last].concat().into_iter());
                let is_rounded = matches!(element, Element::F32 | Element::F64);
                let (by_column, by_value) = (by_column.into_result(), by_value.into_result());
                assert!(is_rounded || by_column == by_value, "function {} at {offset}", numbers[1]);
            }
        }
    }
}

/// The values that satisfy the condition are those of the selections.
fn check_condition(condition: &Condition<'_>, column: &ValueColumn<'_>) {
    let parts = column.parts().flat_map(|part| part.selected(condition.matching(&part)));
    let matching = column.iter().filter(|value| condition.matches(value));
    assert!(parts.eq(matching), "{condition:?}");
}

#[test]
fn a_column_without_first_bytes() {
    let column = ValueColumn::new(b"key1-.key2", 6, 4, 2);
    assert!(column.from(3).unwrap().iter().eq([b"1", b"2"]));
    assert!(column.from(4).unwrap().iter().eq([b"", b""]));
    assert!(column.from(5).is_none());
    assert!(column.all_begin(|three: &[u8; 3]| three == b"key"));
    assert!(!column.all_begin(|four: &[u8; 4]| four == b"key2") && !column.all_begin(|_: &[u8; 5]| true));
}
