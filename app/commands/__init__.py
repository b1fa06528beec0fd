"""The commands of ``dialint``, a module for each group: options, messages and exit codes."""
