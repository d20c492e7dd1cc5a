//! Published nodes and their locks.
#![cfg(not(loom))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use honeycomb_layout::{lock_and_size as word, node_header};
use honeycomb_memory::{LockAndSize, LockedNode, Memory, MemoryConfig, Node};
use honeycomb_testing::nodes::{map_node, memory, new_node};

fn panics<T>(act: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(act)).is_err()
}

#[test]
fn a_word_encodes_its_fields() {
    let state = LockAndSize::new(8192, 255);
    assert_eq!((state.size(), state.log_count(), state.sequence(), state.locked()), (8192, 255, 0, false));
    assert_eq!(LockAndSize::from(u64::from(state)), state);
    assert!(LockAndSize::from(u64::from(state) | 1).locked());
    assert!(panics(|| LockAndSize::new(1 << 16, 0)));
    assert!(panics(|| LockAndSize::new(64, 256)));
}

#[test]
fn one_holder_at_a_time() {
    let memory = memory(64);
    let lid = new_node(&memory, b"body");
    let pin = memory.pin();
    let node = memory.node(&pin, lid);
    let seen = node.lock_and_size();
    let locked = node.try_lock(seen).unwrap();
    assert_eq!(locked.seen(), seen);
    assert!(node.lock_and_size().locked());
    assert!(node.try_lock(seen).is_none(), "the node is locked");
    assert!(node.try_lock(node.lock_and_size()).is_none(), "the expected word is locked");
    drop(locked);
    assert_eq!(node.lock_and_size(), seen, "dropping a lock publishes nothing");
    node.try_lock(seen).unwrap().publish(seen.size(), 0);
    assert_eq!(node.lock_and_size().sequence(), seen.sequence() + 1);
    assert!(node.try_lock(seen).is_none(), "the word has changed");
    node.try_lock(node.lock_and_size()).unwrap().abandon();
    assert!(node.lock_and_size().locked());
}

#[test]
fn readers_see_published_bytes() {
    let memory = memory(64);
    let lid = new_node(&memory, b"body");
    let pin = memory.pin();
    let node = memory.node(&pin, lid);
    let (seen, before) = (node.published(), node.lock_and_size());
    let mut locked = node.try_lock(before).unwrap();
    locked.tail_mut(before.size())[..5].copy_from_slice(b", log");
    assert_eq!(locked.bytes_up_to(before.size() + 5), b"body, log");
    assert_eq!((seen.bytes(), seen.state()), (&b"body"[..], before));
    locked.set_word(node_header::RIGHT_OFFSET, 7);
    locked.set_word(node_header::TAGS_OFFSET + 8, u64::MAX);
    locked.publish(before.size() + 5, 1);
    let after = node.lock_and_size();
    assert_eq!((after.log_count(), after.locked()), (1, false));
    assert_eq!(node.published().bytes(), b"body, log");
    assert_eq!(seen.bytes(), b"body", "an earlier state does not change");
    assert_eq!(node.word(node_header::RIGHT_OFFSET), 7);
    assert_eq!(node.word(node_header::TAGS_OFFSET + 8), u64::MAX);
    node.prefetch(0, usize::MAX);
    node.prefetch(100, 0);
}

#[test]
fn a_node_can_be_full() {
    let memory = memory(64);
    let lid = new_node(&memory, b"");
    let pin = memory.pin();
    let node = memory.node(&pin, lid);
    let mut locked = node.try_lock(node.lock_and_size()).unwrap();
    locked.tail_mut(64).fill(9);
    assert!(locked.tail_mut(memory.node_bytes()).is_empty());
    locked.publish(memory.node_bytes(), 0);
    let bytes = node.published().bytes();
    assert!(bytes.len() == memory.node_bytes() - 64 && bytes.iter().all(|&byte| byte == 9));
}

