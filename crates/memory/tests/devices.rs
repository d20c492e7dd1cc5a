//! Devices with their own page table: their notifications and their reads.
#![cfg(not(loom))]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use honeycomb_memory::{BusAddress, Control, Device, Lid, LockAndSize, Memory, MemoryConfig, MemoryError};
use honeycomb_testing::nodes::{UNIT, map_node, memory, new_node, node_at};

/// Records its notifications: LIDs with addresses, and versions with LID 0.
#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<(u64, u64)>>);

impl Control for Recorder {
    fn map(&self, lid: Lid, address: BusAddress) {
        self.0.lock().unwrap().push((lid.get(), address.get()));
    }

    fn publish(&self, version: u64) {
        self.0.lock().unwrap().push((0, version));
    }
}

#[test]
fn all_devices_receive_all_notifications_in_order() {
    let memory = memory(64);
    let recorders = [Arc::new(Recorder::default()), Arc::new(Recorder::default())];
    recorders.iter().for_each(|recorder| memory.register(recorder.clone()).unwrap());
    let lid = new_node(&memory, b"first");
    let first = node_at(&memory, lid);
    memory.publish(7);
    map_node(&memory, lid, b"second", None);
    let second = node_at(&memory, lid);
    let expected = [(lid.get(), first.get()), (0, 7), (lid.get(), second.get())];
    recorders.iter().for_each(|recorder| assert_eq!(*recorder.0.lock().unwrap(), expected));
}

#[test]
fn devices_register_before_the_first_mapping() {
    let config = MemoryConfig { arena_bytes: 1 << 20, devices: 2, ..MemoryConfig::default() };
    let memory = Memory::new(config).unwrap();
    let register = || memory.register(Arc::new(Recorder::default()));
    register().unwrap();
    register().unwrap();
    assert!(matches!(register(), Err(MemoryError::TooManyDevices { max: 2 })));
    new_node(&memory, b"");
    let error = register().unwrap_err();
    assert_eq!(error.to_string(), "a device must register before the first tree is created");
}

/// Creates a memory and a device with an operation in flight.
fn in_flight() -> (Memory, Device) {
    let memory = memory(64);
    let mut device = memory.device().unwrap();
    device.publish_window(1, 1);
    (memory, device)
}

fn read(memory: &Memory, device: &Device, address: u64, bytes: usize) -> Option<Vec<u8>> {
    let mut into = vec![7; bytes];
    memory.read(device, address, &mut into).ok().map(|()| into)
}

/// Reads at all offsets of a node, with many lengths.
#[test]
fn a_device_reads_the_published_bytes_of_a_node() {
    let (memory, device) = in_flight();
    let body: Vec<u8> = (0..137).collect();
    let lid = new_node(&memory, &body);
    let start = node_at(&memory, lid).get();
    let mut expected =
        [&u64::from(LockAndSize::new(64 + 137, 0)).to_le_bytes()[..], &[0; 56], &body].concat();
    expected.resize(memory.node_bytes(), 0xee);
    for from in (0..300).chain([8191]) {
        for length in [0, 1, 7, 8, 9, 63, 64, 65, 200, 8192 - from] {
            let bytes = read(&memory, &device, start + from as u64, length);
            assert_eq!(bytes.as_deref(), expected.get(from..from + length), "{length} from {from}");
        }
    }
}

#[test]
fn bytes_past_the_size_are_read_once_they_are_published() {
    let (memory, device) = in_flight();
    let lid = new_node(&memory, b"body");
    let start = node_at(&memory, lid).get();
    let pin = memory.pin();
    let node = memory.node(&pin, lid);
    let mut locked = node.try_lock(node.lock_and_size()).unwrap();
    locked.tail_mut(68)[..3].copy_from_slice(b"log");
    locked.set_word(24, 0x1234);
    assert_eq!(read(&memory, &device, start + 64, 8).unwrap(), *b"body\xee\xee\xee\xee");
    locked.publish(71, 1);
    assert_eq!(read(&memory, &device, start + 64, 8).unwrap(), *b"bodylog\xee");
    assert_eq!(read(&memory, &device, start + 24, 2).unwrap(), [0x34, 0x12]);
}

