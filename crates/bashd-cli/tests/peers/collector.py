"""A collector of spans: takes one message over HTTP, and reads it by OpenTelemetry's own definitions.

Usage: collector.py COUNT. Prints its port, and once COUNT spans came a line of JSON for each.
"""

import base64
import http.server
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

spans = []


def as_protobuf(message):
    """OTLP's JSON has ids in hexadecimal, where that of protobuf has base64."""
    for resource in message["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId"):
                    span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return message


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.path == "/v1/traces", self.path
        assert self.headers["Content-Type"] == "application/json"
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        # Unknown fields and wrong types are errors here.
        request = json_format.ParseDict(as_protobuf(body), ExportTraceServiceRequest())
        for resource in request.resource_spans:
            about = {one.key: one.value.string_value for one in resource.resource.attributes}
            for scope in resource.scope_spans:
                for span in scope.spans:
                    attributes = {}
                    for one in span.attributes:
                        attributes[one.key] = getattr(one.value, one.value.WhichOneof("value"))
                    assert len(span.trace_id) == 16 and len(span.span_id) == 8
                    assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
                    spans.append({
                        "service": about["service.name"],
                        "name": span.name,
                        "kind": span.kind,
                        "status": span.status.code,
                        "trace": span.trace_id.hex(),
                        "attributes": attributes,
                    })
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
print(server.server_port, flush=True)
while len(spans) < int(sys.argv[1]):
    server.handle_request()
for span in spans:
    print(json.dumps(span))
