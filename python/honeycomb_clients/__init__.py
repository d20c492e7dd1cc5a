"""Tests and measurements of a Honeycomb server with clients of other projects."""
