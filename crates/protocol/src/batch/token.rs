//! Tokens: proof that a client receives at the source address of its datagrams.
//!
//! A token is a keyed hash of the address and the time, so the server stores nothing for it. A token is valid
//! for at least one period and for less than two.

use std::hash::{Hash, Hasher};
use std::net::SocketAddr;

use siphasher::sip::SipHasher24;

/// Milliseconds of a period, in which the token of an address stays the same.
const PERIOD: u64 = 30_000;

/// Creates tokens and session names. Nobody can guess them without the secret.
#[derive(Clone)]
pub struct Tokens {
    keyed: SipHasher24,
}

/// The domains of the hash: a token never equals a session name.
const TOKEN: u8 = 0;
const SESSION: u8 = 1;

impl Tokens {
    /// Creates tokens with a secret.
    #[must_use]
    pub fn new(secret: &[u8; 16]) -> Self {
        Self { keyed: SipHasher24::new_with_key(secret) }
    }

    /// Returns the token of an address at a time in milliseconds. Never 0.
    #[must_use]
    pub fn token(&self, address: SocketAddr, now: u64) -> u64 {
        self.hash(TOKEN, address, now / PERIOD)
    }

    /// Returns whether this is a token of the address that is still valid.
    #[must_use]
    pub fn is_valid(&self, token: u64, address: SocketAddr, now: u64) -> bool {
        let periods = [now / PERIOD, (now / PERIOD).wrapping_sub(1)];
        periods.iter().any(|&period| self.hash(TOKEN, address, period) == token)
    }

    /// Returns the name of the session with this number at an address. Never 0.
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
    fn a_token_is_valid_for_its_address_and_time() {
        let tokens = Tokens::new(&[7; 16]);
        let address: SocketAddr = "127.0.0.1:4000".parse().unwrap();
        let token = tokens.token(address, PERIOD);
        assert!(tokens.is_valid(token, address, PERIOD) && tokens.is_valid(token, address, 3 * PERIOD - 1));
        assert!(!tokens.is_valid(token, address, 3 * PERIOD) && !tokens.is_valid(token, address, PERIOD - 1));
        for other in ["127.0.0.1:4001", "127.0.0.2:4000", "[::1]:4000"] {
            assert!(!tokens.is_valid(token, other.parse().unwrap(), PERIOD), "{other}");
        }
        assert!(!Tokens::new(&[8; 16]).is_valid(token, address, PERIOD));
        assert!(!tokens.is_valid(tokens.session(address, 1), address, PERIOD));
        assert!(!tokens.is_valid(0, address, PERIOD));
    }
}
