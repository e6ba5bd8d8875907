"""Every page that samp writes: one HTML file each, with all it needs in it and nothing loaded from elsewhere."""
