//! A device and the CPU beside it: what each sees when.
#![allow(missing_docs)]

use std::cell::RefCell;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;

use honeycomb_accelerator::{
    Accelerator, Backend, Completions, DeviceBackend, Engine, Engines, Error, HostMemory, Model, Queue, Read,
    Request, Requests, Status, Window,
};
use honeycomb_btree::{Forest, Operation, Outcome, Root, Scan, Shape, Version};
use honeycomb_memory::{BusAddress, Control, Lid, MemoryError};
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

/// A device that is told after the device, and then asks the device.
#[derive(Debug, Default)]
struct Curious(Mutex<Option<Asks>>);

/// A queue of the device, and the forest.
type Asks = (Box<dyn Queue>, Weak<Forest>);

impl Control for Curious {
    fn map(&self, _: Lid, _: BusAddress) {}

    fn publish(&self, version: u64) {
        // It is told again if the device's answer has to wait for this version.
        let Ok(mut asks) = self.0.try_lock() else { return };
        let Some((queue, forest)) = &mut *asks else { return };
        let (_, read_version, _) = get(&mut **queue, b"key");
        assert_eq!(read_version, version, "the device was told");
        assert!(
            forest.upgrade().unwrap().read_version() >= version,
            "new readers see what the device answers"
        );
    }
}

#[test]
fn no_answer_is_ahead_of_the_cpu() {
    let forest = Arc::new(forest(tiny(128), MIB, true));
    let accelerator = DeviceBackend::<Model>::default().attach(&forest).unwrap();
    let curious = Arc::new(Curious::default());
    forest.register(curious.clone()).unwrap();
    let root = forest.create_tree().unwrap();
    accelerator.set_root(1, Some(root));
    *curious.0.lock().unwrap() = Some((accelerator.queue(), Arc::downgrade(&forest)));
    for number in 0..50_u64 {
        forest.write(root, b"key", Operation::Put(&number.to_le_bytes())).unwrap();
    }
}

/// What is done at every step of an engine.
#[derive(Debug, Clone, Copy)]
enum Watch {
    /// Looks whether the epochs know what is in flight.
    Window,
    /// Breaks what its memory shows.
    Nonsense(u8),
    /// Calls the hook of the thread.
    Hook,
}

thread_local! {
    static HOOK: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

struct Watched(Box<dyn Engine>, Watch);

impl Engines for Watch {
    fn engine(&self, shape: &Shape) -> Result<Box<dyn Engine>, Error> {
        Ok(Box::new(Watched(Model::default().engine(shape)?, *self)))
    }
}

/// Memory that gives nonsense now and then.
struct Nonsense<'m>(&'m dyn HostMemory, u8);

impl HostMemory for Nonsense<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        self.0.read(address, into)?;
        let length = into.len().max(1);
        // Another byte for each seed, and most of them in the header.
        let at = usize::from(self.1) * 7919 % length;
        if let Some(byte) = into.get_mut(at) {
            *byte ^= 1 << (self.1 % 8);
        }
        Ok(())
    }
}

impl Engine for Watched {
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

    fn step(&mut self, memory: &dyn HostMemory, done: &mut dyn FnMut(&[u8])) {
        let Window { oldest_in_flight, newest_started } = self.0.window();
        match self.1 {
            Watch::Nonsense(seed) => return self.0.step(&Nonsense(memory, seed), done),
            Watch::Window if oldest_in_flight <= newest_started => {
                let known = !matches!(memory.read(0, &mut [0]), Err(MemoryError::NoneInFlight));
                assert!(known, "what was submitted is in the window before the next step");
            }
            Watch::Window => {}
            Watch::Hook => HOOK.with_borrow_mut(|hook| hook.iter_mut().for_each(|hook| hook())),
        }
        self.0.step(memory, done);
    }

    fn window(&self) -> Window {
        self.0.window()
    }
}

fn with_engine(engines: Watch) -> (Arc<Forest>, Box<dyn Accelerator>, Root) {
    let forest = Arc::new(forest(tiny(128), 4 * MIB, true));
    let accelerator =
        DeviceBackend { engines, scan_quantum_pairs: 9, queue_bytes: 1 << 20 }.attach(&forest).unwrap();
    let root = forest.create_tree().unwrap();
    accelerator.set_root(1, Some(root));
    for number in 0..500_u64 {
        let value = vec![7; if number % 50 == 0 { 1_000 } else { 8 }];
        forest.write(root, &number.to_be_bytes(), Operation::Put(&value)).unwrap();
    }
    (forest, accelerator, root)
}

