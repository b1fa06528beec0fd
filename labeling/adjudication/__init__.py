"""Where people disagree: experts decide, agents appeal, and groups find out who is strict."""
