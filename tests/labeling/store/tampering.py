"""The triggers of a store out of the way, as for who writes to its file."""

from sqlalchemy import Connection, text


def unlocked(connection: Connection) -> None:
    """The triggers and foreign keys out of the way, in this transaction."""
    if connection.dialect.name == "sqlite":
        for trigger in triggers(connection):
            connection.exec_driver_sql(f"DROP TRIGGER {trigger}")
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
    else:
        connection.exec_driver_sql("SET LOCAL session_replication_role = replica")


def triggers(connection: Connection) -> list[str]:
    """As they are named in DROP TRIGGER."""
    if connection.dialect.name == "sqlite":
        names = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    else:
        names = "SELECT tgname || ' ON ' || tgrelid::regclass FROM pg_trigger WHERE NOT tgisinternal"
    return sorted(connection.execute(text(names)).scalars())
