//! The server: starts its cores and ends them.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use honeycomb_memory::sync::Ordering;
use honeycomb_store::Store;
use mio::Waker;
use socket2::{Domain, Protocol, Socket, Type};

use crate::config::Config;
use crate::core::Core;
use crate::exporter::Exporter;
use crate::parameters::Refused;
use crate::reaper::Reaper;
use crate::shared::Shared;
use crate::time::Time;

/// Why a server was not started, or has ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is not allowed.
    #[error(transparent)]
    Parameter(#[from] Refused),
    /// Nobody can listen there.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The store has no room for the tables.
    #[error(transparent)]
    Store(#[from] honeycomb_store::Error),
    /// The system refused something.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A server that runs. It is stopped when this is dropped.
///
/// ```
/// use std::io::{Read, Write};
///
/// use honeycomb_server::{Config, Server, SystemTime};
/// use honeycomb_store::Store;
///
/// let store = Store::open(honeycomb_store::Config { memory_bytes: 16 << 20, ..Default::default() })?;
/// let config = Config { address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
/// let server = Server::start(config, store, Box::new(SystemTime))?;
/// let mut client = std::net::TcpStream::connect(server.address())?;
/// client.write_all(b"SET apple red\r\nGET apple\r\nQUIT\r\n")?;
/// let mut replies = String::new();
/// client.read_to_string(&mut replies)?;
/// assert_eq!(replies, "+OK\r\n$3\r\nred\r\n+OK\r\n");
/// server.stop()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    threads: Vec<(JoinHandle<io::Result<()>>, Waker)>,
}

impl Server {
    /// Starts a server for a store.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start(config: Config, store: Store, time: Box<dyn Time>) -> Result<Self, Error> {
        config.check()?;
        let first = listener(config.address)?;
        let address = first.local_addr()?;
        let mut listeners = vec![first];
        for _ in 1..config.cores {
            listeners.push(listener(address)?);
        }
        let metrics = config.metrics.map(Exporter::bind).transpose()?;
        let memory_bytes = store.statistics().memory.arena_bytes;
        let metrics_address = metrics.as_ref().map(Exporter::address);
        let config = Config { address, memory_bytes, metrics: metrics_address, ..config };
        tracing::info!(%address, cores = config.cores, memory_bytes, metrics = ?metrics_address, "serving");
        let shared = Arc::new(Shared::new(config, store, time)?);
        let mut server = Self { shared, address, threads: Vec::new() };
        if let Some(exporter) = metrics {
            let (shared, waker) = (server.shared.clone(), exporter.waker()?);
            server.spawn("metrics".to_owned(), waker, move || exporter.run(&shared))?;
        }
        for (number, listener) in listeners.into_iter().enumerate() {
            server.start_core(number, listener)?;
        }
        Ok(server)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its metrics are, if they are anywhere.
    #[must_use]
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.shared.config().metrics
    }

    /// Ends it: no further connections are taken; what clients have sent by now is carried out, and replies
    /// are sent, for as long as [`Config::grace`] says.
    ///
    /// # Errors
    /// What ended a core before.
    pub fn stop(mut self) -> Result<(), Error> {
        self.end()
    }

    fn start_core(&mut self, number: usize, listener: TcpListener) -> Result<(), Error> {
        let reaper = (number == 0).then(Reaper::default);
        let (core, waker) = Core::new(self.shared.clone(), number, listener, reaper)?;
        self.spawn(format!("core {number}"), waker, move || core.run())
    }

    fn spawn(
        &mut self,
        name: String,
        waker: Waker,
        run: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Result<(), Error> {
        let thread = thread::Builder::new().name(name).spawn(run)?;
        self.threads.push((thread, waker));
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        self.shared.stopping.store(true, Ordering::Release);
        if self.threads.is_empty() {
            return Ok(());
        }
        tracing::info!(connections = self.shared.connections.load(Ordering::Relaxed), "stopping");
        for (_, waker) in &self.threads {
            waker.wake()?;
        }
        for (thread, _) in self.threads.drain(..) {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        match self.shared.connections.load(Ordering::Relaxed) {
            0 => tracing::info!("stopped"),
            connections => tracing::warn!(connections, "stopped before all replies were sent"),
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::error!(%error, "a core ended before its time");
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

/// One of several listeners at an address: the system deals connections out to them.
fn listener(address: SocketAddr) -> Result<TcpListener, Error> {
    let listen = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(1024)?;
        Ok(socket.into())
    };
    listen().map_err(|error| Error::Listen { address, error })
}
