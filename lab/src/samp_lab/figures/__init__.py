"""The paper's figures, and ours: each names its measurements and draws what they found."""
