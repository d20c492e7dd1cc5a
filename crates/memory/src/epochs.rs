//! Epochs: who is in flight, and when all that could see something have passed (section 3.2 of the Honeycomb
//! paper).
//!
//! Every participant numbers its operations. What is retired is stamped with the numbers in flight at that
//! time, and reclaimed when each participant has finished those operations: whoever begins later cannot reach
//! it.
//!
//! A participant on the CPU is a slot with a sequence number: even while idle, odd while an operation is in
//! flight. A device has a window: its oldest operation in flight and the newest it has started.
//!
//! 1. `slots[i]`: whoever makes an even number odd by compare-and-swap holds the slot, and makes it even
//!    again by a release store. The first `pins` slots are for pins, the others for leases.
//! 2. `devices[i].taken`: by compare-and-swap; who set it holds the device, and clears it by a release store.
//! 3. `devices[i].newest` and `.oldest`: the holder stores both, neither ever decreases.
//! 4. Who enters has a full fence between announcing itself and its first load; who stamps has one between
//!    making things unreachable and loading the announcements. So of the two at least one sees the other:
//!    either the stamp holds the operation, or the operation cannot reach what is retired.
//! 5. What the operation read is ordered before its release store, and so before the reuse of what it could
//!    see by whoever found with acquire that it had passed.

use std::mem::ManuallyDrop;

use crate::sync::{AtomicBool, AtomicU64, Ordering, Padded, fence, fence_after_exchange, thread};

/// All participants.
#[derive(Debug)]
pub(crate) struct Epochs {
    slots: Box<[Padded<AtomicU64>]>,
    pins: usize,
    devices: Box<[Padded<Window>]>,
}

/// A device's operations in flight: none if `oldest` is greater than `newest`.
#[derive(Debug)]
struct Window {
    taken: AtomicBool,
    oldest: AtomicU64,
    newest: AtomicU64,
}

/// One operation in flight. While it lives, nothing that it can reach is reclaimed.
#[derive(Debug)]
#[must_use = "a pin ends when it is dropped"]
pub struct Pin<'m> {
    epochs: &'m Epochs,
    slot: &'m AtomicU64,
    /// The odd number that this operation has.
    sequence: u64,
}

/// The numbers of the operations in flight at one time; those of idle participants are left out.
#[derive(Debug)]
pub(crate) struct Stamp {
    slots: Vec<(usize, u64)>,
    devices: Vec<(usize, u64)>,
}

impl Epochs {
    /// `pins` must be a power of two.
    pub(crate) fn new(pins: usize, leases: usize, devices: usize) -> Self {
        let window =
            || Window { taken: AtomicBool::new(false), oldest: AtomicU64::new(1), newest: AtomicU64::new(0) };
        Self {
            slots: (0..pins + leases).map(|_| Padded(AtomicU64::new(0))).collect(),
            pins,
            devices: (0..devices).map(|_| Padded(window())).collect(),
        }
    }

