//! The server's encoder of replies, which have one datagram or several.

use crate::batch::encoding::Encoder;
use crate::batch::header::{Header, Kind};
use crate::batch::item::Item;

/// Whether an item fitted into a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the item may not have fitted"]
pub enum Room {
    /// The item was added.
    Fits,
    /// The reply is full.
    Full,
    /// The item is longer than any datagram.
    Never,
}

/// An encoder that appends the datagrams of a reply to a buffer.
#[derive(Debug)]
pub struct ReplyWriter<'o> {
    out: &'o mut Vec<u8>,
    /// The end offsets of the earlier datagrams.
    ends: &'o mut Vec<usize>,
    header: Header,
    payload_bytes: usize,
    /// The number of datagrams that may follow this one.
    further: u8,
    start: usize,
    encoder: Encoder,
}

impl<'o> ReplyWriter<'o> {
    /// Begins the reply to a request: at most `datagrams_max` datagrams of at most `payload_bytes` bytes.
    /// Appends them to `out` and their end offsets to `ends`.
    ///
    /// # Panics
    /// If `payload_bytes` is less than the size of a header.
    #[must_use]
    pub fn to(
        request: &Header,
        payload_bytes: usize,
        datagrams_max: u8,
        out: &'o mut Vec<u8>,
        ends: &'o mut Vec<usize>,
    ) -> Self {
        assert!(payload_bytes >= Header::SIZE, "a header does not fit into {payload_bytes} bytes");
        let header = Header { count: 0, position: 0, table: 0, ..*request };
        let further = datagrams_max.saturating_sub(1);
        let mut reply =
            Self { out, ends, header, payload_bytes, further, start: 0, encoder: Encoder::default() };
        reply.begin();
        reply
    }

    /// Adds an item, if necessary in a further datagram. In the last datagram `reserve` bytes stay free.
    /// Callers reserve at least one byte for each later item, so that a status for each of them fits.
    pub fn push(&mut self, item: &Item<'_>, reserve: usize) -> Room {
        let (first, parts) = item.parts();
        let end = self.start + self.payload_bytes;
        let end = if self.further == 0 { end.saturating_sub(reserve) } else { end };
        let countable = self.header.count < u16::MAX;
        if countable && self.encoder.write(first, &parts, self.out, end) {
            self.header.count += 1;
            return Room::Fits;
        }
        if self.exceeds_datagram(item) {
            return Room::Never;
        }
        if self.further == 0 {
            return Room::Full;
        }
        self.end(Kind::Reply);
        self.header.position += 1;
        self.further -= 1;
        self.begin();
        self.push(item, reserve)
    }

    /// Ends the reply.
    pub fn finish(mut self) {
        self.end(Kind::ReplyEnd);
    }

    /// Returns whether an item is too long for an empty datagram.
    fn exceeds_datagram(&self, item: &Item<'_>) -> bool {
        let mut scratch = Vec::new();
        let (first, parts) = item.parts();
        !Encoder::default().write(first, &parts, &mut scratch, self.payload_bytes - Header::SIZE)
    }

    fn begin(&mut self) {
        self.start = self.out.len();
        self.out.extend_from_slice(&[0; Header::SIZE]);
        self.encoder = Encoder::default();
        self.header.count = 0;
    }

