"""What is known of objects of the program, by their ids, as long as they live."""

import weakref


def reference_in(known: dict, value):
    """A weak reference to `value` for what `known` has under its id, as `reference`: that is removed when the object is
    gone, because a later one may have the same id."""
    key = id(value)

    def gone(reference) -> None:
        if key in known and known[key].reference is reference:
            del known[key]

    return weakref.ref(value, gone)
