//! The driver of a device: visibility between the device and the CPU, the window, pinned versions and faults.
#![allow(missing_docs)]

use std::cell::RefCell;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;

use honeycomb_accelerator::{
    Accelerator, Backend, Completions, DeviceBackend, Engine, Engines, Error, HostMemory, Queue, Read,
    Request, Requests, Status, Window,
};
use honeycomb_btree::{Forest, Operation, Root, Scan, Shape, Version};
use honeycomb_memory::{BusAddress, Control, Lid, MemoryError};
use honeycomb_testing::DeviceModel;
use honeycomb_testing::index::{MIB, forest, tiny};

fn get(queue: &mut dyn Queue, key: &[u8]) -> (Status, Version, Option<Vec<u8>>) {
    get_at(queue, None, key)
}

fn get_at(queue: &mut dyn Queue, version: Option<Version>, key: &[u8]) -> (Status, Version, Option<Vec<u8>>) {
    let (mut requests, mut completions) = (Requests::default(), Completions::default());
    requests.push(&Request { identifier: 3, table: 1, version, read: Read::Get(key) }).unwrap();
    assert_eq!(queue.submit(requests.bytes()), requests.bytes().len());
    assert_eq!(queue.poll(&mut completions), 0);
    let completion = completions.iter().next().unwrap();
    (completion.status, completion.read_version, completion.value().map(<[u8]>::to_vec))
}

/// A participant that receives each notification after the device and then reads through the device.
#[derive(Debug, Default)]
struct Observer(Mutex<Option<QueueOfDevice>>);

/// A queue of the device, and the forest.
type QueueOfDevice = (Box<dyn Queue>, Weak<Forest>);

impl Control for Observer {
    fn map(&self, _: Lid, _: BusAddress) {}

    fn publish(&self, version: u64) {
        // If the device waits until this version is released, that thread calls `publish` again.
        let Ok(mut observed) = self.0.try_lock() else { return };
        let Some((queue, forest)) = &mut *observed else { return };
        let (_, read_version, _) = get(&mut **queue, b"key");
        assert_eq!(read_version, version, "the device has received the version");
        assert!(
            forest.upgrade().unwrap().read_version() >= version,
            "new readers have the version of the completion"
        );
    }
}

#[test]
fn no_completion_is_ahead_of_the_cpu() {
    let forest = Arc::new(forest(tiny(128), MIB, true));
    let accelerator = DeviceBackend::<DeviceModel>::default().attach(&forest, &Arc::default()).unwrap();
    let observer = Arc::new(Observer::default());
    forest.register(observer.clone()).unwrap();
    let root = forest.create_tree().unwrap();
    accelerator.set_root(1, Some(root));
    *observer.0.lock().unwrap() = Some((accelerator.queue(), Arc::downgrade(&forest)));
    for number in 0..50_u64 {
        forest.write(root, b"key", Operation::Put(&number.to_le_bytes())).unwrap();
    }
}

/// An interception of every step of an engine.
#[derive(Debug, Clone, Copy)]
enum Interception {
    /// Checks that the epochs know the operations in flight.
    CheckWindow,
    /// Corrupts the bytes that the engine reads.
    CorruptReads(usize),
    /// Calls the hook of the thread.
    Hook,
}

thread_local! {
    static HOOK: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

struct Intercepted(Box<dyn Engine>, Interception);

impl Engines for Interception {
    fn engine(&self, node_bytes: usize) -> Result<Box<dyn Engine>, Error> {
        Ok(Box::new(Intercepted(DeviceModel::default().engine(node_bytes)?, *self)))
    }
}

/// Memory that flips a bit in each read.
struct Corrupted<'m>(&'m dyn HostMemory, usize);

impl HostMemory for Corrupted<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        self.0.read(address, into)?;
        let length = into.len().max(1);
        // The byte depends on the seed.
        let at = self.1 * 7919 % length;
        if let Some(byte) = into.get_mut(at) {
            *byte ^= 1 << (self.1 / 3 % 8);
        }
        Ok(())
    }
}

impl Engine for Intercepted {
    fn set_root(&mut self, table: u16, root: Option<Lid>) {
        self.0.set_root(table, root);
    }

    fn map(&mut self, lid: Lid, address: BusAddress) {
        self.0.map(lid, address);
    }

    fn publish(&mut self, version: Version) {
        self.0.publish(version);
    }

    fn submit(&mut self, request: &[u8]) -> bool {
        self.0.submit(request)
    }

