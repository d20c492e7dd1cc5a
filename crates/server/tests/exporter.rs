//! Metrics over HTTP: formats, methods, limits and slow clients.
#![allow(missing_docs)]

mod common;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use honeycomb_server::Config;

use common::{Client, Running, start_with};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

fn running() -> Running {
    start_with(Config { cores: 1, metrics: Some(([127, 0, 0, 1], 0).into()), ..Config::default() })
}

fn address(running: &Running) -> SocketAddr {
    running.server.metrics().unwrap()
}

/// Sends a request and returns the head and the body of the answer.
fn request(running: &Running, method: &str, path: &str, accept: &str) -> (String, String) {
    let mut socket = TcpStream::connect(address(running)).unwrap();
    write!(socket, "{method} {path} HTTP/1.1\r\nHost: bees\r\nAccept: {accept}\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

#[test]
fn responses_have_the_requested_format() {
    let running = running();
    Client::connect(&running).reply_to("GET a");
    let (head, body) = request(&running, "GET", "/metrics", "application/openmetrics-text;version=1.0.0");
    assert!(head.starts_with("http/1.1 200 ok\r\n") && head.contains(OPEN_METRICS), "{head}");
    assert!(body.contains("\n# TYPE honeycomb_sent_bytes counter\n") && body.ends_with("# EOF\n"), "{body}");
    let (head, body) = request(&running, "GET", "/metrics", "*/*");
    assert!(head.starts_with("http/1.1 200 ok\r\n") && head.contains(PROMETHEUS), "{head}");
    assert!(
        body.contains("\n# TYPE honeycomb_sent_bytes_total counter\n") && !body.contains("# EOF"),
        "{body}"
    );
}

#[test]
fn methods_and_paths() {
    let running = running();
    let (head, body) = request(&running, "HEAD", "/metrics", "*/*");
    assert!(head.starts_with("http/1.1 200 ok\r\n") && head.contains(PROMETHEUS), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    assert!(length.parse::<usize>().unwrap() > 1000 && body.is_empty(), "{head}");
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let (head, _) = request(&running, method, "/metrics", "*/*");
        assert!(head.starts_with("http/1.1 405 ") && head.contains("\r\nallow: get, head"), "{head}");
    }
    let (head, body) = request(&running, "GET", "/other", "*/*");
    assert!(head.starts_with("http/1.1 404 ") && body.contains("/metrics"), "{head}");
}

#[test]
fn histogram_buckets_ascend_and_end_at_infinity() {
    let running = running();
    let mut client = Client::connect(&running);
    for line in ["SET a 1", "GET a", "GET a", "INCR a"] {
        client.reply_to(line);
    }
    let (_, body) = request(&running, "GET", "/metrics", "*/*");
    let mut buckets: HashMap<String, Vec<(String, u64)>> = HashMap::new();
    let mut counts = HashMap::new();
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let (sample, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = sample.split_once('{').unwrap_or((sample, "}"));
        let (bound, others): (Vec<_>, Vec<_>) =
            labels.trim_end_matches('}').split(',').partition(|label| label.starts_with("le="));
        let series = |suffix| Some(format!("{}{}", name.strip_suffix(suffix)?, others.join(",")));
        if let Some(series) = series("_bucket") {
            buckets.entry(series).or_default().push((bound[0].to_owned(), value.parse().unwrap()));
        } else if let Some(series) = series("_count") {
            counts.insert(series, value.parse::<u64>().unwrap());
        }
    }
    assert!(buckets.len() >= 5, "{buckets:?}");
    for (series, buckets) in buckets {
        assert!(buckets.is_sorted_by_key(|(_, count)| *count), "{series}: {buckets:?}");
        assert_eq!(*buckets.last().unwrap(), ("le=\"+Inf\"".to_owned(), counts[&series]), "{series}");
    }
}

#[test]
fn silent_clients_do_not_delay_others() {
    let running = running();
    for silent in [5, 50, 500] {
        let silent: Vec<_> = (0..silent).map(|_| TcpStream::connect(address(&running)).unwrap()).collect();
        // Half of them send a part of a request, or a whole request whose answer they do not read.
        for (number, mut socket) in silent.iter().enumerate() {
            // The server may have closed this connection. The others are enough.
            let _ = match number % 4 {
                0 => socket.write_all(b"GET /metr"),
                1 => socket.write_all(b"GET /metrics HTTP/1.1\r\n\r\n"),
                _ => Ok(()),
            };
        }
        let before = Instant::now();
        for _ in 0..5 {
            assert!(request(&running, "GET", "/metrics", "*/*").0.starts_with("http/1.1 200 "));
        }
        assert!(before.elapsed() < Duration::from_secs(4), "{:?}", before.elapsed());
    }
    let before = Instant::now();
    running.server.stop().unwrap();
    assert!(before.elapsed() < Duration::from_secs(4), "{:?}", before.elapsed());
}

#[test]
fn request_heads_are_limited_in_length_and_time() {
    let running = running();
    let mut long = TcpStream::connect(address(&running)).unwrap();
    let mut half = TcpStream::connect(address(&running)).unwrap();
    half.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
    // The server may close the connection before the whole request is sent.
    let _ = write!(long, "GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    let mut answer = Vec::new();
    let _ = long.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 431 "), "{}", answer.escape_ascii());
    let before = Instant::now();
    let _ = half.read_to_end(&mut Vec::new());
    assert!(before.elapsed() < Duration::from_secs(10), "{:?}", before.elapsed());
    let mut closed = TcpStream::connect(address(&running)).unwrap();
    closed.write_all(b"GET /metrics HTTP/1.1\r\nHost: bees\r\n\r\n").unwrap();
    closed.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    closed.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", answer.escape_ascii());
}
