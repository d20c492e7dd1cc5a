//! Every built-in function for floating-point numbers, beside a plain loop: also for zeros of both signs,
//! infinities, numbers that overflow, and representations of no number.

mod common;

use honeycomb_hashtable::{BuiltIn, Element, Functions, Operation, TableConfig};
use honeycomb_testing::{Random, seed};

use common::{TestTable, memory};

/// Lengths of vectors: reductions fold eight elements at once.
const COUNTS: [usize; 8] = [0, 1, 7, 8, 9, 17, 40, 300];

macro_rules! tests_of {
    ($module:ident, $float:ty, $bits:ty, $element:expr) => {
        mod $module {
            use super::*;

            /// The element after an update with operands.
            fn updated(function: BuiltIn, number: $float, operands: &[$float]) -> $float {
                let first = operands[0];
                let bitwise = |of: fn($bits, $bits) -> $bits| {
                    <$float>::from_bits(of(number.to_bits(), first.to_bits()))
                };
                let within = |result: $float| {
                    if result >= operands[1] && result <= operands[2] { result } else { number }
                };
                match function {
                    BuiltIn::Add | BuiltIn::SaturatingAdd => number + first,
                    BuiltIn::Subtract | BuiltIn::SaturatingSubtract => number - first,
                    BuiltIn::Minimum if number.is_nan() || first < number => first,
                    BuiltIn::Maximum if number.is_nan() || first > number => first,
                    BuiltIn::Minimum | BuiltIn::Maximum => number,
                    BuiltIn::And => bitwise(|a, b| a & b),
                    BuiltIn::Or => bitwise(|a, b| a | b),
                    BuiltIn::Xor => bitwise(|a, b| a ^ b),
                    BuiltIn::Exchange => first,
                    BuiltIn::CompareAndExchange if number == first => operands[1],
                    BuiltIn::CompareAndExchange => number,
                    BuiltIn::Affine => number * first + operands[1],
                    BuiltIn::BoundedAdd => within(number + first),
                    BuiltIn::BoundedSubtract => within(number - first),
                    BuiltIn::RefillingSubtract if number - first < operands[1] => {
                        number - first + operands[2]
                    }
                    BuiltIn::RefillingSubtract => number - first,
                    predicate => panic!("{predicate:?} is a predicate"),
                }
            }

            fn matches(predicate: BuiltIn, number: $float, operands: &[$float]) -> bool {
                match predicate {
                    BuiltIn::Equal => number == operands[0],
                    BuiltIn::NotEqual => number != operands[0],
                    BuiltIn::Less => number < operands[0],
                    BuiltIn::Greater => number > operands[0],
                    _ => number >= operands[0] && number <= operands[1],
                }
            }

            fn bytes(numbers: &[$float]) -> Vec<u8> {
                numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
            }

            fn numbers(bytes: &[u8]) -> Vec<$float> {
                bytes.as_chunks().0.iter().map(|number| <$float>::from_le_bytes(*number)).collect()
            }

            /// Small integers, whose sums are exact, numbers at limits, and random representations.
            fn number(random: &mut Random) -> $float {
                const LIMITS: [$float; 10] = [
                    0.0,
                    -0.0,
                    <$float>::MAX,
                    <$float>::MIN,
                    <$float>::MIN_POSITIVE,
                    <$float>::EPSILON,
                    <$float>::INFINITY,
                    <$float>::NEG_INFINITY,
                    <$float>::NAN,
                    -<$float>::NAN,
                ];
                match random.below(3) {
                    0 => random.below(9) as $float - 4.0,
                    1 => random.pick(&LIMITS),
                    _ => <$float>::from_bits(random.next() as $bits),
                }
            }

            /// Equal, apart from the representation of zero and of no number.
            fn check(found: &[u8], expected: &[$float], case: &str) {
                let found = numbers(found);
                let is_same = |(a, b): (&$float, &$float)| a == b || a.is_nan() && b.is_nan();
                let is_equal = found.len() == expected.len() && found.iter().zip(expected).all(is_same);
                assert!(is_equal, "{case}: {found:?} instead of {expected:?}");
            }

            fn apply(table: &TestTable<'_>, operation: Operation<'_>) -> Vec<u8> {
                let mut out = Vec::new();
                table.apply(b"vector", operation, &mut out).unwrap();
                out
            }

            #[test]
            fn updates_and_filters_agree_with_a_loop() {
                let memory = memory(16 << 20);
                let table = TestTable::new(&memory, TableConfig::default(), Functions::default()).unwrap();
                let mut random = Random::new(seed());
                for (built_in, count) in BuiltIn::ALL.iter().flat_map(|one| COUNTS.map(|count| (*one, count)))
                {
                    for _ in 0..8 {
                        let vector: Vec<$float> = (0..count).map(|_| number(&mut random)).collect();
                        let operands: Vec<$float> =
                            (0..built_in.operands()).map(|_| number(&mut random)).collect();
                        let case = format!("{built_in:?} of {vector:?} with {operands:?}");
                        apply(&table, Operation::Put(&bytes(&vector)));
                        let (function, operand_bytes) = (built_in.number($element), bytes(&operands));
                        if built_in.is_predicate() {
                            let filter = Operation::Filter { function, operands: &operand_bytes };
                            let found = apply(&table, filter);
                            let is_in = |one: &$float| matches(built_in, *one, &operands);
                            check(&found, &vector.iter().copied().filter(is_in).collect::<Vec<_>>(), &case);
                            continue;
                        }
                        let update = Operation::UpdateVectorWithScalar { function, operands: &operand_bytes };
                        assert_eq!(apply(&table, update), bytes(&vector), "the original: {case}");
                        let expected = vector.iter().map(|one| updated(built_in, *one, &operands));
                        check(&apply(&table, Operation::Get), &expected.collect::<Vec<_>>(), &case);
                    }
                }
            }

            #[test]
            fn vectors_and_reductions_agree_with_a_loop() {
                let memory = memory(16 << 20);
                let table = TestTable::new(&memory, TableConfig::default(), Functions::default()).unwrap();
                let mut random = Random::new(seed());
                let binary =
                    BuiltIn::ALL.into_iter().filter(|one| one.operands() == 1 && !one.is_predicate());
                for (built_in, count) in binary.flat_map(|one| COUNTS.map(|count| (one, count))) {
                    let any: Vec<$float> = (0..count).map(|_| number(&mut random)).collect();
                    let other: Vec<$float> = (0..count).map(|_| number(&mut random)).collect();
                    let (case, function) = (format!("{built_in:?} of {any:?}"), built_in.number($element));
                    apply(&table, Operation::Put(&bytes(&any)));
                    let vector = bytes(&other);
                    apply(&table, Operation::UpdateVectorWithVector { function, vector: &vector });
                    let pairs = any.iter().zip(&other);
                    let expected: Vec<_> = pairs.map(|(one, by)| updated(built_in, *one, &[*by])).collect();
                    check(&apply(&table, Operation::Get), &expected, &case);
                    // The order of a sum is not defined, so its numbers are such that no sum is rounded.
                    let sums = built_in == BuiltIn::Add;
                    let exact = |random: &mut Random| random.below(99) as $float - 50.0;
                    let terms: Vec<$float> = match sums {
                        true => (0..count).map(|_| exact(&mut random)).collect(),
                        false => any.clone(),
                    };
                    let initial = if sums { exact(&mut random) } else { number(&mut random) };
                    apply(&table, Operation::Put(&bytes(&terms)));
                    let initial_bytes = bytes(&[initial]);
                    let reduced = apply(&table, Operation::Reduce { function, initial: &initial_bytes });
                    let expected = terms.iter().fold(initial, |sum, one| updated(built_in, sum, &[*one]));
                    check(&reduced, &[expected], &format!("{case} from {initial}"));
                }
            }
        }
    };
}

tests_of!(f32s, f32, u32, Element::F32);
tests_of!(f64s, f64, u64, Element::F64);
