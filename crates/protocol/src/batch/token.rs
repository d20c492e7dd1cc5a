//! Tokens: what shows that a client receives at the address that its datagrams come from.
//!
//! A token is a keyed hash of the address and of the time; the server keeps nothing for it. It holds for at
//! least one period and for less than two.

use std::hash::{Hash, Hasher};
use std::net::SocketAddr;

use siphasher::sip::SipHasher24;

/// Milliseconds in which addresses have the same tokens.
const PERIOD: u64 = 30_000;

/// Makes tokens and names of sessions that nobody can guess who does not know the secret.
#[derive(Clone)]
pub struct Tokens {
    keyed: SipHasher24,
}

/// What is hashed: no token is ever the name of a session.
const TOKEN: u8 = 0;
const SESSION: u8 = 1;

impl Tokens {
    /// Tokens of a secret.
    #[must_use]
    pub fn new(secret: &[u8; 16]) -> Self {
        Self { keyed: SipHasher24::new_with_key(secret) }
    }

    /// The token of an address, at a time in milliseconds. Never 0.
    #[must_use]
    pub fn token(&self, address: SocketAddr, now: u64) -> u64 {
        self.hash(TOKEN, address, now / PERIOD)
    }

    /// Whether that is a token of the address, not older than two periods.
    #[must_use]
    pub fn is_good(&self, token: u64, address: SocketAddr, now: u64) -> bool {
        let periods = [now / PERIOD, (now / PERIOD).wrapping_sub(1)];
        periods.iter().any(|&period| self.hash(TOKEN, address, period) == token)
    }

    /// The name of a session of an address, by its number. Never 0.
    #[must_use]
    pub fn session(&self, address: SocketAddr, number: u64) -> u64 {
        self.hash(SESSION, address, number)
    }

    fn hash(&self, what: u8, address: SocketAddr, number: u64) -> u64 {
        let mut hasher = self.keyed;
        hasher.write_u8(what);
        (address.ip(), address.port()).hash(&mut hasher);
        hasher.write_u64(number);
        hasher.finish().max(1)
    }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_holds_for_its_address_and_its_time() {
        let tokens = Tokens::new(&[7; 16]);
        let address: SocketAddr = "127.0.0.1:4000".parse().unwrap();
        let token = tokens.token(address, PERIOD);
        assert!(tokens.is_good(token, address, PERIOD) && tokens.is_good(token, address, 3 * PERIOD - 1));
        assert!(!tokens.is_good(token, address, 3 * PERIOD) && !tokens.is_good(token, address, PERIOD - 1));
        for other in ["127.0.0.1:4001", "127.0.0.2:4000", "[::1]:4000"] {
            assert!(!tokens.is_good(token, other.parse().unwrap(), PERIOD), "{other}");
        }
        assert!(!Tokens::new(&[8; 16]).is_good(token, address, PERIOD));
        assert!(!tokens.is_good(tokens.session(address, 1), address, PERIOD));
        assert!(!tokens.is_good(0, address, PERIOD));
    }
}
