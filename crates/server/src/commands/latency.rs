//! `LATENCY`: slow commands over time, and latency histograms of commands.

use std::fmt::Write;

use crate::arguments::{Arguments, is, shown};
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
    summary: "Shows latencies above latency-monitor-threshold, and latency histograms of commands.",
}];

pub(crate) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "latency|doctor",
        arity: 2,
        usage: "",
        summary: "Returns a report in plain text.",
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
        summary: "Draws the samples of an event as bars.",
        run: graph,
    },
    Subcommand {
        name: "latency|histogram",
        arity: -2,
        usage: "[command ...]",
        summary: "Returns how many calls of commands took at most 1, 2, 4, ... microseconds.",
        run: histogram,
    },
    Subcommand {
        name: "latency|history",
        arity: 3,
        usage: "event",
        summary: "Returns the samples of an event: seconds since 1970, and latency in milliseconds.",
        run: history,
    },
    Subcommand {
        name: "latency|latest",
        arity: 2,
        usage: "",
        summary: "Returns each event with its newest sample and its maximum latency.",
        run: latest,
    },
    Subcommand {
        name: "latency|reset",
        arity: -2,
        usage: "[event ...]",
        summary: "Clears events; returns how many.",
        run: reset,
    },
];

fn latest(context: &mut Context<'_>, _: &Arguments<'_>) -> Result<(), Failure> {
    let samples = context.shared.latency.events();
    let Some((at, milliseconds)) = samples.entries.back() else {
        context.replies.array(0);
        return Ok(());
    };
    context.replies.array(1);
    context.replies.array(4);
    context.replies.bulk(EVENT.as_bytes());
    [*at, *milliseconds, samples.longest].iter().for_each(|number| context.replies.integer(*number as i64));
    Ok(())
}

fn history(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let entries = match is(&arguments[2], EVENT) {
        true => context.shared.latency.events().entries,
        false => Default::default(),
    };
    context.replies.array(entries.len());
    for (at, milliseconds) in entries {
        context.replies.array(2);
        context.replies.integer(at as i64);
        context.replies.integer(milliseconds as i64);
    }
    Ok(())
}

fn reset(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let events = arguments.from(2);
    let is_selected = events.is_empty() || events.iter().any(|event| is(event, EVENT));
    let cleared = is_selected && context.shared.latency.clear();
    context.replies.integer(i64::from(cleared));
    Ok(())
}

fn graph(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let samples = context.shared.latency.events();
    if !is(&arguments[2], EVENT) || samples.entries.is_empty() {
        let event = shown(&arguments[2]);
        return Err(Failure::other(format!("No samples available for event '{event}'")));
    }
    let mut chart = format!("{EVENT} - high {} ms\n", samples.longest);
    for (at, milliseconds) in &samples.entries {
        let width = milliseconds * 60 / samples.longest.max(1);
        let _ = writeln!(chart, "{at} {milliseconds:>8} ms {}", "#".repeat(width as usize));
    }
    context.replies.verbatim(&chart);
    Ok(())
}

fn report(context: &Context<'_>) -> String {
    let (config, samples) = (context.shared.config(), context.shared.latency.events());
    let Some(threshold) = config.latency_threshold else {
        return "Latency monitoring is off; CONFIG SET latency-monitor-threshold <milliseconds> enables it.\n"
            .into();
    };
    if samples.entries.is_empty() {
        return format!("No command took {} ms or longer.\n", threshold.as_millis());
    }
    let sum: u64 = samples.entries.iter().map(|(_, milliseconds)| milliseconds).sum();
    let (seconds, mean) = (samples.entries.len(), sum / samples.entries.len() as u64);
    format!(
        "{EVENT}: commands took {} ms or longer in {seconds} different seconds; mean {mean} ms, maximum {} \
         ms. SLOWLOG EXPLAIN shows these commands and their memory accesses.\n",
        threshold.as_millis(),
        samples.longest
    )
}

fn histogram(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (names, totals) = (arguments.from(2), context.shared.totals_since_reset());
    let is_requested = |name: &str| names.is_empty() || names.iter().any(|given| is(given, name));
    let commands = BY_NUMBER.iter().zip(&totals.commands);
    let requested = commands.filter(|(command, (times, _))| times.count() > 0 && is_requested(command.name));
    let requested: Vec<_> = requested.collect();
    context.replies.map(requested.len());
    for (command, (times, _)) in requested {
        context.replies.bulk(command.name.as_bytes());
        context.replies.map(2);
        context.replies.bulk(b"calls");
        context.replies.integer(times.count() as i64);
        context.replies.bulk(b"histogram_usec");
        let buckets = cumulative(times);
        context.replies.map(buckets.len());
        buckets.iter().flatten().for_each(|number| context.replies.integer(*number as i64));
    }
    Ok(())
}

/// Returns the cumulative histogram: bounds in microseconds and the number of calls at or below each, for
/// nonempty buckets only. It omits the last bucket, which has no bound.
fn cumulative(times: &Distribution) -> Vec<[u64; 2]> {
    let mut sum = 0;
    let sums = times.buckets[..BUCKETS - 1].iter().enumerate().filter(|(_, count)| **count > 0);
    sums.map(|(bucket, count)| {
        sum += count;
        [1 << bucket, sum]
    })
    .collect()
}
