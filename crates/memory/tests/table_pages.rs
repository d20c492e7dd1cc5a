//! Pages of unordered tables: allocation, access, retiring, and their place in the accounting.

use honeycomb_memory::{
    BusAddress, LineOffset, Memory, MemoryConfig, MemoryError, PAGE_BYTES, Retired, equal_bytes_of,
};

const PAGES: usize = 4;

/// An arena with room for three pages: unit 0 is reserved.
fn memory() -> Memory {
    let config = MemoryConfig { arena_bytes: PAGES * PAGE_BYTES, huge_pages: false, ..Default::default() };
    Memory::new(config).unwrap()
}

fn slab_of(page: BusAddress) -> u32 {
    (page.get() / 32) as u32
}

#[test]
fn every_thread_sees_the_words_of_a_page() {
    let memory = memory();
    let page = memory.allocate_table_page().unwrap();
    assert_eq!(page.get() as usize % PAGE_BYTES, 0);
    let last = slab_of(page) + (PAGE_BYTES / 32) as u32 - 1;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let pin = memory.pin();
            memory.pages(&pin).words(last, 32).unwrap().store(&[1, 2, 3, 4]);
        });
    });
    let pin = memory.pin();
    let words = memory.pages(&pin).words(last, 32).unwrap();
    assert_eq!([0, 1, 2, 3].map(|index| words.load(index)), [1, 2, 3, 4]);
    let line = memory.pages(&pin).line(last).unwrap();
    assert_eq!((line.load(4), line.load(7)), (1, 4), "the line begins before its second slab");
    line.store_at(LineOffset::LAST, 5);
    assert_eq!((line.load(4), line.load(7), words.load(3)), (1, 5, 5));
    words.store(&[1, 2, 3, 4]);
    let mut bytes = [0; 16];
    words.load_bytes(&mut bytes);
    assert_eq!((bytes[0], bytes[8]), (1, 2));
    words.store_bytes(0, &[7; 8]);
    assert_eq!((words.load(0), words.load(1)), (u64::from_le_bytes([7; 8]), 2));
    assert_eq!(memory.pages(&pin).words(slab_of(page), 8).unwrap().load(0), 0, "a new page has zeros");
}

#[test]
fn eight_bytes_of_a_line_begin_at_any_offset() {
    let memory = memory();
    let page = memory.allocate_table_page().unwrap();
    let pin = memory.pin();
    let bytes: [u8; 64] = std::array::from_fn(|at| at as u8 + 1);
    memory.pages(&pin).words(slab_of(page), 64).unwrap().store_bytes(0, &bytes);
    let line = memory.pages(&pin).line(slab_of(page)).unwrap();
    for (offset, eight) in bytes.windows(8).enumerate() {
        assert_eq!(line.load_at(LineOffset::new(offset)).to_le_bytes(), eight, "{offset}");
    }
    assert_eq!(line.load_at(LineOffset::new(57)).to_le_bytes(), bytes[56..], "no byte after the line");
    let page_words = memory.pages(&pin).words(slab_of(page), 64).unwrap();
    for offset in 0..80 {
        let expected = (offset..offset + 8).map(|at| bytes.get(at).copied().unwrap_or(0));
        assert!(expected.eq(page_words.load_at(offset).to_le_bytes()), "{offset}");
    }
    for offset in 0..=56 {
        let (before, mut after) = ([0, 1, 2, 3, 4, 5, 6, 7].map(|word| line.load(word)), [0; 64]);
        line.store_at(LineOffset::new(offset), u64::MAX);
        after.iter_mut().enumerate().for_each(|(at, byte)| *byte = before[at / 8].to_le_bytes()[at % 8]);
        after[offset..][..8].fill(0xff);
        let words = after.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        assert!(words.eq([0, 1, 2, 3, 4, 5, 6, 7].map(|word| line.load(word))), "{offset}");
    }
}

#[test]
fn all_bytes_of_a_line_are_compared() {
    let memory = memory();
    let page = memory.allocate_table_page().unwrap();
    let pin = memory.pin();
    let line = memory.pages(&pin).line(slab_of(page)).unwrap();
    for byte in [0, 1, 0x7f, 0x80, 0xff] {
        for at in 0..64 {
            let (mut bytes, near) = ([byte ^ 1; 64], at % 3);
            (bytes[at], bytes[near]) = (byte, byte);
            memory.pages(&pin).words(slab_of(page), 64).unwrap().store_bytes(0, &bytes);
            assert_eq!(line.equal_bytes(byte), 1 << at | 1 << near, "{byte} at {at}");
            let words: [u64; 8] = std::array::from_fn(|index| line.load(index));
            assert_eq!(equal_bytes_of(words, byte), 1 << at | 1 << near, "{byte} at {at}");
        }
    }
}

#[test]
fn bytes_are_stored_at_any_offset_and_no_others() {
    let memory = memory();
    let page = memory.allocate_table_page().unwrap();
    let pin = memory.pin();
    let around = memory.pages(&pin).words(slab_of(page), 96).unwrap();
    let words = memory.pages(&pin).words(slab_of(page) + 1, 32).unwrap();
    for offset in 0..=32 {
        for length in 0..=32 - offset {
            let mut expected = [9; 96];
            around.store_bytes(0, &expected);
            let bytes: Vec<u8> = (0..length as u8).collect();
            words.store_bytes(offset, &bytes);
            expected[32 + offset..][..length].copy_from_slice(&bytes);
            let mut found = [0; 96];
            around.load_bytes(&mut found);
            assert_eq!(found, expected, "{length} bytes at {offset}");
        }
    }
}

