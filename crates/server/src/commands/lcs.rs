//! `LCS`: the longest common subsequence of two values, its length, or its matches.

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
    summary: "Returns the longest common subsequence of two values.",
}];

/// The options of `LCS`.
#[derive(Default)]
struct LcsOptions {
    length_only: bool,
    matches: bool,
    with_lengths: bool,
    match_length_min: usize,
}

impl LcsOptions {
    fn parse(arguments: &Arguments<'_>) -> Result<Self, Failure> {
        let (mut parsed, mut options) = (Self::default(), Options::from(arguments, 3));
        while let Some(word) = options.word() {
            match &*word {
                b"LEN" => parsed.length_only = true,
                b"IDX" => parsed.matches = true,
                b"WITHMATCHLEN" => parsed.with_lengths = true,
                b"MINMATCHLEN" => parsed.match_length_min = usize::try_from(options.integer()?).unwrap_or(0),
                _ => return Err(Failure::Syntax),
            }
        }
        if parsed.length_only && parsed.matches {
            let both = "If you want both the length and indexes, please just use IDX.";
            return Err(Failure::other(both));
        }
        Ok(parsed)
    }
}

fn lcs(keyspace: &mut Keyspace<'_>, arguments: &Arguments<'_>, replies: &mut Replies) -> Result<(), Failure> {
    let options = LcsOptions::parse(arguments)?;
    let first = keyspace.get(&arguments[1])?.map_or_else(Vec::new, |envelope| envelope.data.to_vec());
    let second = keyspace.get(&arguments[2])?.map_or_else(Vec::new, |envelope| envelope.data.to_vec());
    keyspace.check_budget(Subsequence::table_bytes(&first, &second))?;
    let (lengths, max) = ([first.len(), second.len()], TABLE_BITS_MAX);
    let too_long = || {
        let [first, second] = lengths;
        Failure::other(format!(
            "values of {first} and {second} bytes are too long for LCS: the first length, times the second \
             rounded up to a multiple of 64, must not exceed {max}"
        ))
    };
    let subsequence = Subsequence::of(&first, &second).ok_or_else(too_long)?;
    if options.length_only {
        replies.integer(subsequence.length() as i64);
        return Ok(());
    }
    let matches = subsequence.matches();
    if options.matches {
        reply_matches(&options, &matches, subsequence.length(), replies);
        return Ok(());
    }
    let substrings =
        matches.iter().rev().map(|matched| &first[matched.first..matched.first + matched.length]);
    replies.bulk(&substrings.collect::<Vec<_>>().concat());
    Ok(())
}

fn reply_matches(options: &LcsOptions, matches: &[Match], length: usize, replies: &mut Replies) {
    let reported: Vec<_> =
        matches.iter().filter(|matched| matched.length >= options.match_length_min).collect();
    replies.map(2);
    replies.bulk(b"matches");
    replies.array(reported.len());
    for Match { first, second, length } in reported {
        replies.array(2 + usize::from(options.with_lengths));
        for start in [first, second] {
            replies.array(2);
            replies.integer(*start as i64);
            replies.integer((start + length - 1) as i64);
        }
        if options.with_lengths {
            replies.integer(*length as i64);
        }
    }
    replies.bulk(b"len");
    replies.integer(length as i64);
}
