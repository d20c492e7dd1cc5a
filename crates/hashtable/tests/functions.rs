//! Every built-in function for every type of integers, beside plain arithmetic on numbers; and the checks of
//! arguments.

mod common;

use honeycomb_hashtable::{
    Answers, BuiltIn, Element, Error, Functions, Operation, Outcome, Request, TableConfig,
};
use honeycomb_testing::{Random, seed};

use common::{TestTable, memory};

/// Bounds of the integers of a type: lowest, highest.
fn bounds(element: Element) -> Option<(i128, i128)> {
    let bits = 8 * element.bytes() as u32;
    match element {
        Element::F32 | Element::F64 => None,
        Element::U8 | Element::U16 | Element::U32 | Element::U64 => Some((0, (1 << bits) - 1)),
        _ => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
    }
}

fn wrap(element: Element, number: i128) -> i128 {
    let (lowest, highest) = bounds(element).unwrap();
    (number - lowest).rem_euclid(highest - lowest + 1) + lowest
}

/// The result for integers, in arithmetic without limits.
fn expected(function: BuiltIn, element: Element, number: i128, operands: &[i128]) -> i128 {
    let (lowest, highest) = bounds(element).unwrap();
    let first = operands[0];
    let within = |result: i128| {
        let allowed = result >= lowest.max(operands[1]) && result <= highest.min(operands[2]);
        if allowed { result } else { number }
    };
    match function {
        BuiltIn::Add => wrap(element, number + first),
        BuiltIn::Subtract => wrap(element, number - first),
        BuiltIn::Minimum => number.min(first),
        BuiltIn::Maximum => number.max(first),
        BuiltIn::And => number & first,
        BuiltIn::Or => number | first,
        BuiltIn::Xor => number ^ first,
        BuiltIn::Exchange => first,
        BuiltIn::SaturatingAdd => (number + first).clamp(lowest, highest),
        BuiltIn::SaturatingSubtract => (number - first).clamp(lowest, highest),
        BuiltIn::CompareAndExchange => {
            if number == first {
                operands[1]
            } else {
                number
            }
        }
        BuiltIn::Affine => wrap(element, wrap(element, number.wrapping_mul(first)) + operands[1]),
        BuiltIn::BoundedAdd => within(number + first),
        BuiltIn::BoundedSubtract => within(number - first),
        BuiltIn::RefillingSubtract => {
            let left = number - first;
            let is_low = left < operands[1] || left < lowest || left > highest;
            wrap(element, if is_low { left + operands[2] } else { left })
        }
        BuiltIn::Equal => i128::from(number == first),
        BuiltIn::NotEqual => i128::from(number != first),
        BuiltIn::Less => i128::from(number < first),
        BuiltIn::Greater => i128::from(number > first),
        BuiltIn::Between => i128::from(number >= first && number <= operands[1]),
    }
}

fn encode(element: Element, numbers: &[i128]) -> Vec<u8> {
    let one = |number: &i128| number.to_le_bytes()[..element.bytes()].to_vec();
    numbers.iter().flat_map(one).collect()
}

/// Random numbers, among them many small ones and the bounds.
fn number(element: Element, random: &mut Random) -> i128 {
    let (lowest, highest) = bounds(element).unwrap();
    match random.below(4) {
        0 => random.pick(&[lowest, highest, 0.max(lowest)]),
        1 => (random.below(8) as i128).min(highest),
        _ => wrap(element, i128::from(random.next())),
    }
}

fn value(table: &TestTable<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    table.apply(b"vector", Operation::Get, &mut out).unwrap();
    out
}

fn put(table: &TestTable<'_>, value: &[u8]) {
    table.apply(b"vector", Operation::Put(value), &mut Vec::new()).unwrap();
}

fn table(memory: &honeycomb_memory::Memory) -> TestTable<'_> {
    TestTable::new(memory, TableConfig::default(), Functions::default()).unwrap()
}

#[test]
fn functions_of_integers_agree_with_plain_arithmetic() {
    let memory = memory(16 << 20);
    let table = table(&memory);
    let mut random = Random::new(seed());
    for element in Element::ALL.into_iter().filter(|element| bounds(*element).is_some()) {
        for function in BuiltIn::ALL {
            for case in 0..40 {
                // Some values are longer than a slab.
                let count = random.below(if case % 4 == 0 { 700 } else { 40 });
                let numbers: Vec<i128> = (0..count).map(|_| number(element, &mut random)).collect();
                let operands: Vec<i128> =
                    (0..function.operands()).map(|_| number(element, &mut random)).collect();
                check(&table, function, element, &numbers, &operands);
            }
        }
    }
}

