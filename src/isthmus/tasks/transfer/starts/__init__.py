"""First guesses of the target's classes, each from another kind of evidence."""