/// The log words of published entries are at the end of a node. Those of other entries are not read.
#[test]
fn a_device_reads_the_log_words_of_published_entries() {
    let config = MemoryConfig { arena_bytes: 64 * 8192, huge_pages: false, ..Default::default() };
    let memory = Memory::new(config).unwrap();
    let mut device = memory.device().unwrap();
    device.publish_window(1, 1);
    let lid = new_node(&memory, b"body");
    let start = node_at(&memory, lid).get();
    let words = |entries: &[u64]| {
        let mut bytes = read(&memory, &device, start + 8192 - 21, 21).unwrap();
        entries.iter().for_each(|&entry| assert_eq!(bytes.split_off(bytes.len() - 8), entry.to_le_bytes()));
        assert!(bytes.iter().all(|&byte| byte == 0xee));
    };
    let pin = memory.pin();
    let node = memory.node(&pin, lid);
    for (entry, word) in [0x1122_3344_5566_7788_u64, 0x99aa].into_iter().enumerate() {
        let mut locked = node.try_lock(node.lock_and_size()).unwrap();
        locked.tail_mut(72 + 4 * entry).fill(1);
        locked.set_log_word(entry, word);
        words(&[0x1122_3344_5566_7788][..entry]);
        locked.publish(72 + 4 * entry, entry + 1);
    }
    words(&[0x1122_3344_5566_7788, 0x99aa]);
}

/// A size half from before an append and half from after it made a device use bytes past the end of a node.
#[test]
fn each_word_of_a_header_is_read_whole() {
    let (memory, device) = in_flight();
    let lid = new_node(&memory, b"node");
    let address = node_at(&memory, lid).get() + 24;
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let pin = memory.pin();
            let node = memory.node(&pin, lid);
            let locked = node.try_lock(node.lock_and_size()).unwrap();
            while !is_done.load(Ordering::Relaxed) {
                [u64::MAX, 0].into_iter().for_each(|word| locked.set_word(24, word));
            }
        });
        let words = (0..1_000_000).map(|_| read(&memory, &device, address, 8).unwrap());
        let torn = words.filter(|word| !word.iter().all(|byte| *byte == word[0])).count();
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(torn, 0);
    });
}

#[test]
fn a_device_reads_values_of_any_length() {
    let (memory, device) = in_flight();
    let value: Vec<u8> = (0..50_000_u32).map(|byte| byte as u8).collect();
    let small = memory.allocate_value(b"small").unwrap().keep().get();
    let large = memory.allocate_value(&value).unwrap().keep().get();
    assert_eq!(read(&memory, &device, small, 5).unwrap(), *b"small");
    assert_eq!(read(&memory, &device, large, value.len()).unwrap(), value);
    assert_eq!(read(&memory, &device, large + 9_999, 20_000).unwrap(), value[9_999..29_999]);
}

#[test]
fn memory_that_is_not_in_use_cannot_be_read() {
    let (memory, device) = in_flight();
    let live = node_at(&memory, new_node(&memory, b"live")).get();
    let value = memory.allocate_value(&[7; UNIT]).unwrap().keep().get();
    let (private, filled) = (memory.allocate_node().unwrap(), memory.allocate_value(b"private").unwrap());
    let arena = memory.accounting().arena_bytes as u64;
    assert!(read(&memory, &device, live, 8192).is_some() && read(&memory, &device, value, UNIT).is_some());
    let unreadable = [
        (0, 1),
        (arena, 1),
        (arena - 1, 2),
        (u64::MAX, 1),
        (u64::MAX - 7, 8),
        (u64::MAX - 7, 9),
        (private.address().get(), 1),
        (private.address().get() + 8191, 1),
        (filled.address().get(), 1),
        (value, UNIT + 1),
        (value - 1, 2),
    ];
    for (address, bytes) in unreadable {
        assert_eq!(read(&memory, &device, address, bytes), None, "{bytes} bytes at {address:#x}");
    }
    let error = memory.read(&device, arena, &mut [0; 8]).unwrap_err().to_string();
    assert_eq!(error, "the 8 bytes at bus address 0x80000 are not part of nodes or values in use");
}

#[test]
fn a_device_reads_only_while_operations_are_in_flight() {
    let (memory, mut device) = in_flight();
    let address = node_at(&memory, new_node(&memory, b"node")).get();
    assert!(read(&memory, &device, address, 8).is_some());
    device.publish_window(2, 1);
    assert!(matches!(memory.read(&device, address, &mut [0; 8]), Err(MemoryError::NoneInFlight)));
    device.publish_window(2, 2);
    assert!(read(&memory, &device, address, 8).is_some());
}
