"""Entry point of ``python -m catena``."""

from __future__ import annotations

import sys

from catena.cli.main import main

sys.exit(main())