#[test]
fn what_is_submitted_is_in_the_window_before_it_reads() {
    let (_forest, accelerator, _) = with_engine(Watch::Window);
    let mut queue = accelerator.queue();
    for number in 0..500_u64 {
        let (status, _, value) = get(&mut *queue, &number.to_be_bytes());
        assert_eq!((status, value.map(|value| value[0])), (Status::Found, Some(7)));
    }
}

/// Whatever a device reads, it answers every request, with a fault if it must.
#[test]
fn nonsense_in_memory_is_a_fault_at_most() {
    let mut faults = 0;
    for seed in 0..=255 {
        let (_forest, accelerator, _) = with_engine(Watch::Nonsense(seed));
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
        assert_eq!(ended.count(), 40, "each is completed");
        faults += completions.iter().filter(|completion| completion.status == Status::Fault).count();
    }
    assert!(faults > 100, "nonsense is found out at times");
}

/// Its lease is in use until the request is completed, though it is revoked meanwhile and memory is wanted.
#[test]
fn a_version_that_is_held_stays_until_its_request_is_completed() {
    let (forest, accelerator, root) = with_engine(Watch::Hook);
    let lease = Arc::new(forest.memory().lease().unwrap());
    let version = forest.read_version();
    accelerator.hold(version, &lease);
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
    let held = get_at(&mut *queue, Some(version), &7_u64.to_be_bytes());
    assert_eq!(held, (Status::Found, version, Some(vec![7; 8])));
    assert_eq!(get_at(&mut *queue, Some(version), b"key").0, Status::VersionNotHeld);
    HOOK.set(None);
}

/// Although another tree has the table's number by then.
#[test]
fn a_scan_goes_on_in_its_own_tree_or_not_at_all() {
    let (forest, accelerator, _) = with_engine(Watch::Window);
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

/// The key of a number beside a counter, and smaller than that of the counter.
fn beside(counter: u8, number: u32) -> Vec<u8> {
    [&[counter][..], &number.to_be_bytes()].concat()
}

/// Adds to counters, in leaves that change all the time, or reads them. A sum that was answered stays.
struct Counting<'c> {
    forest: &'c Forest,
    root: Root,
    /// Of each counter the greatest sum that anybody was answered with.
    answered: &'c [AtomicU64],
}

impl Counting<'_> {
    fn run(&self, mut answer: impl FnMut(u8, u32, &[u8]) -> u64) {
        for step in 0..6_000 {
            let counter = (step * 7 % u32::from(COUNTERS)) as u8;
            let answered = &self.answered[usize::from(counter)];
            let since = answered.load(Ordering::SeqCst);
            let sum = answer(counter, step, &beside(counter, u32::MAX));
            assert!(sum >= since, "{sum} after {since}");
            answered.fetch_max(sum, Ordering::SeqCst);
        }
    }

    fn add(&self) {
        self.run(|counter, step, key| {
            let other = beside(counter, step * 31 % 400);
            self.forest.write(self.root, &other, Operation::Put(&[7; 60])).unwrap();
            if step % 300 == 299 {
                let bounds = (Bound::Included(&other[..]), Bound::Excluded(key));
                self.forest.delete_range(self.root, bounds.0, bounds.1).unwrap();
            }
            match self.forest.write(self.root, key, Operation::Add(1)).unwrap() {
                Outcome::Added { sum, .. } => sum,
                other => panic!("{other:?}"),
            }
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
    let accelerator = DeviceBackend::<Model>::default().attach(&forest).unwrap();
    let root = forest.create_tree().unwrap();
    accelerator.set_root(1, Some(root));
    let answered: Vec<_> = (0..COUNTERS).map(|_| AtomicU64::new(0)).collect();
    let counting = Counting { forest: &forest, root, answered: &answered };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| counting.add());
            scope.spawn(|| counting.read(&mut *accelerator.queue()));
        }
    });
    let sums = answered.iter().map(|sum| sum.load(Ordering::SeqCst));
    assert_eq!(sums.sum::<u64>(), 12_000, "no addition is lost");
    assert!(forest.statistics().leaf_splits > 0 && forest.statistics().consolidations > 0);
}
