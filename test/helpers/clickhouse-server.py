"""ClickHouse's engine (the package chdb) behind the part of its HTTP interface that the gateway uses.

Usage: clickhouse-server.py PORT FOLDER USER PASSWORD
"""

import ast
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qs, urlsplit

from chdb import session

PORT, FOLDER, USER, PASSWORD = sys.argv[1:5]
SETTINGS = ("output_format_json_quote_64bit_integers",)
database = session.Session(FOLDER)
# Database and settings belong to the session.
turn = Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        given = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        if (self.headers["X-ClickHouse-User"], self.headers["X-ClickHouse-Key"]) != (USER, PASSWORD):
            return self.reply(403, "Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)")
        text = given["query"] + "\n" + body if "query" in given else body
        params = {}
        for name, value in given.items():
            if name.startswith("param_"):
                params[name[6:]] = ast.literal_eval(value) if value.startswith("[") else value
        try:
            with turn:
                database.query("CREATE DATABASE IF NOT EXISTS " + given["database"])
                database.query("USE " + given["database"])
                for name in SETTINGS:
                    if name in given:
                        database.query("SET " + name + " = " + given[name])
                result = str(database.query(text, "TabSeparated", params=params))
            self.reply(200, result)
        except Exception as error:  # What the engine rejects is the client's, as in the server.
            self.reply(400, str(error))

    def do_GET(self):
        self.reply(200, "Ok.\n")

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(PORT)), Handler).serve_forever()