fn check(table: &TestTable<'_>, built_in: BuiltIn, element: Element, numbers: &[i128], operands: &[i128]) {
    let original = encode(element, numbers);
    put(table, &original);
    let (function, operand_bytes) = (built_in.number(element), encode(element, operands));
    let case = format!("{built_in:?} of {element:?}: {numbers:?} and {operands:?}");
    let results = numbers.iter().map(|number| expected(built_in, element, *number, operands));
    let mut out = Vec::new();
    if built_in.is_predicate() {
        let filter = Operation::Filter { function, operands: &operand_bytes };
        table.apply(b"vector", filter, &mut out).unwrap();
        let matching = numbers.iter().zip(results).filter(|(_, matches)| *matches == 1);
        assert_eq!(out, encode(element, &matching.map(|(number, _)| *number).collect::<Vec<_>>()), "{case}");
        return;
    }
    let update = Operation::UpdateVectorWithScalar { function, operands: &operand_bytes };
    table.apply(b"vector", update, &mut out).unwrap();
    assert_eq!(out, original, "the original is returned: {case}");
    assert_eq!(value(table), encode(element, &results.collect::<Vec<_>>()), "{case}");
    if built_in.operands() != 1 {
        return;
    }
    put(table, &original);
    let vector: Vec<i128> = numbers.iter().rev().copied().collect();
    let pairs = numbers.iter().zip(&vector);
    let results: Vec<i128> = pairs.map(|(a, b)| expected(built_in, element, *a, &[*b])).collect();
    let vector = encode(element, &vector);
    let update = Operation::UpdateVectorWithVector { function, vector: &vector };
    table.apply(b"vector", update, &mut Vec::new()).unwrap();
    assert_eq!(value(table), encode(element, &results), "{case}");
    put(table, &original);
    let reduced = numbers.iter().fold(operands[0], |sum, it| expected(built_in, element, sum, &[*it]));
    out.clear();
    table.apply(b"vector", Operation::Reduce { function, initial: &operand_bytes }, &mut out).unwrap();
    assert_eq!(out, encode(element, &[reduced]), "reduce: {case}");
}

/// Updates of one counter in a batch, with functions that change between them, beside plain arithmetic.
#[test]
fn updates_of_one_counter_in_a_batch_are_executed_in_order() {
    let memory = memory(16 << 20);
    let (table, mut random) = (table(&memory), Random::new(seed()));
    let choices = [BuiltIn::Add, BuiltIn::Xor, BuiltIn::Maximum, BuiltIn::Subtract];
    for _ in 0..100 {
        put(&table, &7_u64.to_le_bytes());
        let steps: Vec<(BuiltIn, [u8; 8])> = (0..random.below(20))
            .map(|_| (choices[random.below(choices.len())], random.next().to_le_bytes()))
            .collect();
        let requests: Vec<Request<'_>> = steps
            .iter()
            .map(|(function, operands)| {
                let function = function.number(Element::U64);
                Request { key: b"vector", operation: Operation::UpdateScalar { function, operands } }
            })
            .collect();
        let mut answers = Answers::default();
        table.execute(&requests, &mut answers);
        let mut expected = 7_u64;
        for (step, outcome) in steps.iter().zip(answers.outcomes().unwrap()) {
            let Outcome::Original(span) = outcome else { panic!("{outcome:?}") };
            assert_eq!(answers.value(*span), expected.to_le_bytes(), "{steps:?}");
            let operand = u64::from_le_bytes(step.1);
            expected = match step.0 {
                BuiltIn::Add => expected.wrapping_add(operand),
                BuiltIn::Xor => expected ^ operand,
                BuiltIn::Maximum => expected.max(operand),
                _ => expected.wrapping_sub(operand),
            };
        }
        assert_eq!(value(&table), expected.to_le_bytes(), "{steps:?}");
    }
}

