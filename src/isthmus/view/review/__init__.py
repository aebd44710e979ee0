"""The review page: answers of a person about matches and classes, by a server for this machine only."""
