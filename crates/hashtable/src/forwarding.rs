//! Data forwarding: the operations of a group execute on a copy of the value, each on the result of the
//! previous one, and the last result is stored once (KV-Direct, section 3.3.3). So a thousand increments of
//! one counter load and store its bucket once.

use crate::batch::{Answers, StationRun};
use crate::built_in::update_words;
use crate::error::Error;
use crate::operation::{Effect, Operation, Outcome, Scratch, append, decide};
use crate::recorder::Before;
use crate::station::{Group, Station};

/// The state of a pair after the operations of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Unchanged,
    Changed,
    Absent,
}

impl StationRun<'_> {
    /// Executes the operations of a group on a copy of the value, and stores the last result.
    pub(crate) fn forward(&self, group: &Group<'_>, answers: &mut Answers) -> Result<(), Error> {
        let (index, key) = (self.index, &group.key);
        answers.scratch.current.clear();
        let stripe = index.stripe(key.hash);
        let guard = group.writes.then(|| stripe.lock.lock());
        let (chain, existed) = if group.writes {
            let head = index.head(self.access, key.hash);
            let found = index.find_from(self.access, head, key, Some(&mut answers.scratch.current));
            (Some((head, found)), found.is_some())
        } else {
            (None, index.get(self.access, key, &mut answers.scratch.current).is_some())
        };
        let needs_before = group.writes && index.recording.needs_values_before();
        let value_before = if needs_before { answers.scratch.current.clone() } else { Vec::new() };
        let before = Before::of(needs_before, existed, &value_before);
        let last = self.forward_members(group, existed, answers);
        match (chain, last) {
            (None, _) | (_, Last::Unchanged) | (Some((_, None)), Last::Absent) => {}
            (Some((_, Some(found))), Last::Absent) => index.remove(self.access, key, &found),
            (Some((head, found)), Last::Changed) => {
                index.store(self.access, key, head, found, &answers.scratch.current)?;
            }
        }
        match last {
            Last::Unchanged => {}
            Last::Absent if !existed => {}
            Last::Absent => index.recording.record(key.bytes, Effect::Delete, &[], before),
            Last::Changed => {
                index.recording.record(key.bytes, Effect::Store(&answers.scratch.current), &[], before);
            }
        }
        drop(guard);
        match last {
            Last::Changed if !existed => index.grow_if_full(self.access, index.stripe_number(key.hash)),
            Last::Absent if existed => index.shrink_if_sparse(self.access, index.stripe_number(key.hash)),
            _ => {}
        }
        Ok(())
    }

    /// Executes the operations of a group on the current value. Returns what is left to do.
    fn forward_members(&self, group: &Group<'_>, existed: bool, answers: &mut Answers) -> Last {
        let Answers { outcomes, bytes, station, scratch, .. } = answers;
        let (mut exists, mut last) = (existed, Last::Unchanged);
        let mut next = Some(usize::from(group.first));
        while let Some(member) = next {
            if exists {
                let run = self.update_run(member, station, &mut scratch.current, outcomes, bytes);
                if let Some(after) = run {
                    (next, last) = (after, Last::Changed);
                    continue;
                }
            }
            next = station.after(member);
            let Scratch { current, computed } = scratch;
            let value = exists.then_some(&current[..]);
            let operation = &self.requests[member].operation;
            let (effect, outcome) = decide(operation, value, &self.index.functions, computed, bytes);
            outcomes[self.first + member] = outcome;
            match effect {
                Effect::Nothing => continue,
                Effect::Store(value) => {
                    current.clear();
                    current.extend_from_slice(value);
                }
                Effect::StoreComputed => std::mem::swap(current, computed),
                Effect::Delete => current.clear(),
            }
            exists = effect != Effect::Delete;
            last = if exists { Last::Changed } else { Last::Absent };
        }
        last
    }

    /// Executes updates of an integer of eight bytes with the same built-in function, from an operation of a
    /// group on, so that the number stays in a register. Returns the operation after them; `None` if the
    /// first operation is another one.
    fn update_run(
        &self,
        first: usize,
        station: &Station,
        value: &mut [u8],
        outcomes: &mut [Outcome],
        bytes: &mut Vec<u8>,
    ) -> Option<Option<usize>> {
        let (function, _) = word_update(&self.requests[first].operation)?;
        let (word, mut next) = (value.try_into().ok()?, Some(first));
        let is_known = update_words(function, word, |original| {
            let member = next?;
            let (same, operand) = word_update(&self.requests[member].operation)?;
            if same != function {
                return None;
            }
            outcomes[self.first + member] = Outcome::Original(append(bytes, &original));
            next = station.after(member);
            Some(operand)
        });
        is_known.then_some(next)
    }
}

/// The function and the operand of an update of a scalar, if the operand has eight bytes.
#[inline]
fn word_update(operation: &Operation<'_>) -> Option<(u32, [u8; 8])> {
    match *operation {
        Operation::UpdateScalar { function, operands }
        | Operation::UpdateVectorWithScalar { function, operands } => {
            Some((function, operands.try_into().ok()?))
        }
        _ => None,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use honeycomb_memory::{Memory, MemoryConfig};

    use crate::{Answers, BuiltIn, Element, Functions, Operation, Outcome, Request, Table, TableConfig};

    /// Each write in place or of a bucket takes the lock of the stripe, and its number rises by two then.
    #[test]
    fn a_thousand_increments_write_the_counter_once() {
        let config = MemoryConfig { arena_bytes: 16 << 20, huge_pages: false, ..MemoryConfig::default() };
        let memory = Memory::new(config).unwrap();
        let config = TableConfig { buckets: 1, ..TableConfig::default() };
        let table = Table::new(&memory, config, Functions::default()).unwrap();
        table.apply(b"counter", Operation::Put(&5_u64.to_le_bytes()), &mut Vec::new()).unwrap();
        let (function, one) = (BuiltIn::Add.number(Element::U64), 1_u64.to_le_bytes());
        let increment = Operation::UpdateScalar { function, operands: &one };
        let requests = [Request { key: &b"counter"[..], operation: increment }; 1000];
        let (lock, mut answers) = (&table.index.stripes[0].lock, Answers::default());
        let before = lock.begin();
        table.execute(&requests, &mut answers);
        assert_eq!(lock.begin() - before, 2);
        let mut out = Vec::new();
        let found = table.apply(b"counter", Operation::Get, &mut out).unwrap();
        assert!(matches!(found, Outcome::Found(_)) && out == 1005_u64.to_le_bytes());
    }
}