#[test]
fn log_words_are_published_with_their_entries() {
    let config = MemoryConfig { arena_bytes: 64 * 8192, huge_pages: false, ..Default::default() };
    let memory = Memory::new(config).unwrap();
    let lid = new_node(&memory, b"body");
    let pin = memory.pin();
    let node = memory.node(&pin, lid);
    let mut locked = node.try_lock(node.lock_and_size()).unwrap();
    assert_eq!(locked.tail_mut(68).len(), 8192 - 68);
    locked.set_log_word(0, 7);
    locked.set_log_word(1, 8);
    assert_eq!([0, 1, 2].map(|entry| locked.log_words(2).get(entry)), [Some(7), Some(8), None]);
    assert_eq!(node.published().log_words().get(0), None, "no entry is published");
    locked.change_new_log_words(2, |word| word + 10);
    locked.publish(72, 2);
    let published = node.published();
    assert_eq!([0, 1, 2].map(|entry| published.log_words().get(entry)), [Some(17), Some(18), None]);
    node.prefetch_log_words(2);
    // The words are not part of the bytes that a holder may write.
    let mut locked = node.try_lock(node.lock_and_size()).unwrap();
    assert_eq!(locked.tail_mut(72).len(), 8192 - 72 - 16);
    locked.set_log_word(2, 9);
    locked.change_new_log_words(3, |word| word + 10);
    let words = [0, 1, 2].map(|entry| locked.log_words(3).get(entry));
    assert_eq!(words, [Some(17), Some(18), Some(19)], "published words do not change");
    assert!(panics(|| locked.set_log_word(1, 0)), "a published word never changes");
    assert!(panics(|| locked.set_log_word(2000, 0)), "the word is beyond the node");
    assert!(panics(|| locked.log_words(2000).get(0)));
    assert!(panics(|| locked.publish(8192 - 23, 3)), "the bytes reach into the words");
}

#[test]
fn the_sequence_number_wraps() {
    let memory = memory(64);
    let lid = memory.reserve_lid().unwrap().keep();
    let mut buffer = memory.allocate_node().unwrap();
    let last = word::with_sequence_number(LockAndSize::new(64, 0).into(), word::SEQUENCE_NUMBER_MASK);
    buffer[..8].copy_from_slice(&last.to_le_bytes());
    memory.map(lid, buffer);
    let pin = memory.pin();
    let node = memory.node(&pin, lid);
    node.try_lock(LockAndSize::from(last)).unwrap().publish(72, 3);
    let state = node.lock_and_size();
    assert_eq!((state.sequence(), state.size(), state.log_count()), (0, 72, 3));
}

#[test]
fn invalid_calls_panic() {
    let memory = memory(64);
    let lid = new_node(&memory, b"body");
    let pin = memory.pin();
    let node = memory.node(&pin, lid);
    let lock = || node.try_lock(node.lock_and_size()).unwrap();
    for offset in [0, 4, 12, 64, usize::MAX] {
        assert!(panics(|| node.word(offset)), "word at {offset}");
    }
    for offset in [0, 8, 16, 25, 40, 64] {
        assert!(panics(|| lock().set_word(offset, 0)), "the word at {offset} never changes");
    }
    for from in [0, 64, 67, 8193] {
        assert!(panics(|| lock().tail_mut(from).len()), "{from} is not past the size");
    }
    for size in [63, 8193] {
        assert!(panics(|| lock().bytes_up_to(size).len()));
    }
    for (size, log_count) in [(67, 0), (8193, 0), (68, 256)] {
        assert!(panics(|| lock().publish(size, log_count)));
    }
    assert!(!node.lock_and_size().locked(), "a panic unlocks the node");
    // The previous version is not a node.
    map_node(&memory, lid, b"", Some(memory.allocate_value(b"value").unwrap().keep()));
    assert!(panics(|| memory.node(&pin, lid).previous()));
}

/// Appends an entry of eight bytes to the log block.
fn append(mut locked: LockedNode<'_>) {
    let (size, count) = (locked.seen().size(), locked.seen().log_count());
    locked.tail_mut(size)[..8].copy_from_slice(&(count as u64).to_le_bytes());
    locked.publish(size + 8, count + 1);
}

fn check_entries(node: Node<'_>) -> usize {
    let seen = node.published();
    let entries = seen.bytes().as_chunks::<8>().0.iter().map(|entry| u64::from_le_bytes(*entry));
    assert!(entries.eq(0..seen.state().log_count() as u64));
    seen.state().log_count()
}

#[test]
fn threads_append_without_loss() {
    const ENTRIES: usize = 240;
    for _ in 0..50 {
        let memory = memory(64);
        let lid = new_node(&memory, b"");
        let work = || {
            let pin = memory.pin();
            let node = memory.node(&pin, lid);
            let mut appended = 0;
            while check_entries(node) < ENTRIES {
                if let Some(locked) = node.try_lock(node.lock_and_size()) {
                    // Another thread may have filled the log block before the lock.
                    if locked.seen().log_count() < ENTRIES {
                        append(locked);
                        appended += 1;
                    }
                }
            }
            appended
        };
        let appended: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(appended, ENTRIES);
    }
}
