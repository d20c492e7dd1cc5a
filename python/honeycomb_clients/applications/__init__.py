"""Applications and caches of four languages against `honeycomb serve`, as their registries have them."""
