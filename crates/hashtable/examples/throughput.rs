//! Times operations of one kind on an unordered table beside random reads of lines, and counts instructions.
//!
//! ```text
//! cargo run --release -p honeycomb-hashtable --example throughput -- get 20000000 8
//! ```
//! Arguments: kind (`get`, `put`, `increment`, `one-get`, `one-put`; `many` and `with` get keys of eight
//! or 16 bytes and pass their values to a function), number of pairs, bytes of key and of value (8 or more),
//! number of threads, fill in percent, longest inline pair, number of operations. With the last one,
//! `valgrind --tool=callgrind --toggle-collect="*Workload*batch*"` counts instructions.

use std::hint::black_box;
use std::time::Instant;

use honeycomb_hashtable::{Answers, BuiltIn, Element, Functions, Operation, Request, Table, TableConfig};
use honeycomb_memory::{Memory, MemoryConfig};

/// Operations of a batch.
const BATCH: usize = 256;
/// Operations of a thread by default.
const OPERATIONS: u64 = 8_000_000;

type TestTable<'m> = Table<&'m Memory>;

struct Workload {
    kind: String,
    pairs: u64,
    bytes: usize,
}

impl Workload {
    fn key(&self, number: u64) -> Vec<u8> {
        let mut key = vec![0; self.bytes];
        key[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        key
    }

    /// Executes `operations` operations on keys in random order. Returns a checksum.
    fn run(&self, table: &TestTable<'_>, seed: u64, operations: u64) -> u64 {
        let (mut state, mut sum, mut answers) = (seed, 0, Answers::default());
        let mut keys = vec![vec![0; self.bytes]; BATCH];
        for _ in 0..operations / BATCH as u64 {
            for key in &mut keys {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let number = ((u128::from(state) * u128::from(self.pairs)) >> 64) as u64;
                let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                key[..8].copy_from_slice(&mixed.to_le_bytes());
            }
            sum += self.batch(table, &keys, &mut answers);
        }
        sum
    }

    #[inline(never)]
    fn batch(&self, table: &TestTable<'_>, keys: &[Vec<u8>], answers: &mut Answers) -> u64 {
        let one = [1, 0, 0, 0, 0, 0, 0, 0];
        let function = BuiltIn::Add.number(Element::U64);
        let operation = |key| match self.kind.as_str() {
            "get" | "one-get" => Operation::Get,
            "increment" => Operation::UpdateVectorWithScalar { function, operands: &one },
            _ => Operation::Put(key),
        };
        if self.kind == "many" || self.kind == "with" {
            return if self.bytes == 16 {
                self.visit::<16>(table, keys)
            } else {
                self.visit::<8>(table, keys)
            };
        }
        if self.kind.starts_with("one") {
            let (mut out, mut session) = (Vec::new(), table.session());
            for key in keys {
                out.clear();
                black_box(session.apply(key, operation(key), &mut out).unwrap());
            }
            return out.len() as u64;
        }
        let requests: Vec<_> = keys.iter().map(|key| Request { key, operation: operation(key) }).collect();
        table.execute(&requests, answers);
        answers.bytes().len() as u64
    }

    /// Gets values as numbers.
    fn visit<const N: usize>(&self, table: &TestTable<'_>, keys: &[Vec<u8>]) -> u64 {
        let number = |value: &[u8]| value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let keys: Vec<[u8; N]> = keys.iter().filter_map(|key| key.first_chunk().copied()).collect();
        let mut sum = 0_u64;
        if self.kind == "many" {
            let visit = |_, value: Option<&[u8]>| sum = sum.wrapping_add(value.map_or(0, number));
            table.get_many(&keys, visit).unwrap();
        } else {
            let mut session = table.session();
            for key in &keys {
                sum = sum.wrapping_add(session.get_with(key, number).unwrap().unwrap_or(0));
            }
        }
        sum
    }
}

/// Seconds that this thread has used of a processor. Other processes do not affect them much. Zero where the
/// system does not count them.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0.0) / 1e9
}

/// Random reads of lines of a gibibyte, 16 at a time: the limit of the machine. Million a second.
fn random_lines() -> f64 {
    const LINES: usize = 1 << 24;
    let lines = vec![[1_u64; 8]; LINES];
    let (mut state, mut sum) = (1_u64, 0);
    let start = processor_seconds();
    for _ in 0..OPERATIONS {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        sum += lines[(state >> 40) as usize % LINES][0];
    }
    black_box(sum);
    OPERATIONS as f64 / (processor_seconds() - start) / 1e6
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u64| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let kind = arguments.first().map_or("get", String::as_str).to_string();
    let workload = Workload { kind, pairs: number(1, 1_000_000), bytes: number(2, 8) as usize };
    let (threads, operations) = (number(3, 1), number(6, OPERATIONS));
    let arena_bytes = (workload.pairs as usize * (160 + 4 * workload.bytes)).max(64 << 20);
    let memory = Memory::new(MemoryConfig { arena_bytes, ..MemoryConfig::default() }).unwrap();
    let config = TableConfig {
        fill_percent: Some(number(4, 60) as usize),
        inline_pair_bytes_max: number(5, 32) as usize,
        ..TableConfig::default()
    };
    let table = Table::new(&memory, config, Functions::default()).unwrap();
    let mut answers = Answers::default();
    for first in (0..workload.pairs).step_by(BATCH) {
        let keys: Vec<_> =
            (first..workload.pairs.min(first + BATCH as u64)).map(|number| workload.key(number)).collect();
        let put = |key| Request { key, operation: Operation::Put(key) };
        let requests: Vec<_> = keys.iter().map(|key| put(&key[..])).collect();
        table.execute(&requests, &mut answers);
        answers.outcomes().unwrap();
    }
    let start = Instant::now();
    let rate_of_thread = &|thread: u64| {
        black_box(workload.run(&table, thread * 77 + 1, operations));
        operations as f64 / processor_seconds() / 1e6
    };
    let of_processor: f64 = std::thread::scope(|scope| {
        let spawn = |thread| scope.spawn(move || rate_of_thread(thread));
        let threads: Vec<_> = (0..threads).map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let rate = (threads * operations) as f64 / start.elapsed().as_secs_f64() / 1e6;
    let statistics = table.statistics();
    let bytes = (statistics.bucket_page_bytes + statistics.slabs.page_bytes) as f64;
    let lines = random_lines();
    let (kind, size, pairs) = (&workload.kind, workload.bytes, statistics.pairs);
    println!("{kind}: {size} + {size} bytes, {pairs} pairs, {threads} threads: {rate:.1} million a second");
    let per_bucket = pairs as f64 / statistics.buckets as f64;
    println!("{:.1} bytes a pair, {per_bucket:.2} pairs a bucket", bytes / pairs as f64);
    println!("of processor time: {of_processor:.1}, random lines of one thread {lines:.1} million a second");
}
