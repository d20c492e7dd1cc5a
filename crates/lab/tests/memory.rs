//! Memory that the process has written is resident. The test is the only one of its process, because others
//! would free memory meanwhile.

use honeycomb_lab::map::Failure;
use honeycomb_lab::memory::{available_bytes, resident_bytes, total_bytes};

#[test]
fn written_memory_is_resident() -> Result<(), Failure> {
    const BYTES: usize = 256 << 20;
    let before = resident_bytes()?;
    let written = std::hint::black_box(vec![1_u8; BYTES]);
    // The system may take pages of files back.
    assert!(resident_bytes()? > before + BYTES as u64 / 2);
    drop(written);
    assert!(available_bytes()? < total_bytes()?);
    Ok(())
}
