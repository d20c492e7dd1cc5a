//! Generation of inputs for a parser.

use std::ops::Range;
use std::thread;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// Default number of bytes for each parser. A parser needs one to six seconds of a core for them.
const FUZZ_BYTES: u64 = 100_000_000;
/// One of this many inputs is an unchanged output of the encoder.
const WHOLE_ONES: u64 = 16;

/// Passes inputs to a parser until their total length is reached. `accepts` returns whether the parser
/// accepts the whole input, and panics if the parser violates a property. It must accept everything that
/// `write` returns.
pub(crate) fn feed(
    tokens: &[u8],
    write: impl Fn(&mut StdRng) -> Vec<u8>,
    accepts: impl Fn(&mut StdRng, &[u8]) -> bool,
) {
    let (seed, bytes_min) = (setting("HONEYCOMB_SEED", 1), setting("HONEYCOMB_FUZZ_BYTES", FUZZ_BYTES));
    println!("HONEYCOMB_SEED={seed} HONEYCOMB_FUZZ_BYTES={bytes_min}");
    let mut rng = StdRng::seed_from_u64(seed);
    let tokens: Vec<_> = tokens.split(|byte| *byte == b'|').collect();
    let (mut inputs, mut bytes, mut whole, mut accepted) = (0, 0, 0, 0);
    while bytes < bytes_min {
        let is_whole = inputs % WHOLE_ONES == 0;
        let input = if is_whole { write(&mut rng) } else { hostile(&mut rng, &tokens, &write) };
        let shown = Shown(&input);
        let is_accepted = accepts(&mut rng, &input);
        assert!(is_accepted || !is_whole, "the parser rejected an output of the encoder");
        drop(shown);
        inputs += 1;
        bytes += input.len() as u64;
        whole += u64::from(is_whole);
        accepted += u64::from(is_accepted);
    }
    println!("{bytes} bytes in {inputs} inputs: {accepted} accepted, {whole} of them unchanged");
    assert!(whole > 0, "no input was unchanged");
}

/// Returns a number from the environment, or a default.
fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// Prints an input if a test fails on it.
struct Shown<'a>(&'a [u8]);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("the input is b\"{}\"", self.0.escape_ascii());
        }
    }
}

/// Returns an encoded message with a few changes, or random bytes, or tokens.
fn hostile(rng: &mut StdRng, tokens: &[&[u8]], write: impl Fn(&mut StdRng) -> Vec<u8>) -> Vec<u8> {
    match rng.random_range(0..8) {
        0 => random_bytes(rng, 200),
        1 | 2 => (0..rng.random_range(1..=40)).flat_map(|_| pick(rng, tokens)).copied().collect(),
        _ => {
            let mut bytes = write(rng);
            (0..rng.random_range(1..=4)).for_each(|_| change(rng, &mut bytes, tokens));
            bytes
        }
    }
}

/// Changes a byte or a bit, truncates the input, removes a part, or inserts a copy of a part, a repeated
/// token, or random bytes.
fn change(rng: &mut StdRng, bytes: &mut Vec<u8>, tokens: &[&[u8]]) {
    let part = random_part(rng, bytes.len());
    let at = rng.random_range(0..=bytes.len());
    let new = match rng.random_range(0..9) {
        0 | 1 => return bytes[part].iter_mut().take(1).for_each(|byte| *byte = rng.random()),
        2 | 3 => return bytes[part].iter_mut().take(1).for_each(|byte| *byte ^= 1 << rng.random_range(0..8)),
        4 => return bytes.truncate(at),
        5 => return drop(bytes.drain(part)),
        6 => bytes[part].to_vec(),
        7 => {
            let token = pick(rng, tokens);
            token.repeat(random_length(rng) / token.len() + 1)
        }
        _ => random_bytes(rng, 8),
    };
    bytes.splice(at..at, new);
}

pub(crate) fn pick<T: Copy>(rng: &mut StdRng, of: &[T]) -> T {
    *of.choose(rng).unwrap()
}

pub(crate) fn random_bytes(rng: &mut StdRng, most: usize) -> Vec<u8> {
    let mut bytes = vec![0; rng.random_range(0..=most)];
    rng.fill(&mut bytes[..]);
    bytes
}

/// Returns a range within this number of bytes. Most ranges are short.
pub(crate) fn random_part(rng: &mut StdRng, bytes: usize) -> Range<usize> {
    let start = rng.random_range(0..=bytes);
    let most = if rng.random_ratio(7, 8) { 12.min(bytes - start) } else { bytes - start };
    start..start + rng.random_range(0..=most)
}

/// Returns the length of an argument. Most are short, and a few exceed the limit on lines.
pub(crate) fn random_length(rng: &mut StdRng) -> usize {
    let most = match rng.random_range(0..5000) {
        0 => 70_000,
        1..200 => 500,
        _ => 12,
    };
    rng.random_range(0..=most)
}
