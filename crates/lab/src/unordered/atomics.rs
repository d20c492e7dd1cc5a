//! Threads increment few counters: the unordered index in batches, and its peers with atomic values.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use honeycomb_hashtable::{BuiltIn, Element, Operation, Request};
use rustc_hash::FxBuildHasher;

use super::maps::{ANSWERS, Bytes, Honeycomb};
use crate::map::Failure;
use crate::summary::median;

/// Operations between two looks at the clock.
const BATCH: usize = 1024;
const ONE: [u8; 8] = 1_u64.to_le_bytes();

type Counter = AtomicU64;
type Key = Bytes<8>;

/// A map of counters: increments the counter of each key.
trait Counters: Sync {
    fn increment(&self, keys: &[Key]);
}

impl Counters for Honeycomb {
    fn increment(&self, keys: &[Key]) {
        let function = BuiltIn::Add.number(Element::U64);
        let operation = Operation::UpdateScalar { function, operands: &ONE };
        let requests: Vec<_> = keys.iter().map(|key| Request { key, operation }).collect();
        ANSWERS.with_borrow_mut(|answers| {
            self.table().execute(&requests, answers);
            black_box(answers.bytes().len());
        });
    }
}

impl Counters for papaya::HashMap<Key, Counter, FxBuildHasher> {
    fn increment(&self, keys: &[Key]) {
        let map = self.pin();
        keys.iter().for_each(|key| _ = map.get(key).map(|it| black_box(it.fetch_add(1, Ordering::Relaxed))));
    }
}

impl Counters for scc::HashMap<Key, Counter, FxBuildHasher> {
    fn increment(&self, keys: &[Key]) {
        for key in keys {
            black_box(self.read_sync(key, |_, counter| counter.fetch_add(1, Ordering::Relaxed)));
        }
    }
}

impl Counters for dashmap::DashMap<Key, Counter, FxBuildHasher> {
    fn increment(&self, keys: &[Key]) {
        keys.iter().for_each(|key| _ = self.get(key).map(|it| black_box(it.fetch_add(1, Ordering::Relaxed))));
    }
}

/// Measures increments of 1 to 5 counters by two threads. Returns a table.
pub(super) fn measure(rounds: usize, time: Duration) -> Result<String, Failure> {
    let mut text = String::from("two threads, million increments a second, medians:\n");
    text += "| counters | honeycomb | papaya | scc | dashmap |\n|---|---|---|---|---|\n";
    for count in 1..=5_u64 {
        let keys: Vec<Key> = (0..count).map(|number| number.to_le_bytes()).collect();
        let honeycomb = Honeycomb::new(1, 8, true)?;
        for key in &keys {
            honeycomb.table().apply(key, Operation::Put(&[0; 8]), &mut Vec::new())?;
        }
        let counters = || keys.iter().map(|key| (*key, Counter::new(0)));
        let papaya: papaya::HashMap<_, _, FxBuildHasher> = counters().collect();
        let scc: scc::HashMap<_, _, FxBuildHasher> = counters().collect();
        let dash: dashmap::DashMap<_, _, FxBuildHasher> = counters().collect();
        let maps: [&dyn Counters; 4] = [&honeycomb, &papaya, &scc, &dash];
        let mut rates = [const { Vec::new() }; 4];
        for _ in 0..rounds {
            maps.iter().zip(&mut rates).for_each(|(map, rates)| rates.push(rate(*map, &keys, time)));
        }
        let medians = rates.map(|rates| format!("{:.1}", median(&rates)));
        text += &format!("| {count} | {} |\n", medians.join(" | "));
    }
    Ok(text)
}

/// Million increments a second of two threads.
fn rate(map: &dyn Counters, keys: &[Key], time: Duration) -> f64 {
    let batch: Vec<Key> = (0..BATCH).map(|number| keys[number * 7 % keys.len()]).collect();
    let run = || {
        let (start, mut count) = (Instant::now(), 0);
        while start.elapsed() < time {
            map.increment(&batch);
            count += BATCH;
        }
        count as f64 / start.elapsed().as_secs_f64() / 1e6
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(run);
        run() + other.join().unwrap_or(0.0)
    })
}
