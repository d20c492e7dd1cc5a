//! Starts and stops a server.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::{fmt, io};

use honeycomb_memory::heap;
use honeycomb_memory::sync::Ordering;
use honeycomb_protocol::batch::Tokens;
use honeycomb_store::Store;

use crate::background::{Background, Role};
use crate::config::{Config, Datagrams};
use crate::core::Core;
use crate::datagrams::Protocol;
use crate::error::Error;
use crate::exporter::Exporter;
use crate::listening::{self, Listening};
use crate::server_state::ServerState;
use crate::time::Time;
use crate::{commands, held, open_files, placement, watches};

/// A running server. Dropping it stops it.
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
    background: Arc<Background>,
    background_threads: Vec<JoinHandle<()>>,
}

/// Wakes a thread, so that it notices that the server stops.
type Wake = Box<dyn Fn() -> io::Result<()> + Send + Sync>;

impl Server {
    /// Starts a server for a store. Raises the limit of open files of the process as far as the connections
    /// need and the system allows; otherwise the server accepts fewer connections.
    ///
    /// From now on the heap of the process returns large blocks to the system as soon as they are freed,
    /// because buffers of clients are large only for a short time.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start(mut config: Config, store: Store, time: Box<dyn Time>) -> Result<Self, Error> {
        config.check()?;
        heap::map_long_blocks();
        let connections_max = open_files::allow(config.connections_max, config.cores);
        if connections_max < config.connections_max {
            let wanted = config.connections_max;
            tracing::warn!(wanted, connections_max, "the limit of open files allows fewer connections");
            config.connections_max = connections_max;
        }
        let Datagrams { ocsm, batch, secret, .. } = config.datagrams;
        let Listening { address, sockets: listeners } =
            listening::streams("address", config.address, config.cores)?;
        let mut ports: Vec<Vec<(Protocol, UdpSocket)>> = listeners.iter().map(|_| Vec::new()).collect();
        for (protocol, name, requested) in [(Protocol::Ocsm, "ocsm", ocsm), (Protocol::Batch, "batch", batch)]
        {
            let Some(requested) = requested else { continue };
            let Listening { address, sockets } = listening::datagrams(name, requested, config.cores)?;
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
        held::wake_cores(&shared);
        watches::follow_log(&shared.store, &shared.watches);
        let background = Arc::new(Background::new(shared.config().cores));
        let mut server =
            Self { shared, address, threads: Vec::new(), background, background_threads: Vec::new() };
        server.start_background()?;
        server.start_watches()?;
        if let Some(exporter) = metrics {
            let (shared, stop) = (server.shared.clone(), exporter.stop());
            server.spawn("metrics".to_owned(), stop, move || exporter.run(shared))?;
        }
        let cpus = server.cpus()?;
        for (number, (listener, ports)) in listeners.into_iter().zip(ports).enumerate() {
            server.start_core(number, cpus.get(number).copied(), listener, ports)?;
        }
        Ok(server)
    }

    /// Returns the address at which the server listens for Redis clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address at which the server receives Open Compute Storage Messages.
    #[must_use]
    pub fn ocsm_address(&self) -> Option<SocketAddr> {
        self.shared.config().datagrams.ocsm
    }

    /// Returns the address at which the server receives batch datagrams.
    #[must_use]
    pub fn batch_address(&self) -> Option<SocketAddr> {
        self.shared.config().datagrams.batch
    }

    /// Returns the address of the metrics.
    #[must_use]
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.shared.config().metrics
    }

    /// Allows clients to stop the server with `SHUTDOWN`, which calls this function. The program must then
    /// call [`Server::stop`] on another thread. Without such a function the server rejects `SHUTDOWN`.
    pub fn on_shutdown(&self, hook: impl Fn() + Send + 'static) {
        self.shared.set_shutdown_hook(hook);
    }

    /// Stops the server. It accepts no more connections, executes the requests that have arrived, and sends
    /// their replies, for at most [`Config::shutdown_timeout`].
    ///
    /// # Errors
    /// The error that ended a core earlier.
    pub fn stop(mut self) -> Result<(), Error> {
        self.end()
    }

    /// Returns the CPU for each thread, or an empty list if the system places the threads.
    fn cpus(&self) -> Result<Vec<usize>, Error> {
        let config = self.shared.config();
        Ok(if config.cpu_affinity { placement::one_each(config.cores)? } else { Vec::new() })
    }

    fn start_core(
        &mut self,
        number: usize,
        cpu: Option<usize>,
        listener: TcpListener,
        ports: Vec<(Protocol, UdpSocket)>,
    ) -> Result<(), Error> {
        let (core, waker) =
            Core::new((self.shared.clone(), self.background.clone()), number, listener, ports)?;
        let run = move || {
            // The server also runs where the system does not allow CPU affinity.
            if let Some(Err(error)) = cpu.map(placement::stay_on) {
                tracing::warn!(number, %error, "cannot set the CPU affinity of a thread");
            }
            core.run()
        };
        self.spawn(format!("core {number}"), Box::new(move || waker.wake()), run)
    }

    fn start_background(&mut self) -> Result<(), Error> {
        for (name, role) in [("background", Role::Background), ("exclusive", Role::Exclusive)] {
            let (shared, background) = (self.shared.clone(), self.background.clone());
            let thread = thread::Builder::new().name(name.to_owned());
            self.background_threads.push(thread.spawn(move || background.run(&shared, role))?);
        }
        Ok(())
    }

    /// Starts the thread that polls the streams of watches. A store in memory has none.
    fn start_watches(&mut self) -> Result<(), Error> {
        if self.shared.store.sync_policy().is_none() {
            return Ok(());
        }
        let (shared, watches) = (self.shared.clone(), self.shared.watches.clone());
        let wake = move || {
            watches.wake();
            Ok(())
        };
        let run = move || {
            let is_exceeded = || shared.client_limit().is_exceeded();
            let swap_version = |number| shared.databases.swap_version(number);
            shared.watches.run(
                || shared.is_stopping(),
                (is_exceeded, swap_version),
                |core| shared.wake(core),
            );
            Ok(())
        };
        self.spawn("watches".to_owned(), Box::new(wake), run)
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
        let background_threads = std::mem::take(&mut self.background_threads);
        if background_threads.is_empty() {
            return Ok(());
        }
        self.shared.stopping.store(true, Ordering::Release);
        tracing::info!(connections = self.shared.connections.load(Ordering::Relaxed), "stopping");
        let ended = self.end_cores();
        self.background.close();
        for thread in background_threads {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        ended?;
        match self.shared.connections.load(Ordering::Relaxed) {
            0 => tracing::info!("stopped"),
            connections => tracing::warn!(connections, "stopped before all replies were sent"),
        }
        Ok(())
    }

    /// Waits until all cores and the exporter of metrics have ended.
    fn end_cores(&mut self) -> Result<(), Error> {
        for (_, wake) in &self.threads {
            wake()?;
        }
        for (thread, _) in self.threads.drain(..) {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::error!(%error, "a core failed");
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
