"""Run by alembic: applies revisions on the connection that `upgrade` hands over, one transaction in all."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