    /// Begins an operation, in the slot `preferred` if that is idle. Waits while all slots are in flight.
    #[inline]
    pub(crate) fn pin(&self, preferred: usize) -> Pin<'_> {
        let slot = preferred & (self.pins - 1);
        self.enter(slot).unwrap_or_else(|| self.pin_elsewhere(slot))
    }

    #[cold]
    fn pin_elsewhere(&self, preferred: usize) -> Pin<'_> {
        loop {
            let mut slots = (1..=self.pins).map(|distance| (preferred + distance) & (self.pins - 1));
            if let Some(pin) = slots.find_map(|slot| self.enter(slot)) {
                return pin;
            }
            thread::yield_now();
        }
    }

    /// A slot for a lease, in flight from now on, and its sequence number; none if all are taken.
    pub(crate) fn take_lease(&self) -> Option<(usize, u64)> {
        let enter = |slot| Some((slot, ManuallyDrop::new(self.enter(slot)?).sequence));
        (self.pins..self.slots.len()).find_map(enter)
    }

    /// The operation of a lease that is in flight.
    pub(crate) fn lease_pin(&self, slot: usize, sequence: u64) -> Pin<'_> {
        Pin { epochs: self, slot: &self.slots[slot].0, sequence }
    }

    #[inline]
    fn enter(&self, slot: usize) -> Option<Pin<'_>> {
        let slot = &self.slots[slot].0;
        let idle = slot.load(Ordering::Relaxed);
        if idle % 2 == 1 {
            return None;
        }
        slot.compare_exchange(idle, idle + 1, Ordering::SeqCst, Ordering::Relaxed).ok()?;
        fence_after_exchange();
        Some(Pin { epochs: self, slot, sequence: idle + 1 })
    }

    /// The operations in flight now. What was made unreachable before can be reached by none but these.
    pub(crate) fn stamp(&self) -> Stamp {
        fence(Ordering::SeqCst);
        // Acquire: the operations that are over have read before the reuse of what is stamped.
        let slots = self.slots.iter().map(|slot| slot.0.load(Ordering::Acquire)).enumerate();
        let newest = self.devices.iter().map(|device| device.0.newest.load(Ordering::Relaxed)).enumerate();
        let mut stamp =
            Stamp { slots: slots.filter(|(_, sequence)| sequence % 2 == 1).collect(), devices: Vec::new() };
        stamp.devices = newest.filter(|&(device, newest)| !self.device_passed(device, newest)).collect();
        stamp
    }

    /// Whether all operations of a stamp are over.
    pub(crate) fn passed(&self, stamp: &Stamp) -> bool {
        let slot_passed = |slot: usize, sequence| self.slots[slot].0.load(Ordering::Acquire) != sequence;
        stamp.slots.iter().all(|&(slot, sequence)| slot_passed(slot, sequence))
            && stamp.devices.iter().all(|&(device, newest)| self.device_passed(device, newest))
    }

    fn device_passed(&self, device: usize, newest: u64) -> bool {
        self.devices[device].0.oldest.load(Ordering::Acquire) > newest
    }

    /// Takes a device: its index and the number of the last operation of its former holder.
    pub(crate) fn take_device(&self) -> Option<(usize, u64)> {
        let take = |device: &Padded<Window>| {
            let taken = &device.0.taken;
            taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let index = self.devices.iter().position(take)?;
        Some((index, self.devices[index].0.newest.load(Ordering::Relaxed)))
    }

    /// Moves the window of a device that the caller holds.
    pub(crate) fn publish_window(&self, device: usize, oldest: u64, newest: u64) {
        let window = &self.devices[device].0;
        window.newest.store(newest, Ordering::Relaxed);
        // Also orders what the operations that are over have read before the store of `oldest`.
        fence(Ordering::SeqCst);
        window.oldest.store(oldest, Ordering::Relaxed);
    }

    /// Gives back a device that the caller holds; nothing of it is in flight any more.
    pub(crate) fn give_back_device(&self, device: usize) {
        let window = &self.devices[device].0;
        window.oldest.store(window.newest.load(Ordering::Relaxed) + 1, Ordering::Release);
        window.taken.store(false, Ordering::Release);
    }

    pub(crate) fn device_count(&self) -> usize {
        self.devices.len()
    }

    pub(crate) fn lease_count(&self) -> usize {
        self.slots.len() - self.pins
    }
}

