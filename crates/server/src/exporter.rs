//! Serves the metrics over HTTP, on a thread of its own: as many connections at a time as there may be, each
//! for one request, for a limited time.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::error::Error;
use crate::exposition::Format;
use crate::listening::{self, Listening};
use crate::metrics;
use crate::server_state::ServerState;

/// Connections at one time. One more ends the oldest of them: it is the likeliest to have been forgotten.
const CONNECTIONS_MAX: usize = 64;
/// How long the head of a request may take to arrive.
const HEAD_PATIENCE: Duration = Duration::from_secs(5);
/// How long a connection may take in all.
const PATIENCE: Duration = Duration::from_secs(15);
/// Bytes of the head of a request.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// How long to wait after a connection could not be accepted: the system may lack open files for a while.
const PAUSE: Duration = Duration::from_millis(100);

/// Listens for requests for metrics.
pub(crate) struct Exporter {
    listener: std::net::TcpListener,
    address: SocketAddr,
    stop: Arc<Notify>,
}

impl Exporter {
    pub(crate) fn bind(address: SocketAddr) -> Result<Self, Error> {
        let Listening { address, mut sockets } = listening::streams("metrics", address, 1)?;
        Ok(Self { listener: sockets.remove(0), address, stop: Arc::default() })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What ends [`Exporter::run`], also if it has not begun yet.
    pub(crate) fn stop(&self) -> Box<dyn Fn() -> io::Result<()> + Send + Sync> {
        let stop = self.stop.clone();
        Box::new(move || {
            stop.notify_one();
            Ok(())
        })
    }

    /// Answers until it is stopped. Connections that are open then end with it.
    pub(crate) fn run(self, shared: Arc<ServerState>) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        runtime.block_on(async {
            let listener = TcpListener::from_std(self.listener)?;
            tokio::spawn(accept(listener, shared));
            self.stop.notified().await;
            Ok(())
        })
    }
}

async fn accept(listener: TcpListener, shared: Arc<ServerState>) {
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                open.retain(|connection| !connection.is_finished());
                if open.len() >= CONNECTIONS_MAX
                    && let Some(oldest) = open.pop_front()
                {
                    oldest.abort();
                }
                open.push_back(tokio::spawn(serve(socket, shared.clone())).abort_handle());
            }
            Err(error) => {
                tracing::warn!(%error, "a connection for metrics was not accepted");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn serve(socket: TcpStream, shared: Arc<ServerState>) {
    let service = service_fn(|request| {
        let answer = answer(&request, &shared);
        async { Ok::<_, Infallible>(answer) }
    });
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
    protocol.keep_alive(false).half_close(true).max_buf_size(HEAD_BYTES_MAX);
    match timeout(PATIENCE, protocol.serve_connection(TokioIo::new(socket), service)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "metrics were not sent"),
        Err(_) => tracing::debug!("metrics were not sent: the connection took too long"),
    }
}

fn answer<B>(request: &Request<B>, shared: &Arc<ServerState>) -> Response<Full<Bytes>> {
    match (request.uri().path(), request.method()) {
        ("/metrics" | "/", &Method::GET | &Method::HEAD) => {
            let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
            let format = Format::preferred(accept.unwrap_or_default());
            response(StatusCode::OK, format.content_type(), format.of(metrics::text(shared)))
        }
        ("/metrics" | "/", _) => {
            let mut refusal = refusal(StatusCode::METHOD_NOT_ALLOWED, "allowed are GET and HEAD\n");
            refusal.headers_mut().insert(ALLOW, hyper::header::HeaderValue::from_static("GET, HEAD"));
            refusal
        }
        _ => refusal(StatusCode::NOT_FOUND, "the metrics are at /metrics\n"),
    }
}

fn refusal(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", text.to_owned())
}

fn response(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}
