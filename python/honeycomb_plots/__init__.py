"""Figures of measurements, for documents and for inspection."""