impl Pin<'_> {
    /// Whether this pin holds back the reclaiming of what these epochs guard.
    #[inline]
    pub(crate) fn guards(&self, epochs: &Epochs) -> bool {
        std::ptr::eq(self.epochs, epochs)
    }
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        self.slot.store(self.sequence + 1, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
pub(crate) mod models {
    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::*;
    use crate::sync::Arc;

    /// One buffer that is reachable at first, and the epochs that guard it.
    pub(crate) struct Shared {
        pub(crate) epochs: Arc<Epochs>,
        reachable: AtomicBool,
        buffer: UnsafeCell<u32>,
    }

    impl Shared {
        pub(crate) fn new(pins: usize, leases: usize, devices: usize) -> Arc<Self> {
            Arc::new(Self {
                epochs: Arc::new(Epochs::new(pins, leases, devices)),
                reachable: AtomicBool::new(true),
                buffer: UnsafeCell::new(0),
            })
        }

        /// Reads the buffer, if it can be reached. loom sees it if it is reused meanwhile.
        pub(crate) fn read(&self) -> bool {
            let reachable = self.reachable.load(Ordering::Acquire);
            if reachable {
                // SAFETY: the caller is in flight; loom checks that nobody writes.
                assert_eq!(self.buffer.with(|buffer| unsafe { *buffer }), 0);
            }
            reachable
        }

        pub(crate) fn make_unreachable(&self) {
            self.reachable.store(false, Ordering::Release);
        }

        /// Makes the buffer unreachable and stamps it.
        pub(crate) fn replace(&self) -> Stamp {
            self.make_unreachable();
            self.epochs.stamp()
        }

        /// Reuses the buffer.
        pub(crate) fn write(&self) {
            // SAFETY: nobody can reach the buffer any more, which is what loom is to check.
            self.buffer.with_mut(|buffer| unsafe { *buffer = 1 });
        }

        /// Reuses the buffer if all have passed the stamp.
        pub(crate) fn reuse(&self, stamp: &Stamp) -> bool {
            let passed = self.epochs.passed(stamp);
            if passed {
                self.write();
            }
            passed
        }
    }

    /// Runs readers against a writer that reuses the buffer as soon as it may.
    fn run<const N: usize>(shared: &Arc<Shared>, readers: [fn(&Shared); N]) {
        let spawn = |reader: fn(&Shared)| {
            let shared = shared.clone();
            thread::spawn(move || reader(&shared))
        };
        let readers = readers.map(spawn);
        let stamp = shared.replace();
        let reused = shared.reuse(&stamp);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert!(reused || shared.reuse(&stamp), "nobody is in flight any more");
    }

    fn read_once(shared: &Shared) {
        let _pin = shared.epochs.pin(0);
        shared.read();
    }

    /// Fails if one of the two fences is left out (`enter`, `stamp`), or if the store in `drop` or the load
    /// in `passed` or in `stamp` is weakened to Relaxed.
    #[test]
    fn loom_nothing_is_reused_under_a_pin() {
        loom::model(|| run(&Shared::new(1, 0, 0), [read_once]));
    }

    /// Two operations one after the other in one slot.
    #[test]
    fn loom_nothing_is_reused_under_the_second_pin_of_a_slot() {
        let read_twice: fn(&Shared) = |shared| (0..2).for_each(|_| read_once(shared));
        loom::model(move || run(&Shared::new(1, 0, 0), [read_twice]));
    }

    /// Two threads that want the same slot, one of which goes elsewhere or comes later. Fails if the exchange
    /// in `enter` is replaced by a store, or if the store in `drop` is weakened to Relaxed.
    #[test]
    fn loom_a_slot_has_one_holder() {
        loom::model(|| {
            let epochs = Arc::new(Epochs::new(2, 0, 0));
            let held = Arc::new([UnsafeCell::new(()), UnsafeCell::new(())]);
            let hold = |epochs: &Epochs, held: &[UnsafeCell<()>; 2]| {
                let pin = epochs.pin(0);
                let first = std::ptr::eq(pin.slot, &epochs.slots[0].0);
                held[usize::from(first)].with_mut(|_| ());
            };
            let other = thread::spawn({
                let (epochs, held) = (epochs.clone(), held.clone());
                move || hold(&epochs, &held)
            });
            hold(&epochs, &held);
            other.join().unwrap();
        });
    }

    /// Fails if the fence in `publish_window` or in `stamp` is left out, or if the load of `oldest` is
    /// weakened to Relaxed.
    #[test]
    fn loom_nothing_is_reused_in_the_window_of_a_device() {
        let read_twice: fn(&Shared) = |shared| {
            let (device, base) = shared.epochs.take_device().unwrap();
            shared.epochs.publish_window(device, base + 1, base + 1);
            shared.read();
            shared.epochs.publish_window(device, base + 2, base + 2);
            shared.read();
            shared.epochs.publish_window(device, base + 3, base + 2);
        };
        loom::model(move || run(&Shared::new(1, 0, 1), [read_twice]));
    }
}
