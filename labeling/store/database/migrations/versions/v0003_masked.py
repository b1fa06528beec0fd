"""Projects say whether labelers see personal data as placeholders. Those that are there become masked; the
new version keeps older code, which would show the originals, from opening the store.

Written by hand and never changed: it says what version 0003 made of 0002.
"""

import json

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Write `masked` into the content of each project."""
    projects = sa.table("projects", sa.column("id", sa.Text), sa.column("content", sa.Text))
    connection = op.get_bind()
    for name, content in connection.execute(sa.select(projects)).all():
        masked = json.dumps({**json.loads(content), "masked": True}, sort_keys=True, separators=(",", ":"))
        connection.execute(sa.update(projects).where(projects.c.id == name).values(content=masked))
