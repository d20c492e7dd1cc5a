//! A server that keeps an index in its databases 0 to 2, through a Redis client.

use std::net::SocketAddr;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redis::{Client, Cmd, Connection, FromRedisValue, cmd, pipe};

use super::{IndexSnapshot, IndexStore, IndexTable, KeyRange, NewPair, PairVisitor};
use crate::Error;

/// The number of commands in a pipeline.
const PIPELINE_COMMANDS: usize = 256;
/// The number of pairs in a page of a scan.
const PAGE_PAIRS: usize = 1000;
/// The time between renewals of a snapshot. It is much shorter than the lease of the server.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(15);

/// A server, with a pool of connections.
pub struct ServerStore {
    address: SocketAddr,
    idle: Mutex<Vec<IdleConnection>>,
}

/// An unused connection to the database of a table.
struct IdleConnection {
    table: IndexTable,
    connection: Connection,
}

impl ServerStore {
    /// Creates a store that connects to `address` when it executes commands.
    #[must_use]
    pub fn new(address: SocketAddr) -> ServerStore {
        ServerStore { address, idle: Mutex::default() }
    }

    /// Executes a command in the database of `table`.
    fn query<T: FromRedisValue>(&self, table: IndexTable, command: &Cmd) -> Result<T, Error> {
        self.with_connection(table, |connection| command.query(connection))
    }

    /// Calls `execute` with a connection to the database of `table`: an idle one or a new one. A connection
    /// with an error does not return to the pool.
    fn with_connection<T>(
        &self,
        table: IndexTable,
        execute: impl FnOnce(&mut Connection) -> redis::RedisResult<T>,
    ) -> Result<T, Error> {
        let mut connection = match self.idle_connection(table) {
            Some(connection) => connection,
            None => connect(self.address, table)?,
        };
        let reply = execute(&mut connection).map_err(Error::server(self.address))?;
        self.lock_idle().push(IdleConnection { table, connection });
        Ok(reply)
    }

    fn idle_connection(&self, table: IndexTable) -> Option<Connection> {
        let mut idle = self.lock_idle();
        let index = idle.iter().position(|idle| idle.table == table)?;
        Some(idle.swap_remove(index).connection)
    }

    fn lock_idle(&self) -> MutexGuard<'_, Vec<IdleConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the number of the database that contains a table.
pub(crate) fn database(table: IndexTable) -> i64 {
    table as i64
}

fn connect(address: SocketAddr, table: IndexTable) -> Result<Connection, Error> {
    let client = Client::open(format!("redis://{address}/{}", database(table)));
    client.and_then(|client| client.get_connection()).map_err(Error::server(address))
}

impl IndexStore for ServerStore {
    fn add(&self, table: IndexTable, key: &[u8], amount: i64) -> Result<i64, Error> {
        self.query(table, cmd("INCRBY").arg(key).arg(amount))
    }

    fn put(&self, pairs: &[NewPair]) -> Result<(), Error> {
        // The replies of a pipeline arrive before the pairs of the next table are sent.
        for pairs in pairs.chunk_by(|one, other| one.table == other.table) {
            self.with_connection(pairs[0].table, |connection| {
                pairs.chunks(PIPELINE_COMMANDS).try_for_each(|pairs| {
                    let mut sets = pipe();
                    pairs.iter().for_each(|pair| _ = sets.set(&pair.key, &pair.value).ignore());
                    sets.exec(connection)
                })
            })?;
        }
        Ok(())
    }

    fn delete(&self, table: IndexTable, key: &[u8]) -> Result<(), Error> {
        self.query(table, cmd("DEL").arg(key))
    }

    fn delete_range(&self, table: IndexTable, from: &[u8], to: &[u8]) -> Result<(), Error> {
        let (from, to) = (bound(b'[', from), bound(b'(', to));
        self.query(table, cmd("RI.DELRANGE").arg(from).arg(to))
    }

    fn snapshot(&self) -> Result<Box<dyn IndexSnapshot + '_>, Error> {
        let token = self.query(IndexTable::Files, cmd("RI.SNAPSHOT").arg("TAKE"))?;
        Ok(Box::new(ServerSnapshot { store: self, token, renewed: Mutex::new(Instant::now()) }))
    }

    fn server(&self) -> Option<SocketAddr> {
        Some(self.address)
    }
}

/// A snapshot on the server. Dropping this value drops the snapshot.
struct ServerSnapshot<'s> {
    store: &'s ServerStore,
    token: i64,
    renewed: Mutex<Instant>,
}

impl ServerSnapshot<'_> {
    /// Renews the lease of the snapshot if the last renewal is [`RENEWAL_INTERVAL`] ago.
    fn renew(&self) -> Result<(), Error> {
        let mut renewed = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        if renewed.elapsed() > RENEWAL_INTERVAL {
            self.command("RENEW")?;
            *renewed = Instant::now();
        }
        Ok(())
    }

    fn command(&self, name: &str) -> Result<(), Error> {
        self.store.query(IndexTable::Files, cmd("RI.SNAPSHOT").arg(name).arg(self.token))
    }

    /// Returns the first pairs of a range.
    fn page(&self, table: IndexTable, range: &KeyRange, limit: usize) -> Result<Page, Error> {
        self.renew()?;
        let [lower, upper] = bounds(range);
        let mut scan = cmd("RI.RANGE");
        scan.arg(lower).arg(upper).arg("COUNT").arg(limit).arg("SNAPSHOT").arg(self.token);
        if range.floor_start {
            scan.arg("FLOOR");
        }
        self.store.query(table, &scan)
    }
}

/// Keys and values.
type Page = Vec<(Vec<u8>, Vec<u8>)>;

impl IndexSnapshot for ServerSnapshot<'_> {
    fn get(&self, table: IndexTable, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let key = Bound::Included(key.to_vec());
        let range = KeyRange { lower: key.clone(), upper: key, floor_start: false };
        Ok(self.page(table, &range, 1)?.pop().map(|(_, value)| value))
    }

    fn scan(&self, table: IndexTable, mut range: KeyRange, visit: PairVisitor<'_>) -> Result<(), Error> {
        loop {
            let page = self.page(table, &range, PAGE_PAIRS)?;
            for (key, value) in &page {
                visit(key, value)?;
            }
            let Some((last, _)) = page.last().filter(|_| page.len() == PAGE_PAIRS) else { return Ok(()) };
            range = range.after(last);
        }
    }
}

impl Drop for ServerSnapshot<'_> {
    fn drop(&mut self) {
        // If this fails, the snapshot ends with its lease.
        _ = self.command("DROP");
    }
}

/// Returns the bounds of a range in the syntax of `RI.RANGE`.
pub(crate) fn bounds(range: &KeyRange) -> [Vec<u8>; 2] {
    let encode = |key: &Bound<Vec<u8>>, unbounded: &[u8]| match key {
        Bound::Included(key) => bound(b'[', key),
        Bound::Excluded(key) => bound(b'(', key),
        Bound::Unbounded => unbounded.to_vec(),
    };
    [encode(&range.lower, b"-"), encode(&range.upper, b"+")]
}

fn bound(kind: u8, key: &[u8]) -> Vec<u8> {
    [&[kind], key].concat()
}
