"""Servers: the HTTP API, and vLLM's server of a judge: its command, and a client."""
