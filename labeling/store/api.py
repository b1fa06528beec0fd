"""Functions with which the app opens and maintains a store; `database` is private to this folder.

The operations are in the modules beside this one, by subject: `accounts` and `authentication`; `dialogues`,
`search`, `history` and `erasure`; `projects`, `tasks`, `leases`, `task_view` and `annotations`; `gold`,
`rater_status` and `calibration_sessions`; `appeals` and `expert_cases`; `insights` and `coaching`;
`documents`. Their records are in `records`, who may call them in `permissions`. A contract of import-linter
keeps the app from everything else.
"""

from dialint.labeling.store.database.audit import Head, new_key, read_key, write_key
from dialint.labeling.store.database.backup import backup, read_head, restore
from dialint.labeling.store.database.engine import on_sqlite, store_url
from dialint.labeling.store.database.schema import VERSION
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.database.upgrade import rekey, upgrade
from dialint.labeling.store.database.verify import VerifiedCounts, verify
from dialint.labeling.store.masked_view import load_view
from dialint.labeling.store.search import Search
from dialint.labeling.store.stored_annotations import import_annotations

__all__ = [
    "VERSION", "Head", "Search", "Store", "Transaction", "VerifiedCounts", "backup", "import_annotations",
    "load_view", "new_key", "on_sqlite", "read_head", "read_key", "rekey", "restore",
    "store_url", "upgrade", "verify", "write_key",
]  # fmt: skip
