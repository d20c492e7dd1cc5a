//! `LATENCY`: what took long, and how long commands take.

use std::fmt::Write;

use crate::arguments::{Arguments, is};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::BY_NUMBER;
use crate::commands::subcommands::{self, Subcommand};
use crate::context::Context;
use crate::counts::{BUCKETS, Distribution};
use crate::failure::Failure;
use crate::latency::EVENT;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "latency",
    arity: -2,
    keys: Keys::None,
    form: CommandForm::Serve(|context, arguments| {
        subcommands::run(context, ("latency", SUBCOMMANDS), arguments)
    }),
    usage: "<subcommand> [argument ...]",
    summary: "What took longer than latency-monitor-threshold, and how long commands take.",
}];

pub(crate) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "latency|doctor",
        arity: 2,
        usage: "",
        summary: "A report for people.",
        run: |context, _| {
            let report = report(context);
            context.replies.verbatim(&report);
            Ok(())
        },
    },
    Subcommand {
        name: "latency|graph",
        arity: 3,
        usage: "event",
        summary: "The samples of an event as a picture of bars.",
        run: graph,
    },
    Subcommand {
        name: "latency|histogram",
        arity: -2,
        usage: "[command ...]",
        summary: "How many calls of commands took at most 1, 2, 4, ... microseconds.",
        run: histogram,
    },
    Subcommand {
        name: "latency|history",
        arity: 3,
        usage: "event",
        summary: "The samples of an event: when, in seconds since 1970, and how many milliseconds.",
        run: history,
    },
    Subcommand {
        name: "latency|latest",
        arity: 2,
        usage: "",
        summary: "Each event with its newest sample and the longest of all.",
        run: latest,
    },
    Subcommand {
        name: "latency|reset",
        arity: -2,
        usage: "[event ...]",
        summary: "Forgets events: how many.",
        run: reset,
    },
];

fn latest(context: &mut Context<'_>, _: &Arguments<'_>) -> Result<(), Failure> {
    let noted = context.shared.latency.noted();
    let Some((at, took)) = noted.entries.back() else {
        context.replies.array(0);
        return Ok(());
    };
    context.replies.array(1);
    context.replies.array(4);
    context.replies.bulk(EVENT.as_bytes());
    [*at, *took, noted.longest].iter().for_each(|number| context.replies.integer(*number as i64));
    Ok(())
}

fn history(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let entries = match is(&arguments[2], EVENT) {
        true => context.shared.latency.noted().entries,
        false => Default::default(),
    };
    context.replies.array(entries.len());
    for (at, took) in entries {
        context.replies.array(2);
        context.replies.integer(at as i64);
        context.replies.integer(took as i64);
    }
    Ok(())
}

fn reset(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let events = arguments.from(2);
    let is_meant = events.is_empty() || events.iter().any(|event| is(event, EVENT));
    let forgotten = is_meant && context.shared.latency.forget();
    context.replies.integer(i64::from(forgotten));
    Ok(())
}

fn graph(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let noted = context.shared.latency.noted();
    if !is(&arguments[2], EVENT) || noted.entries.is_empty() {
        let event = String::from_utf8_lossy(&arguments[2]).into_owned();
        return Err(Failure::other(format!("No samples available for event '{event}'")));
    }
    let mut picture = format!("{EVENT} - high {} ms\n", noted.longest);
    for (at, took) in &noted.entries {
        let width = took * 60 / noted.longest.max(1);
        let _ = writeln!(picture, "{at} {took:>8} ms {}", "#".repeat(width as usize));
    }
    context.replies.verbatim(&picture);
    Ok(())
}

fn report(context: &Context<'_>) -> String {
    let (config, noted) = (context.shared.config(), context.shared.latency.noted());
    let Some(threshold) = config.latency_threshold else {
        return "Latency is not monitored: CONFIG SET latency-monitor-threshold <milliseconds> begins.\n"
            .into();
    };
    if noted.entries.is_empty() {
        return format!("No command took {} ms or longer.\n", threshold.as_millis());
    }
    let sum: u64 = noted.entries.iter().map(|(_, took)| took).sum();
    let (seconds, mean) = (noted.entries.len(), sum / noted.entries.len() as u64);
    format!(
        "{EVENT}: in {seconds} different seconds commands took {} ms or longer: {mean} ms in the mean, {} ms \
         at most. SLOWLOG EXPLAIN shows which, and what they touched.\n",
        threshold.as_millis(),
        noted.longest
    )
}

fn histogram(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (names, totals) = (arguments.from(2), context.shared.totals_since_reset());
    let is_asked = |name: &str| names.is_empty() || names.iter().any(|asked| is(asked, name));
    let commands = BY_NUMBER.iter().zip(&totals.commands);
    let asked = commands.filter(|(command, (times, _))| times.count() > 0 && is_asked(command.name));
    let asked: Vec<_> = asked.collect();
    context.replies.map(asked.len());
    for (command, (times, _)) in asked {
        context.replies.bulk(command.name.as_bytes());
        context.replies.map(2);
        context.replies.bulk(b"calls");
        context.replies.integer(times.count() as i64);
        context.replies.bulk(b"histogram_usec");
        let steps = steps(times);
        context.replies.map(steps.len());
        steps.iter().flatten().for_each(|number| context.replies.integer(*number as i64));
    }
    Ok(())
}

/// Bounds in microseconds, and how many numbers are not above them, where these become more. Of those beyond
/// all bounds nobody knows more than that.
fn steps(times: &Distribution) -> Vec<[u64; 2]> {
    let mut sum = 0;
    let sums = times.buckets[..BUCKETS - 1].iter().enumerate().filter(|(_, count)| **count > 0);
    sums.map(|(bucket, count)| {
        sum += count;
        [1 << bucket, sum]
    })
    .collect()
}
