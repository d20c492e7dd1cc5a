//! Pairs kept by a server: each table of an index is a numbered table there.

use super::{Keeper, Moment, New, Place, Take};
use crate::{
    connection::{Command, Connection, command},
    error::Error,
    pages::Request,
};
use honeycomb_protocol::resp::{Reply, format_decimal};
use std::{
    net::SocketAddr,
    ops::Bound,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Requests that are sent before their replies are waited for.
const AHEAD: usize = 256;
/// Pairs of a page of a scan.
const PAGE: u64 = 1000;
/// How often a snapshot is renewed: well within the time that the server gives it.
const RENEW_EVERY: Duration = Duration::from_secs(15);

/// A server, and connections that nobody uses right now.
pub(crate) struct Remote {
    address: SocketAddr,
    idle: Mutex<Vec<(Place, Connection)>>,
}

impl Remote {
    /// The server at an address.
    pub(crate) fn new(address: SocketAddr) -> Remote {
        Remote { address, idle: Mutex::default() }
    }

    /// Where the server is.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of a table.
    pub(crate) fn number(place: Place) -> i64 {
        place as i64
    }

    /// Sends requests to a table and returns the replies.
    fn ask_all(&self, place: Place, requests: &[Command]) -> Result<Vec<Reply>, Error> {
        let mut connection = self.take(place)?;
        let mut answers = Vec::with_capacity(requests.len());
        for some in requests.chunks(AHEAD) {
            answers.extend(connection.ask_all(some)?);
        }
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push((place, connection));
        Ok(answers)
    }

    fn ask(&self, place: Place, request: Command) -> Result<Reply, Error> {
        let answer = self.ask_all(place, &[request])?.pop();
        answer.ok_or_else(|| Error::Wire { address: self.address, problem: "no reply".into() })
    }

    /// A connection to a table: an idle one, or a new one.
    fn take(&self, place: Place) -> Result<Connection, Error> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = idle.iter().position(|(of, _)| *of == place) {
            return Ok(idle.swap_remove(index).1);
        }
        drop(idle);
        let mut connection = Connection::open(self.address)?;
        connection.ask_all(&[command(&[b"SELECT", &format_decimal(Self::number(place))])])?;
        Ok(connection)
    }

    fn unexpected(&self, answer: &Reply) -> Error {
        Error::Wire { address: self.address, problem: format!("an unexpected reply: {answer:?}") }
    }
}

impl Keeper for Remote {
    fn add(&self, place: Place, key: &[u8], amount: i64) -> Result<i64, Error> {
        match self.ask(place, command(&[b"INCRBY", key, &format_decimal(amount)]))? {
            Reply::Integer(sum) => Ok(sum),
            other => Err(self.unexpected(&other)),
        }
    }

    fn put(&self, pairs: &[New]) -> Result<(), Error> {
        // Those of one table go together; those of the next only once these are there.
        for run in pairs.chunk_by(|one, other| one.place == other.place) {
            let sets: Vec<_> = run.iter().map(|new| command(&[b"SET", &new.key, &new.value])).collect();
            self.ask_all(run[0].place, &sets)?;
        }
        Ok(())
    }

    fn delete(&self, place: Place, key: &[u8]) -> Result<(), Error> {
        self.ask(place, command(&[b"DEL", key])).map(drop)
    }

    fn delete_range(&self, place: Place, from: &[u8], to: &[u8]) -> Result<(), Error> {
        let (from, to) = (bound(b'[', from), bound(b'(', to));
        self.ask(place, command(&[b"RI.DELRANGE", &from, &to])).map(drop)
    }

    fn moment(&self) -> Result<Box<dyn Moment + '_>, Error> {
        match self.ask(Place::Files, command(&[b"RI.SNAPSHOT", b"TAKE"]))? {
            Reply::Integer(token) => {
                let (token, renewed) = (format_decimal(token).to_vec(), Mutex::new(Instant::now()));
                Ok(Box::new(Then { remote: self, token, renewed }))
            }
            other => Err(self.unexpected(&other)),
        }
    }
}

/// A snapshot of the server, dropped with this.
struct Then<'r> {
    remote: &'r Remote,
    token: Vec<u8>,
    renewed: Mutex<Instant>,
}

impl Then<'_> {
    /// Renews the snapshot's lease, if that was not done lately.
    fn renew(&self) -> Result<(), Error> {
        let mut renewed = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        if renewed.elapsed() > RENEW_EVERY {
            self.remote.ask(Place::Files, command(&[b"RI.SNAPSHOT", b"RENEW", &self.token]))?;
            *renewed = Instant::now();
        }
        Ok(())
    }

    /// The next pairs of a scan, and whether there may be more.
    fn page(&self, place: Place, wanted: &Request, limit: u64) -> Result<Page, Error> {
        self.renew()?;
        let [lower, upper] = bounds(wanted);
        let count = format_decimal(limit as i64);
        let mut scan = command(&[b"RI.RANGE", &lower, &upper, b"COUNT", &count, b"SNAPSHOT", &self.token]);
        if wanted.floor_start {
            scan.push(b"FLOOR".to_vec());
        }
        let answer = self.remote.ask(place, scan)?;
        let Reply::Array(items) = answer else { return Err(self.remote.unexpected(&answer)) };
        let mut page = Page::with_capacity(items.len() / 2);
        let mut items = items.into_iter();
        while let Some(key) = items.next() {
            match (key, items.next()) {
                (Reply::Bulk(key), Some(Reply::Bulk(value))) => page.push((key, value)),
                (other, _) => return Err(self.remote.unexpected(&other)),
            }
        }
        Ok(page)
    }
}

/// Keys and values.
type Page = Vec<(Vec<u8>, Vec<u8>)>;

impl Moment for Then<'_> {
    fn get(&self, place: Place, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let exactly = Bound::Included(key.to_vec());
        let wanted = Request { lower: exactly.clone(), upper: exactly, ..Request::default() };
        Ok(self.page(place, &wanted, 1)?.pop().map(|(_, value)| value))
    }

    fn scan(&self, place: Place, mut request: Request, take: Take<'_>) -> Result<(), Error> {
        debug_assert!(!request.backward && !request.keys_only, "nobody asks for that of an index");
        loop {
            let limit = request.limit.min(PAGE);
            let page = self.page(place, &request, limit)?;
            for (key, value) in &page {
                take(key, value)?;
            }
            request.limit -= page.len() as u64;
            let Some((last, _)) = page.last().filter(|_| page.len() as u64 == limit) else { return Ok(()) };
            if request.limit == 0 {
                return Ok(());
            }
            (request.lower, request.floor_start) = (Bound::Excluded(last.clone()), false);
        }
    }
}

impl Drop for Then<'_> {
    fn drop(&mut self) {
        // If it cannot be dropped it ends when its time is over.
        let _ = self.remote.ask(Place::Files, command(&[b"RI.SNAPSHOT", b"DROP", &self.token]));
    }
}

fn bound(kind: u8, key: &[u8]) -> Vec<u8> {
    [&[kind], key].concat()
}

/// The bounds of a scan as the server reads them.
pub(crate) fn bounds(request: &Request) -> [Vec<u8>; 2] {
    [limit_of(&request.lower, b"-"), limit_of(&request.upper, b"+")]
}

fn limit_of(key: &Bound<Vec<u8>>, unbounded: &[u8]) -> Vec<u8> {
    match key {
        Bound::Included(key) => bound(b'[', key),
        Bound::Excluded(key) => bound(b'(', key),
        Bound::Unbounded => unbounded.to_vec(),
    }
}
