//! The writes of a batch take effect in their order, also for other threads.

mod common;

use std::sync::{Arc, Mutex};

use honeycomb_hashtable::{Answers, Before, Operation, Recorder, Request, TableConfig};
use honeycomb_testing::{Random, seed};

use common::{TestTable, memory};

type Writes = Vec<(Vec<u8>, Vec<u8>)>;

/// The effects in the order in which other threads see them: a table records each of them under its stripe.
#[derive(Clone, Default)]
struct Effects(Arc<Mutex<Writes>>);

impl Recorder for Effects {
    fn record(&self, key: &[u8], value: Option<&[u8]>, before: Before<'_>) {
        assert_eq!(before, Before::Unknown, "nobody has requested it");
        let value = value.expect("nothing is deleted").to_vec();
        self.0.lock().unwrap().push((key.to_vec(), value));
    }

    fn record_clear(&self) {}
}

/// Values of all lengths, in long chains: writes to the first bucket come after some that go further.
#[test]
fn writes_of_a_batch_take_effect_in_their_order() {
    let mut random = Random::new(seed());
    for inline_pair_bytes_max in [0, 20, 50] {
        let fill_percent = random.chance(50).then_some(60);
        let config =
            TableConfig { buckets: 2, inline_pair_bytes_max, fill_percent, ..TableConfig::default() };
        let (memory, effects) = (memory(64 << 20), Effects::default());
        let table = TestTable::new(&memory, config, common::functions().0).unwrap();
        let table = table.recorded_by(Box::new(effects.clone()));
        for count in [1, 15, 16, 17, 32, 100, 300, 300, 300] {
            let writes: Writes = (0..count)
                .map(|_| {
                    let length = [0, 8, 16, 33, 400, 600][random.below(6)];
                    (common::key(random.below(400)), vec![random.next() as u8; length])
                })
                .collect();
            let requests: Vec<_> =
                writes.iter().map(|(key, value)| Request { key, operation: Operation::Put(value) }).collect();
            let mut answers = Answers::default();
            table.execute(&requests, &mut answers);
            answers.outcomes().unwrap();
            let recorded = std::mem::take(&mut *effects.0.lock().unwrap());
            assert!(recorded == writes, "{count} writes");
        }
    }
}
