"""Clients that others have written, at a Honeycomb server."""
