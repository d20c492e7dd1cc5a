"""The parsers of the Prometheus project can read the metrics of `honeycomb serve`."""

import unittest
import urllib.request

import redis
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser

from honeycomb_clients.server import Server

FORMATS = {
    "application/openmetrics-text; version=1.0.0": openmetrics_parser.text_string_to_metric_families,
    "text/plain; version=0.0.4": parser.text_string_to_metric_families,
}


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--metrics", "127.0.0.1:0", "--accelerator-counters", "yes")
        with redis.Redis(port=cls.server.port) as client:
            client.mset({f"key{number}": "x" * 1000 for number in range(100)})
            client.get("key1")
            client.incr("number")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop()

    def families(self, kind):
        request = urllib.request.Request(self.server.metrics, headers={"Accept": kind})
        with urllib.request.urlopen(request, timeout=10) as response:
            self.assertEqual(response.headers["Content-Type"], f"{kind}; charset=utf-8")
            text = response.read().decode()
        return {family.name: family for family in FORMATS[kind](text)}

    def test_both_formats_contain_the_same(self):
        both = [self.families(kind) for kind in FORMATS]
        self.assertEqual(set(both[0]), set(both[1]))
        self.assertGreater(len(both[0]), 25)
        for name, family in both[0].items():
            self.assertEqual(family.type, both[1][name].type)
            self.assertNotIn(family.type, ("unknown", "untyped"))
            self.assertTrue(family.documentation, name)
            samples = [
                {(sample.name, tuple(sorted(sample.labels.items()))) for sample in families[name].samples}
                for families in both
            ]
            self.assertEqual(samples[0], samples[1], name)

    def test_histograms_end_in_infinity_and_ascend(self):
        for kind in FORMATS:
            families = self.families(kind).values()
            histograms = [family for family in families if family.type == "histogram"]
            self.assertGreaterEqual(len(histograms), 3)
            for family in histograms:
                buckets, counts = {}, {}
                for sample in family.samples:
                    labels = dict(sample.labels)
                    bound = labels.pop("le", None)
                    series = tuple(sorted(labels.items()))
                    if sample.name.endswith("_bucket"):
                        buckets.setdefault(series, []).append((float(bound), sample.value))
                    elif sample.name.endswith("_count"):
                        counts[series] = sample.value
                self.assertEqual(set(buckets), set(counts))
                for series, pairs in buckets.items():
                    bounds, numbers = zip(*pairs)
                    self.assertEqual(list(bounds), sorted(bounds))
                    self.assertEqual(list(numbers), sorted(numbers))
                    self.assertEqual((bounds[-1], numbers[-1]), (float("inf"), counts[series]))


if __name__ == "__main__":
    unittest.main()