    fn end(&mut self, kind: Kind) {
        let header = Header { kind, ..self.header };
        self.out[self.start..self.start + Header::SIZE].copy_from_slice(&header.bytes());
        self.ends.push(self.out.len());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::batch::{Items, Malformed};

    const REQUEST: Header = Header { session: 3, identifier: 4, attempt: 5, ..Header::of(Kind::Request) };

    /// The datagrams of a reply, and for each item whether it fitted.
    fn replied(items: &[Item<'_>], payload_bytes: usize, datagrams_max: u8) -> (Vec<Vec<u8>>, Vec<Room>) {
        let (mut out, mut ends) = (Vec::new(), Vec::new());
        let mut reply = ReplyWriter::to(&REQUEST, payload_bytes, datagrams_max, &mut out, &mut ends);
        let later = (0..items.len()).rev();
        let rooms = items.iter().zip(later).map(|(item, later)| match reply.push(item, later) {
            Room::Fits => Room::Fits,
            room => {
                let short = if room == Room::Full { Item::NoRoom } else { Item::TooLarge };
                assert_eq!(reply.push(&short, later), Room::Fits);
                room
            }
        });
        let rooms = rooms.collect();
        reply.finish();
        let starts = std::iter::once(&0).chain(&ends);
        (starts.zip(&ends).map(|(start, end)| out[*start..*end].to_vec()).collect(), rooms)
    }

    fn items_of(datagram: &[u8]) -> (Header, Result<Vec<Item<'_>>, Malformed>) {
        let (header, rest) = Header::parse(datagram).unwrap();
        (header, Items::new(header.count, rest).collect())
    }

    #[test]
    fn repetitions_are_omitted() {
        let items = [
            Item::Found(b"red"),
            Item::Found(b"sun"),
            Item::Found(b"sun"),
            Item::Pair { key: b"a", value: b"sun" },
            Item::Pair { key: b"b", value: b"sea" },
            Item::Done { more: true },
            Item::Failed,
        ];
        let (datagrams, _) = replied(&items, 100, 1);
        let bytes = &datagrams[0][Header::SIZE..];
        let expected = [&b"\x01\x03\0red"[..], b"\x11sun", b"\x21", b"\x22\x01\0a", b"\x12bsea", b"\x40\x0a"];
        assert_eq!(bytes.escape_ascii().to_string(), expected.concat().escape_ascii().to_string());
    }

    #[test]
    fn a_full_reply_reports_omitted_items() {
        let ten = [7; 10];
        let items = [Item::Found(&ten), Item::Found(&ten), Item::Found(&[8; 40]), Item::Absent];
        let (datagrams, rooms) = replied(&items, Header::SIZE + 20, 1);
        assert_eq!(rooms, [Room::Fits, Room::Fits, Room::Never, Room::Fits]);
        let (datagrams_of_others, rooms) = replied(&[Item::Found(&ten), Item::Found(&[8; 10])], 40, 1);
        assert_eq!(rooms, [Room::Fits, Room::Full]);
        let (header, items) = items_of(&datagrams_of_others[0]);
        assert_eq!(items.unwrap(), [Item::Found(&ten), Item::NoRoom]);
        assert_eq!((header.kind, header.attempt, header.identifier), (Kind::ReplyEnd, 5, 4));
        assert_eq!(datagrams.len(), 1);
    }

    #[test]
    fn a_long_reply_continues_in_further_datagrams() {
        let values: Vec<Vec<u8>> = (0..9).map(|number| vec![number; 10]).collect();
        let items: Vec<Item<'_>> = values.iter().map(|value| Item::Found(value)).collect();
        let (datagrams, rooms) = replied(&items, Header::SIZE + 30, 4);
        assert_eq!(rooms[..8], [Room::Fits; 8]);
        assert_eq!(rooms[8..], [Room::Full]);
        for (position, datagram) in datagrams.iter().enumerate() {
            let (header, _) = items_of(datagram);
            let kind = if position == 3 { Kind::ReplyEnd } else { Kind::Reply };
            assert_eq!((header.kind, usize::from(header.position)), (kind, position));
            assert!(datagram.len() <= Header::SIZE + 30);
        }
    }

    fn any_item() -> impl Strategy<Value = (u8, Vec<u8>, Vec<u8>)> {
        let bytes = || prop::collection::vec(0..3_u8, 0..12);
        (0..12_u8, bytes(), bytes())
    }

    fn borrowed((status, key, value): &(u8, Vec<u8>, Vec<u8>)) -> Item<'_> {
        match status {
            0 => Item::Done { more: false },
            1 => Item::Done { more: true },
            2..=4 => Item::Found(value),
            5..=7 => Item::Pair { key, value },
            8 => Item::Absent,
            9 => Item::KeyLength,
            10 => Item::OutOfMemory,
            _ => Item::Differs,
        }
    }

    proptest! {
        #[test]
        fn items_round_trip(
            items in prop::collection::vec(any_item(), 0..30),
            room in 40..120_usize,
            datagrams_max in 1..9_u8,
        ) {
            let items: Vec<Item<'_>> = items.iter().map(borrowed).collect();
            let (datagrams, rooms) = replied(&items, Header::SIZE + room, datagrams_max);
            prop_assert!(datagrams.len() <= usize::from(datagrams_max));
            let arrived: Vec<Item<'_>> = datagrams.iter().flat_map(|one| items_of(one).1.unwrap()).collect();
            let expected = items.iter().zip(&rooms).map(|(item, room)| match room {
                Room::Fits => *item,
                Room::Full => Item::NoRoom,
                Room::Never => Item::TooLarge,
            });
            prop_assert_eq!(arrived, expected.collect::<Vec<_>>());
            prop_assert!(datagrams.iter().all(|datagram| datagram.len() <= Header::SIZE + room));
        }

        #[test]
        fn arbitrary_bytes_are_items_or_rejected(
            count in 0..9_u16,
            bytes in prop::collection::vec(0..60_u8, 0..60),
        ) {
            prop_assert!(Items::new(count, &bytes).take(10).count() <= usize::from(count) + 1);
        }
    }
}