    fn step(&mut self, memory: &dyn HostMemory, complete: &mut dyn FnMut(&[u8])) {
        let Window { oldest_in_flight, newest_started } = self.0.window();
        match self.1 {
            Interception::CorruptReads(seed) => return self.0.step(&Corrupted(memory, seed), complete),
            Interception::CheckWindow if oldest_in_flight <= newest_started => {
                let is_known = !matches!(memory.read(0, &mut [0]), Err(MemoryError::NoneInFlight));
                assert!(is_known, "a submitted request is in the window before the next step");
            }
            Interception::CheckWindow => {}
            Interception::Hook => HOOK.with_borrow_mut(|hook| hook.iter_mut().for_each(|hook| hook())),
        }
        self.0.step(memory, complete);
    }

    fn window(&self) -> Window {
        self.0.window()
    }
}

fn with_engine(engines: Interception) -> (Arc<Forest>, Box<dyn Accelerator>, Root) {
    with_keys(engines, tiny(128), 9, |number| number.to_be_bytes().to_vec())
}

fn with_keys(
    engines: Interception,
    shape: Shape,
    scan_quantum_pairs: usize,
    key: impl Fn(u64) -> Vec<u8>,
) -> (Arc<Forest>, Box<dyn Accelerator>, Root) {
    let forest = Arc::new(forest(shape, 8 * MIB, true));
    let accelerator = DeviceBackend { engines, scan_quantum_pairs, queue_bytes: 1 << 20 }
        .attach(&forest, &Arc::default())
        .unwrap();
    let root = forest.create_tree().unwrap();
    accelerator.set_root(1, Some(root));
    for number in 0..500_u64 {
        let value = vec![7; if number % 50 == 0 { 1_000 } else { 8 }];
        forest.write(root, &key(number), Operation::Put(&value)).unwrap();
    }
    (forest, accelerator, root)
}

#[test]
fn a_request_is_in_the_window_before_it_reads() {
    let (_forest, accelerator, _) = with_engine(Interception::CheckWindow);
    let mut queue = accelerator.queue();
    for number in 0..500_u64 {
        let (status, _, value) = get(&mut *queue, &number.to_be_bytes());
        assert_eq!((status, value.map(|value| value[0])), (Status::Found, Some(7)));
    }
}

/// A key of 200 to 450 bytes, so that a flipped bit can make it too long.
fn long_key(number: u64) -> Vec<u8> {
    [&number.to_be_bytes()[..], &vec![7; 192 + (number as usize * 37) % 251]].concat()
}

/// A device completes every request, whatever bytes it reads.
#[test]
fn corrupt_memory_leads_to_faults_at_most() {
    let short = |seed| faults_of_reads(&*with_engine(Interception::CorruptReads(seed)).1);
    let long = |seed| {
        let engines = Interception::CorruptReads(seed);
        faults_of_reads(&*with_keys(engines, Shape::default(), 1, long_key).1)
    };
    let faults = (0..256).map(short).chain((0..1000).map(long));
    assert!(faults.sum::<usize>() > 200, "engine and driver detect some corruptions");
}

/// Executes gets and long scans. Returns the number of faults.
fn faults_of_reads(accelerator: &dyn Accelerator) -> usize {
    let mut queue = accelerator.queue();
    let (mut requests, mut completions) = (Requests::default(), Completions::default());
    for number in 0..20_u64 {
        let key = (number * 25).to_be_bytes();
        let request = Request { identifier: number, table: 1, version: None, read: Read::Get(&key) };
        requests.push(&request).unwrap();
        let scan = Scan { backward: number % 2 == 0, ..Default::default() };
        let scan = Scan { limit: 30, ..scan };
        let read = Read::Scan { scan, bytes_max: u32::MAX };
        requests.push(&Request { identifier: 100 + number, read, ..request }).unwrap();
    }
    assert_eq!(queue.submit(requests.bytes()), requests.bytes().len());
    while queue.poll(&mut completions) > 0 {}
    let ended = completions.iter().filter(|completion| !completion.continued);
    assert_eq!(ended.count(), 40, "every request completes");
    completions.iter().filter(|completion| completion.status == Status::Fault).count()
}

