"""The field: every protocol, every method, one scorer.

A protocol is one file in ``protocols/`` (TOML), a method one function in a file of its own in ``methods/``. Nothing
here knows how a method works; a method never sees how it is scored.
"""

from .page import SCHEMA, Part, panels, write_field
from .parts import field_parts

__all__ = ["SCHEMA", "Part", "field_parts", "panels", "write_field"]
