"""``python -m catena``."""

from __future__ import annotations

import sys

from catena.cli import main

sys.exit(main())
