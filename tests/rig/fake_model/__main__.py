"""Serve until killed; the first line printed is the port."""

from __future__ import annotations

import argparse
from pathlib import Path

from .server import FakeModel


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="fake_model")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--log", type=Path, help="one JSON line for each request")
    options = parser.parse_args()
    model = FakeModel(options.port, options.log)
    print(model.server_address[1], flush=True)
    model.serve_forever()


main()
