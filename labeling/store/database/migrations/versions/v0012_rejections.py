"""An annotation may say why the findings of a model were rejected.

Written by hand and never changed: it says what version 0012 added to 0011.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column that annotations from before leave empty."""
    op.add_column("annotations", sa.Column("rejections", sa.Text))
