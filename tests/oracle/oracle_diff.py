#!/usr/bin/env python3
"""Says where two runs diverge, from the logs that oracle.cpp wrote: oracle_diff.py LOG LOG

Prints a line for each finding that did not follow from an earlier one, the first ones first:
  kind | step | phase | op from its callers in its scopes | call | what differs
where call counts the outermost op's calls in this step and phase, from 0.
Ends with 1 if there was a finding, 0 if not.

It compares outermost ops, aligned by name, scopes and shapes, and looks inside only the first one
that differs on its own account: memory that a nested op is about to overwrite looks like a
difference there. What a view reads or returns is left to the op that reads it.
"""

import argparse
import collections
import difflib
import sys

ENGINE = "autograd::engine::evaluate_function: "


# oneDNN's working memory: its bytes differ in every run and mean nothing.
WORKSPACES = {"aten::mkldnn_rnn_layer": "3", "aten::mkldnn_rnn_layer_backward": "workspace"}


class Event:
    def __init__(self, fields):
        self.thread, depth, self.kind, self.name, self.grad, self.generator = fields[:6]
        self.depth = int(depth)
        self.inputs, self.arguments, self.outputs = (parse(field) for field in fields[6:9])
        workspace = WORKSPACES.get(self.name)
        self.inputs = without_digest(self.inputs, workspace)
        self.outputs = without_digest(self.outputs, workspace)
        self.children = []
        self.scopes = []
        self.step, self.phase, self.position, self.call = None, None, 0, 0

    def is_op(self):
        return self.kind in ("op", "view")

    def key(self):
        tensors = [value for _, value in self.inputs + self.outputs if "#" in value]
        return (tuple(self.scopes), self.name, tuple(value.split("#")[0] for value in tensors))

    def written(self):
        """Digests of all that this op and the ops inside it wrote."""
        own = {value.split("#")[1] for _, value in self.outputs if "#" in value}
        return own.union(*(child.written() for child in self.children))


def parse(field):
    return [tuple(item.split("=", 1)) for item in field.split(" ") if "=" in item]


def without_digest(values, unknown):
    return [(name, value.split("#")[0] + "#-" if name == unknown else value) for name, value in values]


def read(path):
    """The outermost ops of each thread, threads in the order in which they first ran one."""
    threads = {}
    stacks = {}
    with open(path, encoding="utf-8") as log:
        for line in log:
            event = Event(line.rstrip("\n").split("\t"))
            stack = stacks.setdefault(event.thread, [])
            del stack[event.depth :]
            inside_op = any(outer.is_op() for outer in stack)
            event.scopes = [outer.name for outer in stack if not outer.is_op()]
            if stack:
                stack[-1].children.append(event)
            if event.is_op() and not inside_op:
                threads.setdefault(event.thread, []).append(event)
            stack.append(event)
    for ops in threads.values():
        count_steps(ops)
        calls = collections.Counter()
        for position, op in enumerate(ops):
            op.position = position
            op.call = calls[op.step, op.phase, op.name]
            calls[op.step, op.phase, op.name] += 1
    return list(threads.values())


def count_steps(ops):
    """Set-up ends with the last op without gradients before the first backward pass, a step with the
    optimizer: what runs without gradients once a backward pass is over."""
    backward = [any(scope.startswith(ENGINE) for scope in op.scopes) for op in ops]
    first_backward = backward.index(True) if True in backward else len(ops)
    without_grad = [i for i in range(first_backward) if ops[i].grad == "no_grad"]
    start = without_grad[-1] + 1 if without_grad else 0
    for op in ops[:start]:
        op.phase = "setup"
    step, phase = 0, "forward"
    for op, is_backward in zip(ops[start:], backward[start:]):
        if is_backward:
            phase = "backward"
        elif phase == "backward" or (phase == "optimizer" and op.grad == "no_grad"):
            phase = "optimizer"
        elif phase == "optimizer":
            step, phase = step + 1, "forward"
        op.step, op.phase = step, phase


def differ(left, right):
    """Whether two values do; where a digest means nothing, whether dtype or shape do."""
    if left.endswith("#-") or right.endswith("#-"):
        return left.split("#")[0] != right.split("#")[0]
    return left != right


def changed(left, right):
    if len(left) != len(right):
        return [f"{len(left)} / {len(right)} values"]
    return [f"{name}: {a} / {b}" for (name, a), (_, b) in zip(left, right) if differ(a, b)]


def aligned(left, right):
    """Pairs of what two ops called, if they called the same."""
    if [child.name for child in left.children] != [child.name for child in right.children]:
        return []
    return zip(left.children, right.children)


def is_origin(left, right):
    return (
        left.kind == "op"
        and not changed(left.inputs, right.inputs)
        and not changed(left.arguments, right.arguments)
        and bool(changed(left.outputs, right.outputs))
    )


def is_draw(left, right):
    return left.generator != right.generator


def deepest(left, right, condition):
    """The innermost op for which the condition holds, and the ops around it."""
    path = [left.name]
    while inner := next((pair for pair in aligned(left, right) if condition(*pair)), None):
        left, right = inner
        path.append(left.name)
    return path, left, right


def described_origin(left, right):
    path, left, right = deepest(left, right, is_origin)
    what = ", ".join(changed(left.outputs, right.outputs))
    names = [" ".join(child.name for child in op.children) for op in (left, right)]
    return path, what + (f"; inside: {names[0]} / {names[1]}" if names[0] != names[1] else "")


