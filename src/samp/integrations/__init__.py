"""samp in the calling conventions of other libraries: Captum's methods, Quantus' explain functions."""
