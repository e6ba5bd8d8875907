"""Every method on every family of models: what it gives, how that was checked, or with which words it refuses."""
