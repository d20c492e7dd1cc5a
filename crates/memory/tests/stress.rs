//! Readers and writers in a small arena, so that buffers are reused as soon as possible.
#![cfg(not(loom))]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_memory::{BusAddress, Lid, Memory, MemoryError, Node, Retired};
use honeycomb_testing::nodes::{UNIT, memory, new_node, try_map_node};
use honeycomb_testing::{Random, seed};

const RUN: Duration = Duration::from_millis(1500);

/// Checks that all bytes of a node are equal, as its writer has written them.
fn check_body(node: Node<'_>) {
    let bytes = node.published().bytes();
    assert!(bytes.iter().all(|byte| byte == &bytes[0]), "a buffer was reused under a reader");
}

/// Replaces a node, unless another thread has locked it. Retires the previous version at once.
fn replace(memory: &Memory, lid: Lid, byte: u8) {
    let pin = memory.pin();
    let node = memory.node(&pin, lid);
    let Some(locked) = node.try_lock(node.lock_and_size()) else { return };
    match try_map_node(memory, lid, &[byte; 1000], Some(node.address())) {
        Ok(()) => {
            locked.abandon();
            memory.retire([Retired::Node(node.address())]);
        }
        // Readers that do not run can prevent all memory from being reclaimed.
        Err(_) => thread::yield_now(),
    }
}

#[test]
fn nodes_are_not_reused_under_readers() {
    let memory = memory(192);
    let lids: Vec<Lid> = (0..8).map(|byte| new_node(&memory, &[byte; 1000])).collect();
    let (end, seed) = (Instant::now() + RUN, seed());
    let reads = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..2 {
            let (memory, lids, reads) = (&memory, &lids, &reads);
            let mut random = Random::new(seed + thread);
            scope.spawn(move || {
                while Instant::now() < end {
                    let pin = memory.pin();
                    for _ in 0..16 {
                        check_body(memory.node(&pin, lids[random.below(lids.len())]));
                    }
                    reads.fetch_add(16, Ordering::Relaxed);
                }
            });
            let mut random = Random::new(seed + 100 + thread);
            scope.spawn(move || {
                while Instant::now() < end {
                    replace(memory, lids[random.below(lids.len())], random.next() as u8);
                }
            });
        }
    });
    memory.reclaim();
    let accounting = memory.accounting();
    accounting.assert_complete();
    assert_eq!((accounting.live_nodes, accounting.retired_nodes), (lids.len(), 0));
    let replaced = memory.retired_bytes_total() / memory.node_bytes() as u64;
    println!("{} reads, {replaced} nodes replaced", reads.into_inner());
    assert!(replaced > 1000, "buffers were reused");
}

/// Several threads allocate and retire values of all lengths. A shared word refers to the newest value of
/// each thread.
#[test]
fn values_are_not_reused_under_readers() {
    let memory = memory(1024);
    let newest: [AtomicU64; 3] = std::array::from_fn(|_| AtomicU64::new(0));
    let done = AtomicBool::new(false);
    let seed = seed();
    thread::scope(|scope| {
        let (memory, newest, done) = (&memory, &newest, &done);
        for _ in 0..2 {
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let pin = memory.pin();
                    newest.iter().for_each(|word| check_value(memory, &pin, word.load(Ordering::SeqCst)));
                }
            });
        }
        let writers = newest.iter().enumerate().map(|(thread, word)| {
            let mut random = Random::new(seed + thread as u64);
            scope.spawn(move || write_values(memory, word, &mut random))
        });
        let writers: Vec<_> = writers.collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    memory.reclaim();
    let accounting = memory.accounting();
    accounting.assert_complete();
    assert_eq!((accounting.live_values, accounting.retired_values), (newest.len(), 0));
}

/// Packs an address and a length into one word: addresses are multiples of 512, lengths are below 2^20.
fn pack(address: BusAddress, bytes: usize) -> u64 {
    address.get() / UNIT as u64 * (1 << 20) + bytes as u64
}

fn unpack(word: u64) -> Option<(BusAddress, usize)> {
    Some((BusAddress::new(word / (1 << 20) * UNIT as u64)?, (word % (1 << 20)) as usize))
}

fn check_value(memory: &Memory, pin: &honeycomb_memory::Pin<'_>, word: u64) {
    let Some((address, bytes)) = unpack(word) else { return };
    let value = memory.value(pin, address, bytes);
    assert!(value.iter().all(|byte| byte == &value[0]), "a buffer was reused under a reader");
}

fn write_values(memory: &Memory, newest: &AtomicU64, random: &mut Random) {
    let end = Instant::now() + RUN;
    while Instant::now() < end {
        let magnitude = 9 + random.below(9);
        let bytes = 1 + random.below(1 << magnitude);
        let value = vec![random.next() as u8; bytes];
        match memory.allocate_value(&value) {
            Ok(buffer) => {
                let before = newest.swap(pack(buffer.keep(), bytes), Ordering::SeqCst);
                let retired = unpack(before).map(|(address, bytes)| Retired::Value(address, bytes));
                memory.retire(retired);
            }
            // Readers can prevent all memory from being reclaimed.
            Err(MemoryError::Exhausted { .. }) => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Several threads execute all kinds of allocations, and exhaust the memory again and again.
#[test]
fn exhaustion_loses_no_memory() {
    let memory = memory(64);
    let seed = seed();
    thread::scope(|scope| {
        for thread in 0..3 {
            let memory = &memory;
            scope.spawn(move || churn(memory, &mut Random::new(seed + thread)));
        }
    });
    memory.reclaim();
    let accounting = memory.accounting();
    accounting.assert_complete();
    assert_eq!(accounting.free_bytes + accounting.free_list_bytes + UNIT, accounting.arena_bytes);
    assert_eq!((accounting.live_lids, accounting.reserved_lids, accounting.retired_lids), (0, 0, 0));
    let all = memory.allocate_value(&vec![0; 256 << 10]);
    assert!(all.is_ok(), "the free lists return their buffers, and the buddy system merges all blocks");
}

fn churn(memory: &Memory, random: &mut Random) {
    let end = Instant::now() + RUN;
    let (mut nodes, mut lids, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut published = Vec::new();
    while Instant::now() < end {
        match random.below(7) {
            0 => nodes.extend(memory.allocate_node()),
            1 => lids.extend(memory.reserve_lid()),
            2 => values.extend(memory.allocate_value(&vec![1; random.below(40_000)])),
            3 => drop(nodes.pop()),
            4 => drop(values.pop()),
            5 => drop(lids.pop()),
            _ if nodes.is_empty() || lids.is_empty() => {
                let (lid, address) = match published.pop() {
                    Some(node) => node,
                    None => continue,
                };
                memory.retire([Retired::Lid(lid), Retired::Node(address)]);
            }
            _ => {
                let (mut buffer, lid) = (nodes.pop().unwrap(), lids.pop().unwrap().keep());
                let word = honeycomb_memory::LockAndSize::new(64, 0);
                buffer[..8].copy_from_slice(&u64::from(word).to_le_bytes());
                published.push((lid, buffer.address()));
                memory.map(lid, buffer);
            }
        }
    }
    memory.retire(published.iter().flat_map(|&(lid, address)| [Retired::Lid(lid), Retired::Node(address)]));
}
