//! The states of buffers and LIDs, from allocation to reclaiming, and their accounting.
#![cfg(not(loom))]

use honeycomb_memory::{Faults, Lid, LockAndSize, Memory, MemoryConfig, MemoryError, Retired};
use honeycomb_testing::nodes::{self, UNIT, map_node, memory, new_node, node_at};

#[test]
fn a_node_from_its_allocation_to_its_reclaiming() {
    let memory = memory(64);
    let lid = new_node(&memory, b"first");
    let pin = memory.pin();
    let node = memory.node(&pin, lid);
    assert_eq!(node.published().bytes(), b"first");
    assert_eq!(node.previous().map(|node| node.address()), None);
    let old = node.address();
    let locked = node.try_lock(node.lock_and_size()).expect("the node is unlocked");
    map_node(&memory, lid, b"second", Some(old));
    locked.abandon();
    memory.retire([Retired::Node(old)]);
    assert_eq!(memory.reclaim(), 0, "the pin prevents reclaiming");
    let now = memory.node(&pin, lid);
    assert_eq!(now.published().bytes(), b"second");
    let before = now.previous().expect("the node has a previous version");
    assert_eq!(before.published().bytes(), b"first");
    assert!(before.lock_and_size().locked());
    drop(pin);
    assert_eq!(memory.reclaim(), memory.node_bytes());
    memory.accounting().assert_complete();
    assert_eq!(memory.accounting().live_nodes, 1);
    assert_eq!(memory.retired_bytes_total(), memory.node_bytes() as u64);
}

#[test]
fn dropped_allocations_are_freed() {
    let memory = memory(64);
    let before = memory.accounting();
    let node = memory.allocate_node().unwrap();
    let value = memory.allocate_value(&[7; 3 * UNIT + 1]).unwrap();
    let lid = memory.reserve_lid().unwrap();
    let during = memory.accounting();
    during.assert_complete();
    assert_eq!((during.private_nodes, during.private_values, during.reserved_lids), (1, 1, 1));
    assert_eq!(during.private_value_bytes, 4 * UNIT);
    drop((node, value, lid));
    let after = memory.accounting();
    after.assert_complete();
    assert_eq!(after.free_bytes + after.free_list_bytes, before.free_bytes);
    assert_eq!(after.free_lids, before.free_lids);
}

#[test]
fn a_new_node_has_a_zeroed_header() {
    let memory = memory(8);
    for _ in 0..20 {
        let mut node = memory.allocate_node().unwrap();
        assert!(node[..64].iter().all(|&byte| byte == 0));
        assert_eq!(node.len(), memory.node_bytes());
        assert!(node.address().get().is_multiple_of(memory.node_bytes() as u64));
        node.fill(0xff);
    }
}

#[test]
fn values_are_copied_to_the_arena() {
    let memory = memory(8192);
    for bytes in [0, 1, 470, UNIT - 1, UNIT, UNIT + 1, 100_000, 16 << 20] {
        let written: Vec<u8> = (0..bytes).map(|index| (index * 31 + bytes) as u8).collect();
        let buffer = memory.allocate_value(&written).unwrap();
        assert_eq!(buffer.len(), bytes);
        let address = buffer.keep();
        let pin = memory.pin();
        assert_eq!(memory.value(&pin, address, bytes), written);
        memory.retire([Retired::Value(address, bytes)]);
        drop(pin);
        assert_eq!(memory.reclaim(), bytes.div_ceil(UNIT).max(1) * UNIT);
    }
    let too_long = memory.allocate_value(&vec![0; (16 << 20) + 1]).unwrap_err();
    assert_eq!(too_long.to_string(), "value of 16777217 bytes: a value has at most 16777216 bytes");
    memory.accounting().assert_complete();
}

