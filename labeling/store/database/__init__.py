"""The store's database, SQLite or PostgreSQL: tables, transactions, audit log and backups."""
