"""Pages of leads and administrators: Score, Releases, Taxonomy and policies, Admin."""

from __future__ import annotations