/// The lease is in use until the request completes, even if it is revoked and memory is reclaimed before
/// that.
#[test]
fn a_pinned_version_stays_until_its_request_completes() {
    let (forest, accelerator, root) = with_engine(Interception::Hook);
    let lease = Arc::new(forest.memory().lease().unwrap());
    let version = forest.read_version();
    accelerator.pin_version(version, &lease);
    for number in 0..500_u64 {
        forest.write(root, &number.to_be_bytes(), Operation::Put(b"later")).unwrap();
    }
    let (hooked, revoked) = (forest.clone(), lease.clone());
    HOOK.set(Some(Box::new(move || {
        revoked.revoke();
        hooked.memory().reclaim();
        let mut buffers: Vec<_> = std::iter::from_fn(|| hooked.memory().allocate_node().ok()).collect();
        buffers.iter_mut().for_each(|buffer| buffer.fill(0xff));
    })));
    let mut queue = accelerator.queue();
    let pinned = get_at(&mut *queue, Some(version), &7_u64.to_be_bytes());
    assert_eq!(pinned, (Status::Found, version, Some(vec![7; 8])));
    assert_eq!(get_at(&mut *queue, Some(version), b"key").0, Status::VersionNotPinned);
    HOOK.set(None);
}

/// Between two quanta of a scan, another tree replaces the tree of the table.
#[test]
fn a_scan_ends_when_its_tree_is_replaced() {
    let (forest, accelerator, _) = with_engine(Interception::CheckWindow);
    let mut queue = accelerator.queue();
    let (mut requests, mut completions) = (Requests::default(), Completions::default());
    let read = Read::Scan { scan: Scan::default(), bytes_max: u32::MAX };
    requests.push(&Request { identifier: 1, table: 1, version: None, read }).unwrap();
    queue.submit(requests.bytes());
    queue.poll(&mut completions);
    queue.poll(&mut completions);
    assert!(completions.iter().all(|part| part.continued && part.pair_count == 9));
    accelerator.set_root(1, Some(forest.create_tree().unwrap()));
    assert_eq!(queue.poll(&mut completions), 0);
    assert_eq!(completions.iter().last().unwrap().status, Status::UnknownTable);
}

const COUNTERS: u8 = 6;

/// A key that is adjacent to a counter. The key of the counter itself has the greatest number.
fn key_near(counter: u8, number: u32) -> Vec<u8> {
    [&[counter][..], &number.to_be_bytes()].concat()
}

/// Increments or reads counters in leaves that change all the time. A sum never decreases.
struct Counting<'c> {
    forest: &'c Forest,
    root: Root,
    /// The greatest returned sum of each counter.
    returned: &'c [AtomicU64],
}

impl Counting<'_> {
    fn run(&self, mut operate: impl FnMut(u8, u32, &[u8]) -> u64) {
        for step in 0..6_000 {
            let counter = (step * 7 % u32::from(COUNTERS)) as u8;
            let returned = &self.returned[usize::from(counter)];
            let before = returned.load(Ordering::SeqCst);
            let sum = operate(counter, step, &key_near(counter, u32::MAX));
            assert!(sum >= before, "{sum} after {before}");
            returned.fetch_max(sum, Ordering::SeqCst);
        }
    }

    fn add(&self) {
        self.run(|counter, step, key| {
            let other = key_near(counter, step * 31 % 400);
            self.forest.write(self.root, &other, Operation::Put(&[7; 60])).unwrap();
            if step % 300 == 299 {
                let bounds = (Bound::Included(&other[..]), Bound::Excluded(key));
                self.forest.delete_range(self.root, bounds.0, bounds.1).unwrap();
            }
            self.forest.write(self.root, key, Operation::Add(1)).unwrap().sum().expect("a sum")
        });
    }

    fn read(&self, queue: &mut dyn Queue) {
        self.run(|_, _, key| {
            let (status, _, value) = get(queue, key);
            assert_ne!(status, Status::Fault);
            value
                .filter(|value| !value.is_empty())
                .map_or(0, |sum| u64::from_le_bytes(sum.try_into().unwrap()))
        });
    }
}

#[test]
fn without_versions_gets_are_linearizable() {
    let forest = Arc::new(forest(tiny(128), 64 * MIB, false));
    let accelerator = DeviceBackend::<DeviceModel>::default().attach(&forest, &Arc::default()).unwrap();
    let root = forest.create_tree().unwrap();
    accelerator.set_root(1, Some(root));
    let returned: Vec<_> = (0..COUNTERS).map(|_| AtomicU64::new(0)).collect();
    let counting = Counting { forest: &forest, root, returned: &returned };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| counting.add());
            scope.spawn(|| counting.read(&mut *accelerator.queue()));
        }
    });
    let sums = returned.iter().map(|sum| sum.load(Ordering::SeqCst));
    assert_eq!(sums.sum::<u64>(), 12_000, "no addition is lost");
    assert!(forest.statistics().leaf_splits > 0 && forest.statistics().consolidations > 0);
}
