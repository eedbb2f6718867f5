"""Reads metrics from stdin with Prometheus' own parser; prints each sample as a line of JSON."""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

for family in text_string_to_metric_families(sys.stdin.read()):
    for sample in family.samples:
        print(json.dumps({"kind": family.type, "name": sample.name, "labels": sample.labels, "value": sample.value}))
