//! Values made of the bits of others.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, is};
use crate::command::{Command, CommandForm, Keys};
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "bitop",
    arity: -4,
    keys: Keys::FromSecond,
    form: CommandForm::Update(bitop),
    usage: "AND | OR | XOR | NOT | DIFF | DIFF1 | ANDOR | ONE destination key [key ...]",
    summary: "Stores what an operation makes of the bits of values: how many bytes.",
}];

/// What becomes of the bits at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    And,
    Or,
    Xor,
    Not,
    /// Those of the first that no other has.
    Diff,
    /// Those of others that the first has not.
    Diff1,
    /// Those of the first that another has.
    AndOr,
    /// Those that exactly one has.
    One,
}

const OPERATIONS: [(&str, Operation); 8] = [
    ("AND", Operation::And),
    ("OR", Operation::Or),
    ("XOR", Operation::Xor),
    ("NOT", Operation::Not),
    ("DIFF", Operation::Diff),
    ("DIFF1", Operation::Diff1),
    ("ANDOR", Operation::AndOr),
    ("ONE", Operation::One),
];

/// What was made of the values so far. A shorter value is one with clear bits at its end.
struct Folded {
    operation: Operation,
    bytes: Vec<u8>,
    /// Beside that: of `DIFF` and its like the first value, of `ONE` the bits that several have.
    beside: Vec<u8>,
}

impl Folded {
    fn first(operation: Operation, data: &[u8]) -> Self {
        let data = data.to_vec();
        match operation {
            Operation::Diff | Operation::Diff1 | Operation::AndOr => {
                Self { operation, bytes: Vec::new(), beside: data }
            }
            _ => Self { operation, bytes: data, beside: Vec::new() },
        }
    }

    fn add(&mut self, data: &[u8]) {
        let length = self.bytes.len().max(data.len());
        self.bytes.resize(length, 0);
        match self.operation {
            Operation::And => {
                self.bytes[data.len()..].fill(0);
                merge(&mut self.bytes, data, |byte, other| byte & other);
            }
            Operation::Xor => merge(&mut self.bytes, data, |byte, other| byte ^ other),
            Operation::One => {
                self.beside.resize(length, 0);
                for ((several, byte), other) in self.beside.iter_mut().zip(&self.bytes).zip(data) {
                    *several |= byte & other;
                }
                merge(&mut self.bytes, data, |byte, other| byte | other);
            }
            _ => merge(&mut self.bytes, data, |byte, other| byte | other),
        }
    }

    fn finish(self) -> Vec<u8> {
        let Self { operation, mut bytes, mut beside } = self;
        let length = bytes.len().max(beside.len());
        bytes.resize(length, 0);
        beside.resize(length, 0);
        match operation {
            Operation::Not => bytes.iter_mut().for_each(|byte| *byte = !*byte),
            Operation::Diff => merge(&mut bytes, &beside, |others, first| first & !others),
            Operation::Diff1 | Operation::One => merge(&mut bytes, &beside, |byte, beside| byte & !beside),
            Operation::AndOr => merge(&mut bytes, &beside, |others, first| others & first),
            Operation::And | Operation::Or | Operation::Xor => {}
        }
        bytes
    }
}

fn merge(bytes: &mut [u8], others: &[u8], one: impl Fn(u8, u8) -> u8) {
    bytes.iter_mut().zip(others).for_each(|(byte, other)| *byte = one(*byte, *other));
}

fn bitop(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let named = OPERATIONS.iter().find(|(name, _)| is(&arguments[1], name));
    let (name, operation) = *named.ok_or(Failure::Syntax)?;
    let (target, keys) = (&arguments[2], arguments.from(3));
    if operation == Operation::Not && keys.len() != 1 {
        return Err(Failure::other("BITOP NOT must be called with a single source key."));
    }
    let is_of_first = matches!(operation, Operation::Diff | Operation::Diff1 | Operation::AndOr);
    if is_of_first && keys.len() < 2 {
        return Err(Failure::other(format!("BITOP {name} must be called with at least two source keys.")));
    }
    let mut folded: Option<Folded> = None;
    for key in keys.iter() {
        let data = keyspace.get(key)?.map_or(&[][..], |found| found.data);
        match &mut folded {
            None => folded = Some(Folded::first(operation, data)),
            Some(folded) => folded.add(data),
        }
    }
    let bytes = folded.map_or_else(Vec::new, Folded::finish);
    replies.integer(bytes.len() as i64);
    if bytes.is_empty() {
        keyspace.delete(target);
        return Ok(());
    }
    keyspace.put(target, &bytes, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an operation makes of one bit of each of some values.
    fn of_bits(operation: Operation, bits: &[bool]) -> bool {
        let (first, others) = (bits[0], bits[1..].contains(&true));
        let set = bits.iter().filter(|bit| **bit).count();
        match operation {
            Operation::And => set == bits.len(),
            Operation::Or => set > 0,
            Operation::Xor => set % 2 == 1,
            Operation::Not => !first,
            Operation::Diff => first && !others,
            Operation::Diff1 => !first && others,
            Operation::AndOr => first && others,
            Operation::One => set == 1,
        }
    }

    #[test]
    fn every_operation_makes_of_all_combinations_what_it_says() {
        // Eight values, of which the bits of one place are those of a number from 0 to 255.
        let value = |at: u32| -> Vec<u8> {
            let bit = |number: u32| number >> at & 1;
            (0..32).map(|byte| (0..8).fold(0, |bits, low| bits << 1 | bit(8 * byte + low) as u8)).collect()
        };
        for (name, operation) in OPERATIONS {
            for values in 1..=8 {
                if operation == Operation::Not && values > 1 {
                    continue;
                }
                let mut folded = Folded::first(operation, &value(0));
                (1..values).for_each(|at| folded.add(&value(at)));
                let bytes = folded.finish();
                for number in 0..256_u32 {
                    let bits: Vec<_> = (0..values).map(|at| number >> at & 1 == 1).collect();
                    let bit = bytes[number as usize / 8] >> (7 - number % 8) & 1 == 1;
                    assert_eq!(bit, of_bits(operation, &bits), "{name} {bits:?}");
                }
            }
        }
    }

    #[test]
    fn a_shorter_value_has_clear_bits_at_its_end() {
        let expected: [(Operation, [u8; 3], [u8; 3]); 7] = [
            (Operation::And, [1, 0, 0], [1, 0, 0]),
            (Operation::Or, [3, 2, 4], [3, 2, 4]),
            (Operation::Xor, [2, 2, 4], [2, 2, 4]),
            (Operation::Diff, [0, 0, 0], [2, 2, 4]),
            (Operation::Diff1, [2, 2, 4], [0, 0, 0]),
            (Operation::AndOr, [1, 0, 0], [1, 0, 0]),
            (Operation::One, [2, 2, 4], [2, 2, 4]),
        ];
        for (operation, short_first, long_first) in expected {
            for (values, expected) in
                [([&[1][..], &[3, 2, 4]], short_first), ([&[3, 2, 4], &[1]], long_first)]
            {
                let mut folded = Folded::first(operation, values[0]);
                folded.add(values[1]);
                assert_eq!(folded.finish(), expected, "{operation:?} {values:?}");
            }
        }
    }
}
