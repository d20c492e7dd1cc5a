//! Serves the metrics over HTTP on a separate thread. The number of connections is limited, and each serves
//! one request within a limited time.

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

/// Maximum number of connections. A further one closes the oldest, which its client has most likely
/// abandoned.
const CONNECTIONS_MAX: usize = 64;
/// Maximum time until the head of a request has arrived.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum duration of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum bytes of the head of a request.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Delay after a failed accept, because the system may have run out of open files for a while.
const PAUSE: Duration = Duration::from_millis(100);

/// The listener for metrics.
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

    /// Returns a function that stops [`Exporter::run`], even before it has begun.
    pub(crate) fn stop(&self) -> Box<dyn Fn() -> io::Result<()> + Send + Sync> {
        let stop = self.stop.clone();
        Box::new(move || {
            stop.notify_one();
            Ok(())
        })
    }

    /// Serves requests until it is stopped. Stopping closes the open connections.
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
                tracing::warn!(%error, "cannot accept a connection for metrics");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn serve(socket: TcpStream, shared: Arc<ServerState>) {
    let service = service_fn(|request| {
        let response = respond(&request, &shared);
        async { Ok::<_, Infallible>(response) }
    });
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    protocol.keep_alive(false).half_close(true).max_buf_size(HEAD_BYTES_MAX);
    match timeout(CONNECTION_TIMEOUT, protocol.serve_connection(TokioIo::new(socket), service)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "cannot send metrics"),
        Err(_) => tracing::debug!("cannot send metrics: the connection timed out"),
    }
}

fn respond<B>(request: &Request<B>, shared: &Arc<ServerState>) -> Response<Full<Bytes>> {
    match (request.uri().path(), request.method()) {
        ("/metrics" | "/", &Method::GET | &Method::HEAD) => {
            let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
            let format = Format::preferred(accept.unwrap_or_default());
            response(StatusCode::OK, format.content_type(), format.of(metrics::text(shared)))
        }
        ("/metrics" | "/", _) => {
            let mut response = error_response(StatusCode::METHOD_NOT_ALLOWED, "allowed are GET and HEAD\n");
            response.headers_mut().insert(ALLOW, hyper::header::HeaderValue::from_static("GET, HEAD"));
            response
        }
        _ => error_response(StatusCode::NOT_FOUND, "the metrics are at /metrics\n"),
    }
}

fn error_response(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", text.to_owned())
}

fn response(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}
