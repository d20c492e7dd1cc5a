//! The AXI-Stream ports of requests and completions.

use std::collections::VecDeque;

use crate::model::{Inputs, Outputs, Words};
use crate::platform::LINE_BYTES;

/// Queued requests, each one packet.
#[derive(Debug, Default)]
pub(crate) struct RequestStream(VecDeque<Beat>);

#[derive(Debug)]
struct Beat {
    data: Words,
    keep: u64,
    last: bool,
    /// Number of commands that must take effect before this beat.
    after: u64,
}

/// The bytes received so far of one completion.
#[derive(Debug, Default)]
pub(crate) struct CompletionStream(Vec<u8>);

impl RequestStream {
    pub(crate) fn push(&mut self, request: &[u8], after: u64) {
        let lines = request.len().div_ceil(LINE_BYTES);
        let beats = request.chunks(LINE_BYTES).enumerate().map(|(index, bytes)| {
            let mut line = [0; LINE_BYTES];
            line[..bytes.len()].copy_from_slice(bytes);
            let keep = u64::MAX >> (LINE_BYTES - bytes.len());
            Beat { data: words_of(&line), keep, last: index + 1 == lines, after }
        });
        self.0.extend(beats);
    }

    pub(crate) fn drive(&self, applied: u64, inputs: &mut Inputs) {
        let beat = self.0.front().filter(|beat| beat.after <= applied);
        inputs.request_valid = u64::from(beat.is_some());
        if let Some(beat) = beat {
            inputs.request_data = beat.data;
            inputs.request_keep = beat.keep;
            inputs.request_last = u64::from(beat.last);
        }
    }

    /// Returns whether the next request waits for commands.
    pub(crate) fn is_held(&self, applied: u64) -> bool {
        self.0.front().is_some_and(|beat| beat.after > applied)
    }

    pub(crate) fn observe(&mut self, inputs: &Inputs, outputs: &Outputs) {
        if inputs.request_valid & outputs.request_ready != 0 {
            self.0.pop_front();
        }
    }
}

impl CompletionStream {
    pub(crate) fn observe(&mut self, inputs: &Inputs, outputs: &Outputs, done: &mut dyn FnMut(&[u8])) {
        if inputs.completion_ready & outputs.completion_valid == 0 {
            return;
        }
        let line = line_of(&outputs.completion_data);
        self.0.extend_from_slice(&line[..outputs.completion_keep.count_ones() as usize]);
        if outputs.completion_last != 0 {
            done(&self.0);
            self.0.clear();
        }
    }
}

pub(super) fn words_of(line: &[u8; LINE_BYTES]) -> Words {
    std::array::from_fn(|index| u32::from_le_bytes(line.as_chunks::<4>().0[index]))
}

pub(super) fn line_of(words: &Words) -> [u8; LINE_BYTES] {
    let mut line = [0; LINE_BYTES];
    line.as_chunks_mut::<4>().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
    line
}