#[test]
fn bytes_are_appended_from_any_offset() {
    let memory = memory();
    let page = memory.allocate_table_page().unwrap();
    let pin = memory.pin();
    let bytes: Vec<u8> = (1..=64).collect();
    let words = memory.pages(&pin).words(slab_of(page), 64).unwrap();
    words.store_bytes(0, &bytes);
    for offset in 0..=64 {
        for length in 0..=64 - offset {
            let mut out = vec![100, 101];
            words.append_to(&mut out, offset, length);
            assert_eq!(out, [&[100, 101], &bytes[offset..][..length]].concat(), "{length} bytes at {offset}");
        }
    }
}

#[test]
#[should_panic(expected = "8 bytes at 25 end after 4 words")]
fn bytes_after_the_words_are_not_appended() {
    let memory = memory();
    let page = memory.allocate_table_page().unwrap();
    let pin = memory.pin();
    memory.pages(&pin).words(slab_of(page), 32).unwrap().append_to(&mut Vec::new(), 25, 8);
}

#[test]
#[should_panic(expected = "8 bytes at 25 end after 4 words")]
fn bytes_after_the_words_are_not_stored() {
    let memory = memory();
    let page = memory.allocate_table_page().unwrap();
    let pin = memory.pin();
    memory.pages(&pin).words(slab_of(page), 32).unwrap().store_bytes(25, &[0; 8]);
}

#[test]
fn words_outside_live_pages_are_not_accessible() {
    let memory = memory();
    let page = memory.allocate_table_page().unwrap();
    let (pin, first) = (memory.pin(), slab_of(page));
    let units = (PAGE_BYTES / 32) as u32;
    assert!(memory.pages(&pin).words(first + units - 1, 32).is_some());
    assert!(memory.pages(&pin).words(first + units - 1, 40).is_none(), "past the end of the page");
    assert!(memory.pages(&pin).words(first + units, 8).is_none(), "the next page is not allocated");
    for invalid in [0, first - 1, PAGES as u32 * units, (1 << 31) - 1, u32::MAX] {
        assert!(memory.pages(&pin).words(invalid, 8).is_none(), "{invalid}");
        assert!(memory.pages(&pin).line(invalid).is_none(), "{invalid}");
    }
}

#[test]
fn a_retired_page_is_reused_only_after_its_readers_have_ended() {
    let memory = memory();
    let page = memory.allocate_table_page().unwrap();
    let pin = memory.pin();
    let words = memory.pages(&pin).words(slab_of(page), 8).unwrap();
    words.store(&[9]);
    memory.retire([Retired::TablePage(page)]);
    assert!(memory.pages(&pin).words(slab_of(page), 8).is_none(), "retired");
    let rest: Vec<_> = std::iter::from_fn(|| memory.allocate_table_page().ok()).collect();
    assert!(!rest.contains(&page));
    assert_eq!(words.load(0), 9);
    drop(pin);
    assert_eq!(memory.allocate_table_page().unwrap(), page);
    let pin = memory.pin();
    assert_eq!(memory.pages(&pin).words(slab_of(page), 8).unwrap().load(0), 0);
}

#[test]
fn pages_are_accounted_and_their_exhaustion_is_an_error() {
    let memory = memory();
    let pages: Vec<_> = std::iter::from_fn(|| memory.allocate_table_page().ok()).collect();
    assert_eq!(pages.len(), PAGES - 1);
    let error = memory.allocate_table_page().unwrap_err();
    assert!(matches!(error, MemoryError::Exhausted { what: "table page", .. }), "{error}");
    assert_eq!(memory.accounting().live_table_page_bytes, pages.len() * PAGE_BYTES);
    memory.accounting().assert_complete();
    memory.retire(pages.into_iter().map(Retired::TablePage));
    assert_eq!(memory.accounting().retired_table_page_bytes, (PAGES - 1) * PAGE_BYTES);
    memory.accounting().assert_complete();
    memory.reclaim();
    assert_eq!(memory.accounting().retired_table_page_bytes, 0);
    memory.accounting().assert_complete();
}

#[test]
#[should_panic(expected = "no table page at")]
fn a_page_is_retired_once() {
    let memory = memory();
    let page = memory.allocate_table_page().unwrap();
    memory.retire([Retired::TablePage(page), Retired::TablePage(page)]);
}

#[test]
fn a_page_is_neither_a_value_nor_readable_for_devices() {
    let memory = memory();
    let page = memory.allocate_table_page().unwrap();
    let mut device = memory.device().unwrap();
    device.publish_window(1, 1);
    let mut bytes = [0; 64];
    for offset in [0, 64, 512, 4096, PAGE_BYTES as u64 - 64] {
        assert!(memory.read(&device, page.get() + offset, &mut bytes).is_err());
    }
    memory.retire([Retired::TablePage(page)]);
    assert!(memory.read(&device, page.get() + 512, &mut bytes).is_err());
}
