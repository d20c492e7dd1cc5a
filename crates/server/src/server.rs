//! The server: starts its cores and ends them.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use honeycomb_memory::heap;
use honeycomb_memory::sync::Ordering;
use honeycomb_protocol::batch::Tokens;
use honeycomb_store::Store;

use crate::commands;
use crate::config::{Config, Datagrams};
use crate::core::Core;
use crate::datagrams::Protocol;
use crate::error::Error;
use crate::exporter::Exporter;
use crate::listening::{self, Listening};
use crate::open_files;
use crate::placement;
use crate::server_state::ServerState;
use crate::time::Time;

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
    shared: Arc<ServerState>,
    address: SocketAddr,
    threads: Vec<(JoinHandle<io::Result<()>>, Wake)>,
}

/// Wakes a thread up, so that it sees that the server stops.
type Wake = Box<dyn Fn() -> io::Result<()> + Send + Sync>;

impl Server {
    /// Starts a server for a store. The process may open as many files afterwards as its connections need, if
    /// the system lets it; if not, there may be fewer connections.
    ///
    /// Long blocks of the process's heap go back to the system when they are freed, from now on: buffers of
    /// clients are long for a moment.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start(mut config: Config, store: Store, time: Box<dyn Time>) -> Result<Self, Error> {
        config.check()?;
        heap::map_long_blocks();
        let connections_max = open_files::allow(config.connections_max, config.cores);
        if connections_max < config.connections_max {
            let wanted = config.connections_max;
            tracing::warn!(wanted, connections_max, "the system has no open files for as many connections");
            config.connections_max = connections_max;
        }
        let Datagrams { ocsm, batch, secret, .. } = config.datagrams;
        let Listening { address, sockets: listeners } =
            listening::streams("address", config.address, config.cores)?;
        let mut ports: Vec<Vec<(Protocol, UdpSocket)>> = listeners.iter().map(|_| Vec::new()).collect();
        for (protocol, name, asked) in [(Protocol::Ocsm, "ocsm", ocsm), (Protocol::Batch, "batch", batch)] {
            let Some(asked) = asked else { continue };
            let Listening { address, sockets } = listening::datagrams(name, asked, config.cores)?;
            match protocol {
                Protocol::Ocsm => config.datagrams.ocsm = Some(address),
                Protocol::Batch => config.datagrams.batch = Some(address),
            }
            ports.iter_mut().zip(sockets).for_each(|(ports, socket)| ports.push((protocol, socket)));
        }
        let tokens = Tokens::new(&secret.map_or_else(draw_secret, Ok)?);
        let metrics = config.metrics.map(Exporter::bind).transpose()?;
        let memory_bytes = store.statistics().memory.arena_bytes;
        let metrics_address = metrics.as_ref().map(Exporter::address);
        let mut config = Config { address, memory_bytes, metrics: metrics_address, ..config };
        config.settle_memory_limit()?;
        tracing::info!(%address, cores = config.cores, memory_bytes, metrics = ?metrics_address, "serving");
        let shared = Arc::new(ServerState::new(config, store, time, tokens, commands::table())?);
        let mut server = Self { shared, address, threads: Vec::new() };
        if let Some(exporter) = metrics {
            let (shared, stop) = (server.shared.clone(), exporter.stop());
            server.spawn("metrics".to_owned(), stop, move || exporter.run(shared))?;
        }
        let places = server.places()?;
        for (number, (listener, ports)) in listeners.into_iter().zip(ports).enumerate() {
            server.start_core(number, places.get(number).copied(), listener, ports)?;
        }
        Ok(server)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where Open Compute Storage Messages arrive, if they do.
    #[must_use]
    pub fn ocsm_address(&self) -> Option<SocketAddr> {
        self.shared.config().datagrams.ocsm
    }

    /// Where batch datagrams arrive, if they do.
    #[must_use]
    pub fn batch_address(&self) -> Option<SocketAddr> {
        self.shared.config().datagrams.batch
    }

    /// Where its metrics are, if they are anywhere.
    #[must_use]
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.shared.config().metrics
    }

    /// Lets clients end the server by `SHUTDOWN`: it calls this, whereupon the program is to call
    /// [`Server::stop`], on another thread. Unless it is said what to call, `SHUTDOWN` is refused.
    pub fn on_shutdown(&self, ending: impl Fn() + Send + 'static) {
        self.shared.set_ending(ending);
    }

    /// Ends it: no further connections are taken; what clients have sent by now is carried out, and replies
    /// are sent, for as long as [`Config::grace`] says.
    ///
    /// # Errors
    /// What ended a core before.
    pub fn stop(mut self) -> Result<(), Error> {
        self.end()
    }

    /// The core of the machine for each thread; none for those that go where the system has them go.
    fn places(&self) -> Result<Vec<usize>, Error> {
        let config = self.shared.config();
        Ok(if config.cpu_affinity { placement::one_each(config.cores)? } else { Vec::new() })
    }

    fn start_core(
        &mut self,
        number: usize,
        place: Option<usize>,
        listener: TcpListener,
        ports: Vec<(Protocol, UdpSocket)>,
    ) -> Result<(), Error> {
        let (core, waker) = Core::new(self.shared.clone(), number, listener, ports)?;
        let run = move || {
            // It serves all the same where this is not allowed.
            if let Some(Err(error)) = place.map(placement::stay_on) {
                tracing::warn!(number, %error, "a thread is not kept on a core");
            }
            core.run()
        };
        self.spawn(format!("core {number}"), Box::new(move || waker.wake()), run)
    }

    fn spawn(
        &mut self,
        name: String,
        wake: Wake,
        run: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Result<(), Error> {
        let thread = thread::Builder::new().name(name).spawn(run)?;
        self.threads.push((thread, wake));
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        self.shared.stopping.store(true, Ordering::Release);
        if self.threads.is_empty() {
            return Ok(());
        }
        tracing::info!(connections = self.shared.connections.load(Ordering::Relaxed), "stopping");
        for (_, wake) in &self.threads {
            wake()?;
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

fn draw_secret() -> Result<[u8; 16], Error> {
    let mut secret = [0; 16];
    getrandom::fill(&mut secret).map_err(Error::Random)?;
    Ok(secret)
}