#[test]
fn reclaimed_lids_are_reused() {
    let memory = memory(64);
    let lid = new_node(&memory, b"gone");
    let address = node_at(&memory, lid);
    memory.retire([Retired::Node(address), Retired::Lid(lid)]);
    assert_eq!(memory.accounting().retired_lids, 1);
    assert_ne!(memory.reserve_lid().unwrap().lid(), lid);
    memory.reclaim();
    let again = [memory.reserve_lid().unwrap(), memory.reserve_lid().unwrap()];
    assert!(again.iter().any(|reservation| reservation.lid() == lid));
    assert_eq!(memory.accounting().live_lids, 0);
}

#[test]
fn a_failed_allocation_changes_nothing() {
    let memory = memory(32);
    let mut lids = Vec::new();
    let error = loop {
        let lid = memory.reserve_lid().unwrap();
        match memory.allocate_node() {
            Ok(mut buffer) => {
                buffer[..8].copy_from_slice(&u64::from(LockAndSize::new(64, 0)).to_le_bytes());
                lids.push(lid.keep());
                memory.map(lids[lids.len() - 1], buffer);
            }
            Err(error) => break error,
        }
    };
    let expected = format!(
        "no room for a node of {0} bytes in an arena of {1} bytes",
        memory.node_bytes(),
        32 * memory.node_bytes()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(lids.len(), 31, "all nodes except the one that contains unit 0");
    memory.accounting().assert_complete();
    let before = memory.accounting();
    assert!(memory.allocate_node().is_err());
    assert!(memory.allocate_value(&[0; 8192]).is_err());
    assert_eq!(memory.accounting(), before);
    // The rest of the node that contains unit 0 is room for values.
    assert!(memory.allocate_value(&[0; 4096]).is_ok());

    let reader = memory.pin();
    memory.retire([Retired::Node(node_at(&memory, lids[7])), Retired::Lid(lids[7])]);
    assert!(memory.allocate_node().is_err(), "a reader can still reach the node");
    drop(reader);
    assert!(memory.allocate_node().is_ok());
    assert!(memory.allocate_value(&[0; 8192]).is_ok(), "values can use free node buffers");
    assert!(memory.allocate_node().is_ok());
    memory.accounting().assert_complete();
}

#[test]
fn lids_are_limited_and_reusable() {
    let memory = memory(4);
    let mut reserved = Vec::new();
    let error = loop {
        match memory.reserve_lid() {
            Ok(lid) => reserved.push(lid),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, MemoryError::Exhausted { what: "LID", .. }));
    assert_eq!(memory.accounting().free_lids, 0);
    reserved.pop();
    assert!(memory.reserve_lid().is_ok());
}

#[test]
fn only_the_selected_allocation_fails() {
    let faults = Faults::fail_at(1);
    let config = MemoryConfig { arena_bytes: 1 << 20, faults: faults.clone(), ..MemoryConfig::default() };
    let memory = Memory::new(config).unwrap();
    assert!(memory.allocate_node().is_ok());
    assert!(memory.reserve_lid().is_err());
    assert!(memory.reserve_lid().is_ok());
    assert_eq!(faults.seen(), 3);
    faults.set(0);
    assert!(matches!(memory.allocate_value(b"v"), Err(MemoryError::Exhausted { what: "value", .. })));
    assert!(memory.allocate_value(b"v").is_ok());
    faults.set(2);
    faults.clear();
    (0..4).for_each(|_| assert!(memory.allocate_node().is_ok()));
    assert_eq!(faults.seen(), 9);
    memory.accounting().assert_complete();
}

#[test]
fn limits_of_the_configuration() {
    let error = |change: fn(&mut MemoryConfig)| {
        let mut config = MemoryConfig { arena_bytes: 1 << 20, ..MemoryConfig::default() };
        change(&mut config);
        Memory::new(config).err().map(|error| error.to_string())
    };
    let node = |bytes: usize| {
        let config = MemoryConfig { arena_bytes: 1 << 20, node_bytes: bytes, ..MemoryConfig::default() };
        Memory::new(config).is_ok()
    };
    assert_eq!([512, 1024, 1536, 16384, 32768].map(node), [false, true, false, true, false]);
    assert_eq!(
        error(|config| config.node_bytes = 3000).unwrap(),
        "invalid memory configuration: node_bytes is 3000, must be a power of two from 1024 to 16384"
    );
    assert!(error(|config| config.arena_bytes = 4 * 8192 - 1).unwrap().contains("arena_bytes is 32767"));
    assert_eq!(error(|config| config.arena_bytes = 4 * 8192), None);
    assert!(error(|config| config.arena_bytes = usize::MAX).unwrap().contains("arena_bytes"));
    assert!(error(|config| config.participants = 0).unwrap().contains("participants is 0"));
    assert_eq!(error(|config| config.participants = 1), None);
    assert!(error(|config| config.participants = (1 << 16) + 1).is_some());
    assert_eq!(error(|config| config.leases = 0), None);
    assert!(error(|config| config.leases = (1 << 16) + 1).is_some());
    assert!(error(|config| config.devices = (1 << 16) + 1).is_some());
}

#[test]
fn the_system_may_reject_a_very_large_arena() {
    let config =
        MemoryConfig { arena_bytes: (1 << 31) * 16384, node_bytes: 16384, ..MemoryConfig::default() };
    let bytes = config.arena_bytes;
    match Memory::new(config) {
        Err(MemoryError::Reserve { bytes: requested, .. }) => assert_eq!(requested, bytes),
        Err(error) => panic!("{error}"),
        Ok(_) => {}
    }
}

#[test]
fn invalid_calls_panic() {
    let panics = |act: fn(&Memory)| {
        let memory = memory(64);
        let act = std::panic::AssertUnwindSafe(|| act(&memory));
        std::panic::catch_unwind(act).is_err()
    };
    assert!(panics(|memory| _ = memory.node(&memory.pin(), Lid::new(1).unwrap())));
    assert!(panics(|memory| _ = memory.node(&memory.pin(), Lid::new(1 << 40).unwrap())));
    assert!(panics(|memory| {
        let address = node_at(memory, new_node(memory, b""));
        memory.retire([Retired::Node(address), Retired::Node(address)]);
    }));
    assert!(panics(|memory| {
        let lid = new_node(memory, b"");
        memory.retire([Retired::Lid(lid), Retired::Lid(lid)]);
    }));
    for bytes in [0, UNIT, 3 * UNIT] {
        let memory = memory(64);
        let address = memory.allocate_value(&[0; 2 * UNIT]).unwrap().keep();
        let retire = std::panic::AssertUnwindSafe(|| memory.retire([Retired::Value(address, bytes)]));
        assert!(std::panic::catch_unwind(retire).is_err(), "the value does not have {bytes} bytes");
        memory.retire([Retired::Value(address, 2 * UNIT - 1)]);
        assert_eq!(memory.reclaim(), 2 * UNIT);
    }
    assert!(panics(|memory| {
        let address = memory.allocate_value(&[0; 600]).unwrap().keep();
        let _ = memory.value(&memory.pin(), address, 1 << 30);
    }));
    assert!(panics(|memory| {
        let other = nodes::memory(64);
        let lid = new_node(&other, b"");
        let _ = other.node(&memory.pin(), lid);
    }));
    assert!(panics(|memory| {
        let lid = memory.reserve_lid().unwrap().keep();
        memory.map(lid, memory.allocate_node().unwrap());
    }));
    assert!(panics(|memory| {
        let other = nodes::memory(64);
        let lid = memory.reserve_lid().unwrap().keep();
        let mut buffer = other.allocate_node().unwrap();
        buffer[..8].copy_from_slice(&u64::from(LockAndSize::new(64, 0)).to_le_bytes());
        memory.map(lid, buffer);
    }));
}
