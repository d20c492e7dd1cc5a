//! Which connections `CLIENT LIST` and `CLIENT KILL` are about.

use crate::arguments::{Arguments, integer, is};
use crate::clients::Client;
use crate::failure::Failure;

/// What a connection has to be. Without anything said it may be any.
#[derive(Debug, Default)]
pub(super) struct Filter<'a> {
    ids: Vec<u64>,
    address: Option<&'a [u8]>,
    local: Option<&'a [u8]>,
    /// There are none of another type than normal.
    is_none: bool,
    skip_me: bool,
    /// Seconds.
    age_min: Option<u64>,
}

impl<'a> Filter<'a> {
    /// A client's address and nothing else.
    pub(super) fn of_address(address: &'a [u8]) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    /// What options say. `skip_me` holds unless they say otherwise.
    pub(super) fn parse(arguments: Arguments<'a>, skip_me: bool) -> Result<Self, Failure> {
        let mut filter = Self { skip_me, ..Self::default() };
        let mut rest = arguments;
        while let Some(word) = rest.get(0) {
            let value = rest.get(1).ok_or(Failure::Syntax)?;
            let mut taken = 2;
            if is(word, "id") {
                filter.ids.push(id(value)?);
                while let Some(Ok(another)) = rest.get(taken).map(id) {
                    filter.ids.push(another);
                    taken += 1;
                }
            } else {
                filter.option(word, value)?;
            }
            rest = rest.from(taken);
        }
        Ok(filter)
    }

    pub(super) fn passes(&self, client: &Client, own: u64, now: u64) -> bool {
        let is_address =
            |wanted: Option<&[u8]>, is: &str| wanted.is_none_or(|wanted| wanted == is.as_bytes());
        !self.is_none
            && (self.ids.is_empty() || self.ids.contains(&client.id))
            && is_address(self.address, &client.address)
            && is_address(self.local, &client.local)
            && !(self.skip_me && client.id == own)
            && self.age_min.is_none_or(|seconds| client.age(now) >= seconds)
    }

    fn option(&mut self, word: &[u8], value: &'a [u8]) -> Result<(), Failure> {
        let shown = || String::from_utf8_lossy(value).into_owned();
        if is(word, "type") {
            let others = ["master", "replica", "slave", "pubsub"];
            self.is_none |= others.iter().any(|other| is(value, other));
            if !self.is_none && !is(value, "normal") {
                return Err(Failure::other(format!("Unknown client type '{}'", shown())));
            }
        } else if is(word, "user") {
            if value != b"default" {
                return Err(Failure::other(format!("No such user '{}'", shown())));
            }
        } else if is(word, "addr") {
            self.address = Some(value);
        } else if is(word, "laddr") {
            self.local = Some(value);
        } else if is(word, "skipme") {
            self.skip_me = match (is(value, "yes"), is(value, "no")) {
                (true, _) => true,
                (_, true) => false,
                _ => return Err(Failure::Syntax),
            };
        } else if is(word, "maxage") {
            let problem = || Failure::other("maxage is not an integer or out of range");
            let seconds = integer(value).map_err(|_| problem())?;
            let too_low = || Failure::other("maxage should be greater than 0");
            self.age_min = Some(u64::try_from(seconds).ok().filter(|age| *age > 0).ok_or_else(too_low)?);
        } else {
            return Err(Failure::Syntax);
        }
        Ok(())
    }
}

fn id(argument: &[u8]) -> Result<u64, Failure> {
    let id = integer(argument).ok().and_then(|id| u64::try_from(id).ok()).filter(|id| *id > 0);
    id.ok_or_else(|| Failure::other("client-id should be greater than 0"))
}
