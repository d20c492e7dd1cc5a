//! Filters that select connections for `CLIENT LIST` and `CLIENT KILL`.

use crate::arguments::{Arguments, integer, is, shown};
use crate::clients::Client;
use crate::failure::Failure;

/// The conditions that a connection must meet. The default has none.
#[derive(Debug, Default)]
pub(super) struct Filter<'a> {
    ids: Vec<u64>,
    address: Option<&'a [u8]>,
    local: Option<&'a [u8]>,
    /// The requested type.
    kind: Option<ClientKind>,
    skip_me: bool,
    /// In seconds.
    age_min: Option<u64>,
}

/// The types of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientKind {
    Normal,
    /// It has subscriptions.
    Subscriber,
    /// A type that no connection has.
    Replication,
}

const KINDS: [(&str, ClientKind); 5] = [
    ("normal", ClientKind::Normal),
    ("pubsub", ClientKind::Subscriber),
    ("master", ClientKind::Replication),
    ("replica", ClientKind::Replication),
    ("slave", ClientKind::Replication),
];

impl<'a> Filter<'a> {
    /// Returns a filter for the client at this address.
    pub(super) fn of_address(address: &'a [u8]) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    /// Parses options. `skip_me` is the default for `SKIPME`.
    pub(super) fn parse(arguments: Arguments<'a>, skip_me: bool) -> Result<Self, Failure> {
        let mut filter = Self { skip_me, ..Self::default() };
        let mut rest = arguments;
        while let Some(word) = rest.get(0) {
            let value = rest.get(1).ok_or(Failure::Syntax)?;
            let mut consumed = 2;
            if is(word, "id") {
                filter.ids.push(id(value)?);
                while let Some(Ok(another)) = rest.get(consumed).map(id) {
                    filter.ids.push(another);
                    consumed += 1;
                }
            } else {
                filter.option(word, value)?;
            }
            rest = rest.from(consumed);
        }
        Ok(filter)
    }

    /// Returns whether a client meets all conditions. `own` is the ID of the calling client; `now` is in
    /// milliseconds since 1970.
    pub(super) fn matches(&self, client: &Client, own: u64, now: u64) -> bool {
        let is_address = |required: Option<&[u8]>, actual: &str| {
            required.is_none_or(|required| required == actual.as_bytes())
        };
        let is_subscriber = client.activity().is_subscriber();
        let kind = if is_subscriber { ClientKind::Subscriber } else { ClientKind::Normal };
        self.kind.is_none_or(|required| required == kind)
            && (self.ids.is_empty() || self.ids.contains(&client.id))
            && is_address(self.address, &client.address)
            && is_address(self.local, &client.local)
            && !(self.skip_me && client.id == own)
            && self.age_min.is_none_or(|seconds| client.age(now) >= seconds)
    }

    fn option(&mut self, word: &[u8], value: &'a [u8]) -> Result<(), Failure> {
        let text = || shown(value);
        if is(word, "type") {
            let known = KINDS.iter().find(|(name, _)| is(value, name));
            let unknown = || Failure::other(format!("Unknown client type '{}'", text()));
            self.kind = Some(known.ok_or_else(unknown)?.1);
        } else if is(word, "user") {
            if value != b"default" {
                return Err(Failure::other(format!("No such user '{}'", text())));
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
