"""Figures of what was measured, for documents and for the eye."""
