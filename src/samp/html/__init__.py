"""Every page that samp writes: one file each, with all it needs in it and nothing loaded from elsewhere."""
