//! Pins, leases and devices prevent reclaiming exactly as long as they are in flight.
#![cfg(not(loom))]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use honeycomb_memory::{Memory, MemoryConfig, MemoryError, Retired};
use honeycomb_testing::nodes::{memory, new_node, node_at};

/// Creates a node and retires it.
fn retire_one(memory: &Memory) {
    let lid = new_node(memory, b"");
    memory.retire([Retired::Node(node_at(memory, lid)), Retired::Lid(lid)]);
}

/// Reclaims memory. Returns whether all retired memory is reclaimed.
fn reclaims(memory: &Memory) -> bool {
    memory.reclaim();
    memory.accounting().assert_complete();
    memory.accounting().retired_nodes == 0
}

#[test]
fn a_pin_prevents_reclaiming_until_it_is_dropped() {
    let memory = memory(64);
    let reader = memory.pin();
    retire_one(&memory);
    assert!(!reclaims(&memory));
    let later = memory.pin();
    drop(reader);
    assert!(reclaims(&memory), "a later operation cannot reach the node");
    drop(later);
}

#[test]
fn a_later_operation_in_the_same_slot_does_not_prevent_reclaiming() {
    let memory = memory(64);
    let reader = memory.pin();
    retire_one(&memory);
    assert!(!reclaims(&memory));
    drop(reader);
    let _next = memory.pin();
    assert!(reclaims(&memory));
}

#[test]
fn pins_nest() {
    let memory = memory(64);
    let pins: Vec<_> = (0..100).map(|_| memory.pin()).collect();
    retire_one(&memory);
    for pin in pins {
        assert!(!reclaims(&memory));
        drop(pin);
    }
    assert!(reclaims(&memory));
}

#[test]
fn a_pin_waits_for_a_slot() {
    let config = MemoryConfig { arena_bytes: 1 << 20, participants: 3, ..MemoryConfig::default() };
    let memory = Memory::new(config).unwrap();
    // The number of participants is rounded up to four.
    let mut pins: Vec<_> = (0..4).map(|_| memory.pin()).collect();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let memory = &memory;
        scope.spawn(move || {
            let _pin = memory.pin();
            sender.send(()).unwrap();
        });
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err(), "all slots are in flight");
        pins.pop();
        receiver.recv().unwrap();
    });
}

#[test]
fn the_window_of_a_device_prevents_reclaiming() {
    let memory = memory(64);
    let mut device = memory.device().unwrap();
    retire_one(&memory);
    assert!(reclaims(&memory), "no operation is in flight");
    device.publish_window(1, 3);
    retire_one(&memory);
    for (oldest, newest) in [(1, 3), (2, 3), (3, 3), (3, 9)] {
        device.publish_window(oldest, newest);
        assert!(!reclaims(&memory), "{oldest}..={newest}");
    }
    device.publish_window(4, 9);
    assert!(reclaims(&memory), "the operations from 4 on began later");
    retire_one(&memory);
    device.publish_window(9, 9);
    assert!(!reclaims(&memory));
    device.publish_window(10, 9);
    assert!(reclaims(&memory), "the window is empty");
    device.publish_window(10, 10);
    retire_one(&memory);
    assert!(!reclaims(&memory));
    drop(device);
    assert!(reclaims(&memory), "the device is dropped");
}

#[test]
fn the_next_owner_of_a_device_counts_from_one() {
    let config = MemoryConfig { arena_bytes: 1 << 20, devices: 1, ..MemoryConfig::default() };
    let memory = Memory::new(config).unwrap();
    let mut device = memory.device().unwrap();
    assert!(matches!(memory.device(), Err(MemoryError::TooManyDevices { max: 1 })));
    device.publish_window(1, 1000);
    retire_one(&memory);
    assert!(!reclaims(&memory));
    drop(device);
    let mut device = memory.device().unwrap();
    device.publish_window(1, 1);
    assert!(reclaims(&memory));
    retire_one(&memory);
    assert!(!reclaims(&memory));
    device.publish_window(2, 2);
    assert!(reclaims(&memory));
}

#[test]
fn a_window_never_decreases() {
    let publish = |windows: &[(u64, u64)]| {
        let memory = memory(64);
        let mut device = memory.device().unwrap();
        let publish = || windows.iter().for_each(|&(oldest, newest)| device.publish_window(oldest, newest));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(publish)).is_ok()
    };
    assert!(publish(&[(1, 0), (1, 4), (5, 4), (5, 5)]));
    assert!(!publish(&[(0, 0)]));
    assert!(!publish(&[(2, 0)]));
    assert!(!publish(&[(3, 4), (2, 5)]));
    assert!(!publish(&[(3, 4), (3, 3)]));
}

#[test]
fn a_lease_prevents_reclaiming_until_it_is_revoked_and_has_no_users() {
    let memory = memory(64);
    let lid = new_node(&memory, b"leased");
    let lease = memory.lease().unwrap();
    memory.retire([Retired::Node(node_at(&memory, lid))]);
    assert!(!reclaims(&memory));
    let (first, second) = (lease.enter().unwrap(), lease.enter().unwrap());
    drop(first);
    assert!(!reclaims(&memory), "leaving does not end the lease");
    lease.revoke();
    assert!(lease.is_revoked() && lease.enter().is_none());
    assert!(!reclaims(&memory), "the lease still has a user");
    let node = memory.node(second.pin(), lid);
    assert_eq!(node.published().bytes(), b"leased");
    drop(second);
    assert!(reclaims(&memory));
    lease.revoke();
    drop(lease);
}

#[test]
fn a_dropped_lease_does_not_prevent_reclaiming() {
    let memory = memory(64);
    let lease = memory.lease().unwrap();
    retire_one(&memory);
    assert!(!reclaims(&memory));
    drop(lease);
    assert!(reclaims(&memory));
    let lease = memory.lease().unwrap();
    drop(memory);
    assert!(lease.enter().is_some(), "a lease can outlive the memory");
}

#[test]
fn leases_are_limited_and_reusable() {
    let config = MemoryConfig { arena_bytes: 1 << 20, leases: 2, ..MemoryConfig::default() };
    let memory = Memory::new(config).unwrap();
    let (first, _second) = (memory.lease().unwrap(), memory.lease().unwrap());
    let error = memory.lease().unwrap_err();
    assert_eq!(error.to_string(), "all 2 leases are in use");
    let user = first.enter();
    first.revoke();
    assert!(memory.lease().is_err(), "the lease still has a user");
    drop(user);
    assert!(memory.lease().is_ok(), "a revoked lease without users frees its slot before it is dropped");
}

#[test]
fn a_lease_is_revoked_while_threads_use_it() {
    let memory = memory(64);
    for _ in 0..50 {
        let lid = new_node(&memory, b"leased");
        let lease = memory.lease().unwrap();
        memory.retire([Retired::Node(node_at(&memory, lid))]);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some(user) = lease.enter() {
                        let node = memory.node(user.pin(), lid);
                        assert_eq!(node.published().bytes(), b"leased");
                    }
                });
            }
            scope.spawn(|| {
                memory.reclaim();
                lease.revoke();
            });
        });
        assert!(reclaims(&memory));
        memory.retire([Retired::Lid(lid)]);
    }
}
