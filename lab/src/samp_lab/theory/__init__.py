"""What holds of paths in theory, and how far real nets and searches are from it."""
