"""The scoring loop of `dialint score`; its command is `dialint.app.commands.score`."""
