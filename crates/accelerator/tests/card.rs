//! A card and the CPU beside it: what each sees when.
#![allow(missing_docs)]

#[path = "../../btree/tests/common/mod.rs"]
mod common;

use std::sync::{Arc, Mutex, Weak};

use common::{MIB, forest, tiny};
use honeycomb_accelerator::{
    Accelerator, Back, Card, Completions, Engine, Engines, Error, HostMemory, Model, Queue, Read, Request,
    Requests, Status, Window,
};
use honeycomb_btree::{Forest, Operation, Root, Shape, Version};
use honeycomb_memory::{BusAddress, Control, Lid, MemoryError};

fn get(queue: &mut dyn Queue, key: &[u8]) -> (Status, Version, Option<Vec<u8>>) {
    let (mut requests, mut completions) = (Requests::default(), Completions::default());
    requests.push(&Request { identifier: 3, table: 1, version: None, read: Read::Get(key) }).unwrap();
    assert_eq!(queue.submit(requests.bytes()), requests.bytes().len());
    assert_eq!(queue.poll(&mut completions), 0);
    let completion = completions.iter().next().unwrap();
    (completion.status, completion.read_version, completion.value().map(<[u8]>::to_vec))
}

/// A device that is told after the card, and then asks the card.
#[derive(Debug, Default)]
struct Curious(Mutex<Option<(Box<dyn Queue>, Weak<Forest>)>>);

impl Control for Curious {
    fn map(&self, _: Lid, _: BusAddress) {}

    fn publish(&self, version: u64) {
        // It is told again if the card's answer has to wait for this version.
        let Ok(mut asks) = self.0.try_lock() else { return };
        let Some((queue, forest)) = &mut *asks else { return };
        let (_, read_version, _) = get(&mut **queue, b"key");
        assert_eq!(read_version, version, "the card was told");
        assert!(forest.upgrade().unwrap().read_version() >= version, "new readers see what the card answers");
    }
}

#[test]
fn no_answer_is_ahead_of_the_cpu() {
    let forest = Arc::new(forest(tiny(128), MIB, true));
    let accelerator = Card::<Model>::default().attach(&forest).unwrap();
    let curious = Arc::new(Curious::default());
    forest.register(curious.clone()).unwrap();
    let root = forest.plant().unwrap();
    accelerator.set_root(1, Some(root));
    *curious.0.lock().unwrap() = Some((accelerator.queue(), Arc::downgrade(&forest)));
    for number in 0..50_u64 {
        forest.write(root, b"key", Operation::Put(&number.to_le_bytes())).unwrap();
    }
}

/// Looks at every step whether the epochs know what is in flight; or breaks what its memory shows.
#[derive(Debug, Clone, Copy)]
enum Watch {
    Window,
    Nonsense(u8),
}

#[derive(Debug)]
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
        }
        self.0.step(memory, done);
    }

    fn window(&self) -> Window {
        self.0.window()
    }
}

fn with_engine(engines: Watch) -> (Arc<Forest>, Box<dyn Accelerator>, Root) {
    let forest = Arc::new(forest(tiny(128), 4 * MIB, true));
    let accelerator = Card { engines, scan_pairs_a_turn: 9, queue_bytes: 1 << 20 }.attach(&forest).unwrap();
    let root = forest.plant().unwrap();
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

/// Whatever a card reads, it answers every request, with a fault if it must.
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
            let scan = honeycomb_btree::Scan { backward: number % 2 == 0, ..Default::default() };
            let scan = honeycomb_btree::Scan { limit: 30, ..scan };
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