/// Lengths and numbers at, below and above their limits.
#[test]
fn invalid_arguments_are_errors() {
    let memory = memory(64 << 20);
    let table = table(&memory);
    let apply = |key: &[u8], operation: Operation<'_>| table.apply(key, operation, &mut Vec::new());
    for (length, valid) in [(0, false), (1, true), (459, true), (460, true), (461, false)] {
        let result = apply(&vec![1; length], Operation::Put(b"v"));
        assert_eq!(matches!(result, Err(Error::KeyLength { .. })), !valid, "{length}");
    }
    let longest = vec![3; 16 << 20];
    assert!(apply(b"long", Operation::Put(&longest)).is_ok());
    let mut out = Vec::new();
    table.apply(b"long", Operation::Get, &mut out).unwrap();
    assert!(out == longest);
    let longer = vec![3; (16 << 20) + 1];
    assert!(matches!(apply(b"long", Operation::Put(&longer)), Err(Error::ValueLength { .. })));
    let (add, equal) = (BuiltIn::Add.number(Element::U16), BuiltIn::Equal.number(Element::U16));
    let scalar = |function, operands| apply(b"k", Operation::UpdateScalar { function, operands });
    assert!(matches!(scalar(add, &[1]), Err(Error::OperandLength { expected: 2, .. })));
    assert!(matches!(scalar(add, &[1, 2, 3]), Err(Error::OperandLength { .. })));
    assert!(matches!(scalar(add, &[1, 2]), Ok(Outcome::Absent)));
    assert!(matches!(scalar(equal, &[1, 2]), Err(Error::WrongFunction { .. })));
    for unknown in [10, 15, 20 * 16, 1023, 1024, u32::MAX] {
        assert!(matches!(scalar(unknown, &[]), Err(Error::UnknownFunction { .. })), "{unknown}");
    }
    let affine = BuiltIn::Affine.number(Element::U8);
    let vector = Operation::UpdateVectorWithVector { function: affine, vector: &[1] };
    assert!(matches!(apply(b"k", vector), Err(Error::NotBinary { operands: 2, .. })));
    let reduce = Operation::Reduce { function: affine, initial: &[1] };
    assert!(matches!(apply(b"k", reduce), Err(Error::NotBinary { .. })));
    apply(b"k", Operation::Put(&[1, 2, 3])).unwrap();
    assert!(matches!(scalar(add, &[1, 2]), Ok(Outcome::NotElements { bytes: 3 })));
    let update = Box::new(|element: u64, _: &[u64]| element);
    let mut functions = Functions::default();
    assert!(functions.register_update(Element::U8, 3, update.clone()).is_ok());
    let result = functions.register_update(Element::U8, 4, update);
    assert!(matches!(result, Err(Error::OperandCount { count: 4, max: 3 })));
}

/// A registered function sees no bits above the width of its element, also of its own earlier results.
#[test]
fn results_of_registered_functions_have_the_width_of_elements() {
    let memory = memory(64 << 20);
    let sum = |element: u64, operands: &[u64]| element + operands[0] + 7 * ((element | operands[0]) >> 8);
    let mut functions = Functions::default();
    let function = functions.register_update(Element::U8, 1, Box::new(sum)).unwrap();
    let table = TestTable::new(&memory, TableConfig::default(), functions).unwrap();
    let apply = |operation| {
        let mut out = Vec::new();
        table.apply(b"k", operation, &mut out).unwrap();
        out
    };
    apply(Operation::Put(&[200, 100, 50]));
    assert_eq!(apply(Operation::Reduce { function, initial: &[9] }), [(9 + 200 + 100 + 50_u64) as u8]);
    apply(Operation::UpdateVectorWithScalar { function, operands: &[100] });
    apply(Operation::UpdateVectorWithVector { function, vector: &[1, 100, 200] });
    assert_eq!(apply(Operation::Get), [300_u64 + 1, 200 + 100, 150 + 200].map(|sum| sum as u8));
}

#[test]
fn invalid_parameters_are_errors() {
    let memory = memory(16 << 20);
    let valid = |config: TableConfig| match TestTable::new(&memory, config, Functions::default()) {
        Ok(_) => true,
        Err(Error::InvalidConfig { .. }) => false,
        Err(other) => panic!("{other}"),
    };
    let default = TableConfig::default;
    for (buckets, expected) in [(0, false), (1, true), (2, true), (3, false), (1 << 25, false)] {
        assert_eq!(valid(TableConfig { buckets, ..default() }), expected, "{buckets} buckets");
    }
    for (inline_pair_bytes_max, expected) in [(0, true), (50, true), (51, false)] {
        assert_eq!(valid(TableConfig { inline_pair_bytes_max, ..default() }), expected);
    }
    for (percent, expected) in [(0, false), (1, true), (100, true), (101, false)] {
        assert_eq!(valid(TableConfig { fill_percent: Some(percent), ..default() }), expected);
    }
}
