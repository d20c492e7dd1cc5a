//! The two text formats of metrics, and the choice between them for a request.

use std::collections::HashSet;

/// A format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The Prometheus text format 0.0.4, which all collectors support.
    Prometheus,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

/// A media range of an `Accept` header.
struct Range<'a> {
    kind: &'a str,
    version: Option<&'a str>,
    quality: f32,
}

impl Format {
    /// Returns the format that the value of an `Accept` header prefers. The default is the Prometheus format.
    pub(crate) fn preferred(accept: &str) -> Self {
        let ranges: Vec<_> = accept.split(',').map(Range::parse).collect();
        let quality = |kinds: &[&str], version: &str| {
            let fits = |range: &&Range<'_>| {
                kinds.iter().any(|kind| range.kind.eq_ignore_ascii_case(kind))
                    && range.version.is_none_or(|requested| requested == version)
            };
            ranges.iter().filter(fits).map(|range| range.quality).fold(0.0, f32::max)
        };
        let open_metrics = quality(&["application/openmetrics-text"], "1.0.0");
        let prometheus = quality(&["text/plain", "text/*", "*/*"], "0.0.4");
        if open_metrics > 0.0 && open_metrics >= prometheus { Self::OpenMetrics } else { Self::Prometheus }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// Converts metrics in OpenMetrics format to this format.
    pub(crate) fn of(self, open_metrics: String) -> String {
        match self {
            Self::Prometheus => as_prometheus(&open_metrics),
            Self::OpenMetrics => open_metrics,
        }
    }
}

impl<'a> Range<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let mut range = Self { kind: parts.next().unwrap_or_default(), version: None, quality: 1.0 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "version" => range.version = Some(value),
                "q" => range.quality = value.parse().unwrap_or(0.0),
                _ => {}
            }
        }
        range
    }
}

/// Converts metrics to the Prometheus format. For the metrics of this server the formats differ in two
/// points: the older one names a counter by its sample, which ends in `_total`, and OpenMetrics by its
/// family; and the older one has no end marker.
fn as_prometheus(open_metrics: &str) -> String {
    let counter = |line: &'_ str| line.strip_prefix("# TYPE ")?.strip_suffix(" counter").map(str::to_owned);
    let counters: HashSet<_> = open_metrics.lines().filter_map(counter).collect();
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines().filter(|line| *line != "# EOF") {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", word, name, rest] if counters.contains(name) => {
                text.extend(["# ", word, " ", name, "_total ", rest]);
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_gets_the_format_that_it_prefers() {
        let collector = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
            application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,\
            text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        for (accept, format) in [
            (collector, Format::OpenMetrics),
            ("application/openmetrics-text", Format::OpenMetrics),
            ("Application/OpenMetrics-Text; version=\"1.0.0\"", Format::OpenMetrics),
            ("application/openmetrics-text; version=0.0.1, text/plain;q=0.1", Format::Prometheus),
            ("application/openmetrics-text;q=0", Format::Prometheus),
            ("application/openmetrics-text;q=0.4, text/plain;version=0.0.4;q=0.5", Format::Prometheus),
            ("*/*", Format::Prometheus),
            ("text/html, ;;, =", Format::Prometheus),
            ("", Format::Prometheus),
        ] {
            assert_eq!(Format::preferred(accept), format, "{accept}");
        }
    }

    #[test]
    fn counters_have_the_names_of_their_samples() {
        let open =
            "# HELP a All of a b.\n# TYPE a counter\na_total 1\n# HELP b B\n# TYPE b gauge\nb 2\n# EOF\n";
        let text = "# HELP a_total All of a b.\n# TYPE a_total counter\na_total 1\n\
            # HELP b B\n# TYPE b gauge\nb 2\n";
        assert_eq!(Format::Prometheus.of(open.to_owned()), text);
        assert_eq!(Format::OpenMetrics.of(open.to_owned()), open);
    }
}
