class Error(Exception):
    """What was asked for is not possible; the message says why."""
