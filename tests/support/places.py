"""The repository, and the programs in it that tests start as processes of their own."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RIG = ROOT / "tests" / "rig"

_SUPPORT = ROOT / "tests" / "support"
SCRIPTED_AGENT = _SUPPORT / "agents" / "scripted.py"
HOSTILE_AGENT = _SUPPORT / "agents" / "hostile.py"
QUIRKY_AGENT = _SUPPORT / "agents" / "quirky.py"
ASKING_CLIENT = _SUPPORT / "clients" / "asking.py"
CRASH_CLIENT = _SUPPORT / "clients" / "crash.py"
EDITING_CLIENT = _SUPPORT / "clients" / "editor.py"
OWNER_CLIENT = _SUPPORT / "clients" / "owner.py"
