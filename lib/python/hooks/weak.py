"""What is known of objects of the program, by their ids."""

import weakref


class _Reference(weakref.ref):
    __slots__ = ("key",)


class Known(dict):
    """The id of an object -> what is known of it, with an attribute `reference`. An exception that a signal handler
    raises in a callback of a weak reference is lost, and so there is none in Python: the entry of an object that is gone
    stays until it is removed, at the latest when the next one is added."""

    def __init__(self) -> None:
        super().__init__()
        self._gone = []

    def of(self, value):
        """None if nothing is known of this object."""
        entry = self.get(id(value))
        return entry if entry is not None and entry.reference() is value else None

    def add(self, value, entry):
        self.remove_gone()
        entry.reference = _Reference(value, self._gone.append)
        entry.reference.key = id(value)
        self[id(value)] = entry
        return entry

    def remove_gone(self) -> None:
        """In the order in which the objects went."""
        while self._gone:
            reference = self._gone.pop(0)
            entry = self.get(reference.key)
            if entry is not None and entry.reference is reference:
                del self[reference.key]
                self.removed(entry)

    def removed(self, entry) -> None:
        """The entry of an object that is gone has been removed."""
