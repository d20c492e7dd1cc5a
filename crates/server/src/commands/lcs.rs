//! The longest common subsequence of two values.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, Options};
use crate::command::{Command, CommandForm, Keys};
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::subsequence::{Match, Subsequence, TABLE_BITS_MAX};

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "lcs",
    arity: -3,
    keys: Keys::FirstTwo,
    form: CommandForm::Read(lcs),
    usage: "key1 key2 [LEN] [IDX] [MINMATCHLEN length] [WITHMATCHLEN]",
    summary: "The longest common subsequence of two values.",
}];

/// What is said after the keys.
#[derive(Default)]
struct How {
    length_only: bool,
    matches: bool,
    with_lengths: bool,
    match_length_min: usize,
}

impl How {
    fn parse(arguments: &Arguments<'_>) -> Result<Self, Failure> {
        let (mut how, mut options) = (Self::default(), Options::from(arguments, 3));
        while let Some(word) = options.word() {
            match &*word {
                b"LEN" => how.length_only = true,
                b"IDX" => how.matches = true,
                b"WITHMATCHLEN" => how.with_lengths = true,
                b"MINMATCHLEN" => how.match_length_min = usize::try_from(options.integer()?).unwrap_or(0),
                _ => return Err(Failure::Syntax),
            }
        }
        if how.length_only && how.matches {
            let both = "If you want both the length and indexes, please just use IDX.";
            return Err(Failure::other(both));
        }
        Ok(how)
    }
}

fn lcs(keyspace: &mut Keyspace<'_>, arguments: &Arguments<'_>, replies: &mut Replies) -> Result<(), Failure> {
    let how = How::parse(arguments)?;
    let first = keyspace.get(&arguments[1])?.map_or_else(Vec::new, |found| found.data.to_vec());
    let second = keyspace.get(&arguments[2])?.map_or(&[][..], |found| found.data);
    let (lengths, max) = ([first.len(), second.len()], TABLE_BITS_MAX);
    let too_long = || {
        let [first, second] = lengths;
        Failure::other(format!(
            "values of {first} and {second} bytes are too long for LCS: the length of the first, times that \
             of the second rounded up to a multiple of 64, may be {max} at most"
        ))
    };
    let found = Subsequence::of(&first, second).ok_or_else(too_long)?;
    if how.length_only {
        replies.integer(found.length() as i64);
        return Ok(());
    }
    let matches = found.matches();
    if how.matches {
        reply_matches(&how, &matches, found.length(), replies);
        return Ok(());
    }
    let parts = matches.iter().rev().map(|one| &first[one.first..one.first + one.length]);
    replies.bulk(&parts.collect::<Vec<_>>().concat());
    Ok(())
}

fn reply_matches(how: &How, matches: &[Match], length: usize, replies: &mut Replies) {
    let long: Vec<_> = matches.iter().filter(|one| one.length >= how.match_length_min).collect();
    replies.map(2);
    replies.bulk(b"matches");
    replies.array(long.len());
    for Match { first, second, length } in long {
        replies.array(2 + usize::from(how.with_lengths));
        for start in [first, second] {
            replies.array(2);
            replies.integer(*start as i64);
            replies.integer((start + length - 1) as i64);
        }
        if how.with_lengths {
            replies.integer(*length as i64);
        }
    }
    replies.bulk(b"len");
    replies.integer(length as i64);
}
