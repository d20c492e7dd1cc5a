"""Applications and caches of several languages against `honeycomb serve`, as they come from their registries."""