class Comparison:
    """Of one thread's ops; `written` is what the other threads of either run wrote."""

    def __init__(self, left, right, written):
        self.left, self.right = left, right
        self.written = written
        self.hidden = {}
        self.position = 0
        self.findings = []

    def run(self):
        left_keys = [op.key() for op in self.left]
        right_keys = [op.key() for op in self.right]
        same = 0
        while same < min(len(left_keys), len(right_keys)) and left_keys[same] == right_keys[same]:
            same += 1
        self.compare_range(range(same), range(same))
        matcher = difflib.SequenceMatcher(None, left_keys[same:], right_keys[same:], autojunk=False)
        for tag, a, a_end, b, b_end in matcher.get_opcodes():
            if tag == "equal":
                self.compare_range(range(a + same, a_end + same), range(b + same, b_end + same))
            else:
                self.sequence(
                    self.left[a + same : a_end + same], self.right[b + same : b_end + same]
                )
        return [finding for _, finding in sorted(self.findings, key=lambda item: item[0])]

    def sequence(self, left, right):
        for side, ops in enumerate((left, right)):
            for op in ops:
                self.note_written(side, op)
        names = [
            " ".join(op.name for op in ops[:6]) + " ..." * (len(ops) > 6) for ops in (left, right)
        ]
        op = (left or right)[0]
        what = f"{names[0] or '-'} / {names[1] or '-'}"
        self.add("sequence", op, [op.name], what, self.position)

    def compare_range(self, left, right):
        for a, b in zip(left, right):
            self.position = a + 0.5
            self.compare(self.left[a], self.right[b])

    def compare(self, left, right):
        arguments = changed(left.arguments, right.arguments)
        inputs = [] if left.kind == "view" else changed(left.inputs, right.inputs)
        outputs = [] if left.kind == "view" else changed(left.outputs, right.outputs)
        if arguments and not inputs:
            self.add("arguments", left, [left.name], ", ".join(arguments))
        elif inputs:
            self.explain_inputs(left, right)
        elif left.generator != right.generator and outputs:
            path, _, _ = deepest(left, right, is_draw)
            self.add("rng", left, path, f"{left.generator} / {right.generator}")
        elif outputs:
            self.add("origin", left, *described_origin(left, right))
        else:
            self.note_hidden(left, right, left, [left.name])
        for side, op in enumerate((left, right)):
            self.note_written(side, op)

    def note_written(self, side, op):
        """A view of something that no op wrote was written by no op either."""
        sources = {value.split("#")[1] for _, value in op.inputs if "#" in value}
        if op.kind != "view" or sources <= self.written[side]:
            self.written[side].update(op.written())

    def note_hidden(self, left, right, outermost, path):
        """An op may return the same though an op inside it did not; that shows once its value, kept
        for the backward pass, is read."""
        for a, b in aligned(left, right):
            if is_origin(a, b):
                inner, what = described_origin(a, b)
                for (_, value), (_, other) in zip(a.outputs, b.outputs):
                    if differ(value, other):
                        self.hidden[value] = (outermost, path + inner, what)
            elif not changed(a.outputs, b.outputs):
                self.note_hidden(a, b, outermost, path + [a.name])

    def explain_inputs(self, left, right):
        """An input that no op wrote in a run came from outside in that run."""
        for (name, a), (_, b) in zip(left.inputs, right.inputs):
            if not differ(a, b) or "#" not in a or "#" not in b:
                continue
            known = [value.split("#")[1] in self.written[side] for side, value in enumerate((a, b))]
            if not all(known):
                kind = "write" if any(known) else "data"
                self.add(kind, left, [left.name], f"{name}: {a} / {b}")
            elif a in self.hidden:
                self.add("origin", *self.hidden.pop(a))
            for side, value in enumerate((a, b)):
                self.written[side].add(value.split("#")[1])

    def add(self, kind, op, path, what, position=None):
        scopes = f" in {' > '.join(op.scopes)}" if op.scopes else ""
        callers = f" from {' > '.join(path[:-1])}" if len(path) > 1 else ""
        step = "-" if op.step is None else op.step
        text = f"{kind} | {step} | {op.phase} | {path[-1]}{callers}{scopes} | {op.call} | {what}"
        self.findings.append((op.position if position is None else position, text))


def findings_of(left_log, right_log, skip_setup=False):
    left, right = read(left_log), read(right_log)
    findings = []
    if len(left) != len(right):
        print(f"threads that ran ops: {len(left)} / {len(right)}", file=sys.stderr)
    for lane, (a, b) in enumerate(zip(left, right)):
        elsewhere = tuple(
            set().union(*(op.written() for i, ops in enumerate(run) if i != lane for op in ops))
            for run in (left, right)
        )
        prefix = f"thread {lane} | " if lane else ""
        findings += [prefix + finding for finding in Comparison(a, b, elsewhere).run()]
    return [text for text in findings if not (skip_setup and " | setup | " in text)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", nargs=2)
    parser.add_argument("-n", type=int, default=5, help="findings to print")
    parser.add_argument("--skip-setup", action="store_true", help="leave out what precedes step 0")
    options = parser.parse_args()
    findings = findings_of(*options.logs, skip_setup=options.skip_setup)
    print("\n".join(findings[: options.n]) or "no difference")
    if len(findings) > options.n:
        print(f"and {len(findings) - options.n} more")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
