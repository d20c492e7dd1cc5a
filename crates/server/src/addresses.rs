//! Text forms of addresses: an IP address or a host name, and a port.

use std::net::{SocketAddr, ToSocketAddrs};

/// The form that [`resolve`] accepts.
pub const ADDRESS: &str = "an IP address or the name of a host, and a port, such as localhost:6379";

/// Resolves a text such as `localhost:6379` or `[::1]:6379`. A host with several addresses resolves to its
/// first IPv4 address if it has one, because most clients try this one first.
///
/// # Errors
/// A message: the text has no port, or the host is unknown.
pub fn resolve(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let (host, port) = text.rsplit_once(':').ok_or("there is no port in it")?;
    let port: u16 = port.parse().map_err(|_| format!("{port:?} is not a port"))?;
    if host.is_empty() || host.contains(':') {
        return Err(format!("{host:?} is neither an IP address nor the name of a host"));
    }
    let found = (host, port).to_socket_addrs();
    let found: Vec<_> = found.map_err(|error| format!("no address of host {host:?}: {error}"))?.collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| format!("host {host:?} has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_resolve() {
        assert_eq!(resolve("localhost:7000"), Ok(([127, 0, 0, 1], 7000).into()));
        assert_eq!(resolve("127.0.0.1:0"), Ok(([127, 0, 0, 1], 0).into()));
        assert_eq!(resolve("[::1]:80").unwrap().to_string(), "[::1]:80");
    }

    #[test]
    fn errors_name_the_problem() {
        let failure = |text| resolve(text).unwrap_err();
        assert_eq!(failure("localhost"), "there is no port in it");
        assert_eq!(failure("localhost:70000"), "\"70000\" is not a port");
        assert_eq!(failure(":7000"), "\"\" is neither an IP address nor the name of a host");
        assert_eq!(failure("::1:7000:1"), "\"::1:7000\" is neither an IP address nor the name of a host");
        assert!(
            failure("no-such-host.invalid:7000").starts_with("no address of host \"no-such-host.invalid\": ")
        );
    }
}
