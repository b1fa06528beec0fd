"""The Admin page: accounts, projects, gold, retention, audit log."""
