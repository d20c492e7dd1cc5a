//! Outgoing datagrams. Datagrams of equal size on the same route are sent with one system call.

use crate::datagrams::port::{Port, Route};

/// The contents of the datagrams, consecutively.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pub(super) bytes: Vec<u8>,
    /// The end and the route of each datagram.
    datagrams: Vec<(usize, Route)>,
}

impl Outbox {
    /// Ends a datagram at the end of the bytes, or several datagrams at several ends.
    pub(super) fn end(&mut self, route: Route, ends: impl IntoIterator<Item = usize>) {
        self.datagrams.extend(ends.into_iter().map(|end| (end, route)));
    }

    /// Returns the bytes of memory in use.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.datagrams.capacity() * size_of::<(usize, Route)>()
    }

    /// Returns whether there are no datagrams.
    pub(super) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Sends all datagrams.
    pub(super) fn send(&mut self, ports: &[Port]) {
        let (mut rest, mut start) = (&self.datagrams[..], 0);
        while let Some((&(first, route), _)) = rest.split_first() {
            let Some(port) = ports.get(route.port) else { break };
            let count = together(rest, start, port.together_max());
            let end = rest[count - 1].0;
            port.send(route, &self.bytes[start..end], first - start);
            (rest, start) = (&rest[count..], end);
        }
        self.bytes.clear();
        self.datagrams.clear();
    }
}

/// Returns the number of datagrams at the front that have the same route and the size of the first one. The
/// last one may be shorter.
fn together(datagrams: &[(usize, Route)], start: usize, most: usize) -> usize {
    let Some(&(_, route)) = datagrams.first() else { return 0 };
    let same_way = datagrams.iter().take_while(|(_, its_route)| *its_route == route);
    honeycomb_protocol::segment_run(start, same_way.map(|(end, _)| *end), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_sends_one_size_on_one_route() {
        let route = |port| Route { port, client: ([127, 0, 0, 1], 9).into(), server: None };
        let of = |sizes: &[(usize, usize)], most| {
            let ends = sizes.iter().scan(100, |end, &(size, port)| {
                *end += size;
                Some((*end, route(port)))
            });
            together(&ends.collect::<Vec<_>>(), 100, most)
        };
        assert_eq!(of(&[(9, 0), (9, 0), (9, 0)], 64), 3);
        assert_eq!(of(&[(9, 0), (9, 0), (9, 0)], 2), 2);
        assert_eq!(of(&[(9, 0), (9, 0), (8, 0), (8, 0)], 64), 3);
        assert_eq!(of(&[(9, 0), (10, 0)], 64), 1);
        assert_eq!(of(&[(9, 0), (9, 1)], 64), 1);
        assert_eq!(of(&[(40_000, 0), (40_000, 0)], 64), 1);
        assert_eq!(of(&[(9, 0)], 1), 1);
    }
}
