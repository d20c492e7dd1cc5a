"""Applications and caches in four languages with `honeycomb serve`, from their package registries."""
