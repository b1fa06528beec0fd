"""Where the store lives: SQLite or PostgreSQL, its tables, transactions, audit log and backups."""
