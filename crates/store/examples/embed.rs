//! A program that stores bookmarks: two tables, a batch with writes to both, scans, a snapshot, an image.
//!
//! `cargo run --example embed`

use honeycomb_store::{Batch, BatchOutcome, Config, Error, Scan, Store};

fn main() -> Result<(), Error> {
    let store = Store::open(Config { memory_bytes: 64 << 20, ..Config::default() })?;
    let (pages, tags) = (store.table("pages")?, store.table("tags")?);

    // One batch writes to both tables: readers see both changes or neither.
    for (page, title, tag) in [
        ("https://a.example/bees", "About bees", "nature"),
        ("https://a.example/wax", "About wax", "craft"),
        ("https://b.example/trees", "B+trees", "science"),
    ] {
        let mut batch = Batch::default();
        batch.insert(&pages, page.as_bytes(), title.as_bytes());
        batch.put(&tags, format!("{tag}/{page}").as_bytes(), b"");
        assert!(matches!(store.apply(&batch)?, BatchOutcome::Applied { .. }));
    }

    println!("pages of a.example:");
    for (page, title) in &pages.scan(&Scan::prefix("https://a.example/"))? {
        println!("  {}: {}", String::from_utf8_lossy(page), String::from_utf8_lossy(title));
    }

    let before = store.snapshot()?;
    pages.delete_range("https://a.example/".."https://a.example0")?;
    println!("{} pages now, {} before", pages.pair_count(), before.scan(&pages, &Scan::all())?.len());

    let mut image = Vec::new();
    store.save(&mut image)?;
    let copy = Store::open(Config { memory_bytes: 64 << 20, ..Config::default() })?;
    println!("{} pairs in an image of {} bytes", copy.load(&image[..])?, image.len());
    Ok(())
}
