"""Model servers: the command of vLLM's server, its process, and a client that asks and changes it."""
