#!/usr/bin/env python3
"""A small roster API that misbehaves as real ones do: the first answer to each page is a 429, a 503, or cut in the middle.

    python3 server.py [PORT]

It prints its address. `GET /duties?updated_since=…&cursor=…`, with `Authorization: Bearer <ROSTER_TOKEN>`.
"""
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

DUTIES = [
    {
        "duty_id": f"D{number:03}",
        "crew": f"C{number % 7}",
        "flight_minutes": 60 + number % 90,
        # Many of one second, so that pages end inside of it.
        "updated_at": f"2026-03-01T12:00:{number // 40:02}Z",
    }
    for number in range(200)
]
SIZE = 25
asked = {}


class Roster(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urlsplit(self.path)
        params = {name: values[0] for name, values in parse_qs(url.query).items()}
        if self.headers.get("Authorization") != f"Bearer {os.environ.get('ROSTER_TOKEN', '')}":
            return self.answer(401, {"error": "who are you?"})
        first = not asked.get(self.path)
        asked[self.path] = True
        start = int(params.get("cursor", 0))
        trouble = (start // SIZE) % 4
        if first and trouble == 1:
            return self.answer(429, {"error": "slow down"}, {"Retry-After": "0"})
        if first and trouble == 2:
            return self.answer(503, {"error": "a moment"})
        rows = [duty for duty in DUTIES if duty["updated_at"] >= params.get("updated_since", "")]
        end = start + SIZE
        page = {
            "data": rows[start:end],
            "meta": {"total": len(rows), "next_cursor": str(end) if end < len(rows) else None},
        }
        self.answer(200, page, cut=first and trouble == 3)

    def answer(self, status, body, headers=None, cut=False):
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text[: len(text) // 2] if cut else text)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Roster)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
