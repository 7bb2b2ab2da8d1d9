#!/usr/bin/env python3
"""Records pairs of small random programs and checks that IDENTICAL is said exactly where both runs
leave the same.

    judge.py --bin build/release/bin --pairs 300 --seed 1     pairs of the programs from seed 1 on
    judge.py --bin ... --seed 17 --mutate 2 --repeats 20      one pair, 20 times, and what it says
    judge.py --bin ... --seed 17 --mutate 0                   the same program twice

Each seed is a program (random_plan lists it): run bare, recorded, recorded again, and recorded with
each of its mutations. What a run leaves is the line that it prints.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

SECONDS = 120  # Nothing here takes two; what is not done by then hangs.

# What a pair can be. The first three fail the judge.
FALSE_IDENTICAL = "false IDENTICAL"
FALSE_DIVERGED = "false DIVERGED"
BROKEN = "broken"
INCONCLUSIVE_EQUAL = "inconclusive, though equal"
HARMLESS_DIVERGED = "DIVERGED, harmless"
HARMLESS_INCONCLUSIVE = "inconclusive, harmless"
INCONCLUSIVE = "inconclusive, differs"
ABSORBED = "absorbed"
UNREPEATABLE = "unrepeatable"
RIGHT = "right"
FAILURES = (FALSE_IDENTICAL, FALSE_DIVERGED, BROKEN)
COLUMNS = (RIGHT, FALSE_IDENTICAL, FALSE_DIVERGED, BROKEN, INCONCLUSIVE_EQUAL, INCONCLUSIVE,
           HARMLESS_DIVERGED, HARMLESS_INCONCLUSIVE, ABSORBED, UNREPEATABLE)
MEANINGS = {
    FALSE_IDENTICAL: "identical, though the runs leave something else",
    FALSE_DIVERGED: "diverged, though the same program ran twice and left the same",
    BROKEN: "not recorded as a whole, not compared, or what it left is not what it leaves bare",
    INCONCLUSIVE_EQUAL: "inconclusive, though the same program ran twice and left the same",
    INCONCLUSIVE: "inconclusive where the runs leave something else",
    HARMLESS_DIVERGED: "diverged by a change that is meant to be harmless and left the same",
    HARMLESS_INCONCLUSIVE: "inconclusive after such a change",
    UNREPEATABLE: "bare, the program does not always leave the same: no judgement",
    ABSORBED: "a change that is not meant to be harmless, but left the same; any verdict",
}

Run = collections.namedtuple("Run", "code line errors")


class Unjudged(Exception):
    """There is no verdict to judge; `what` the pair is instead."""


class Unrepeatable(Unjudged):
    """The program itself does not leave the same in every bare run."""
    what = UNREPEATABLE


class Broken(Unjudged):
    """The recorder or the comparison has failed."""
    what = BROKEN


class Seed:
    """A program, its mutations and its recordings in a folder of their own."""

    def __init__(self, arguments, seed):
        self.bin, self.seed, self.thorough = arguments.bin, seed, arguments.thorough
        self.keep, self.crossed = arguments.keep, arguments.crossed or bool(arguments.against)
        self.folder = tempfile.mkdtemp(prefix=f"ulpscope-judge-{seed}-")
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("ULPSCOPE_")}
        self.environment["OMP_NUM_THREADS"] = "1"

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def tool(self, name):
        return os.path.join(self.bin, name)

    def program(self, mutation, name="random_run"):
        return [self.tool(name), "--seed", str(self.seed),
                *(["--mutate", str(mutation)] if mutation else [])]

    def execute(self, command):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS,
                                  env=self.environment, check=False)
        except subprocess.TimeoutExpired:
            raise Broken(f"hangs: {' '.join(command)}") from None
        return Run(done.returncode, done.stdout, done.stderr)

    def plan(self, mutation):
        return json.loads(self.execute([*self.program(mutation, "random_plan"), "--json"]).line)

    def listing(self, mutation):
        return self.execute(self.program(mutation, "random_plan")).line

    def bare(self, mutation):
        return self.execute(self.program(mutation))

    def record(self, mutation, name):
        """The dump and the run that it is of."""
        dump = os.path.join(self.folder, name)
        run = self.execute([self.tool("ulpscope"), "record", "--force", "-o", dump, "--",
                            *self.program(mutation)])
        try:
            with open(os.path.join(dump, "status.json"), encoding="utf-8") as file:
                status = json.load(file)
        except (OSError, ValueError) as error:
            raise Broken(f"no status.json: {error}; {run.errors.strip()}") from None
        if not status["recorded"] or not status["complete"]:
            raise Broken(f"not recorded as a whole: {status['reason']!r}")
        return dump, run

    def compare(self, reference, candidate):
        run = self.execute([self.tool("ulpscope"), "compare", reference, candidate, "--format", "json"])
        try:
            report = json.loads(run.line)
        except ValueError:
            raise Broken(f"compare ended with {run.code}: {run.errors.strip()[-300:]}") from None
        expected = {"identical": 0, "within": 0, "diverged": 1, "inconclusive": 2}[report["verdict"]]
        if run.code != expected:
            raise Broken(f"compare ended with {run.code} for {report['verdict']}")
        return report

    def check_repeats(self, runs):
        """That repeats leave the same, bare and recorded."""
        def repeats(others):
            return all(run.code == 0 and not difference(runs[0].line, run.line) and
                       failures(runs[0].line) == failures(run.line) for run in others)

        if repeats(runs):
            return
        # LibTorch's thread pool throws now and then in a child, in one bare run of twenty or less.
        tries = 300 if any(failures(run.line) != failures(runs[0].line) for run in runs) else 20
        if not all(repeats([runs[0], self.bare(0)]) for _ in range(tries)):
            raise Unrepeatable("the bare program leaves something else or fails now and then")
        raise Broken("recorded it leaves something else: " + difference(runs[0].line, runs[-1].line))

    def pairs(self, mutations):
        """Judges the program against itself (mutation 0) and against its mutations."""
        try:
            first, recorded = self.record(0, "reference")
            bare = [self.bare(0), self.bare(0)]
            self.check_repeats([*bare, recorded])
        except Unjudged as error:
            for mutation in mutations:
                yield self.result(mutation, error.what, str(error))
            return
        earlier = []
        for mutation in mutations:
            try:
                second, run = self.record(mutation, f"candidate-{mutation}")
                if mutation == 0:
                    self.check_repeats([*bare, run])
                elif self.thorough and run != self.bare(mutation):
                    raise Broken("the mutated program leaves something else when recorded")
                report = self.compare(first, second)
                yield self.judge(mutation, bare[0].line, run, report)
                yield from self.cross(earlier, mutation, second, run)
            except Unjudged as error:
                yield self.result(mutation, error.what, str(error))
            if self.keep:
                kept = os.path.join(self.keep, f"{self.seed}-{mutation}")
                for name, folder in (("reference", "reference"), (f"candidate-{mutation}", "candidate")):
                    shutil.copytree(os.path.join(self.folder, name), os.path.join(kept, folder),
                                    dirs_exist_ok=True)
            if not self.crossed:
                shutil.rmtree(os.path.join(self.folder, f"candidate-{mutation}"), ignore_errors=True)

    def cross(self, earlier, mutation, dump, run):
        """Judges a mutated run against those before it, and puts it among them."""
        if not self.crossed or mutation == 0 or run.code != 0:
            return
        for other, other_dump, other_run in earlier:
            try:
                yield self.judge(mutation, other_run.line, run, self.compare(other_dump, dump), other)
            except Unjudged as error:
                yield self.result(mutation, error.what, str(error), against=other)
        earlier.append((mutation, dump, run))

    def plan_of_both(self, mutation, against):
        """What is changed between two mutated runs."""
        plan, other = self.plan(mutation), self.plan(against)
        return {**plan, "mutation": "two mutations", "place": f"{other['mutation']}; {plan['mutation']}",
                "harmless": plan["harmless"] and other["harmless"], "dies": plan["dies"] and other["dies"]}

    def judge(self, mutation, line, run, report, against=0):
        plan = self.plan_of_both(mutation, against) if against else self.plan(mutation)
        verdict = report["verdict"]
        same = run.code == 0 and not difference(line, run.line)
        if not same and verdict == "identical":
            bare = self.bare(mutation)
            if (bare.code, bare.line) != (run.code, run.line):
                raise Broken("the mutated program leaves something else when recorded: " +
                             difference(bare.line, run.line))
            what = FALSE_IDENTICAL
        elif not same:
            what = RIGHT if verdict == "diverged" else INCONCLUSIVE
        elif mutation == 0:
            what = {"identical": RIGHT, "diverged": FALSE_DIVERGED}.get(verdict, INCONCLUSIVE_EQUAL)
        elif plan["harmless"]:
            what = {"identical": RIGHT, "diverged": HARMLESS_DIVERGED}.get(verdict,
                                                                           HARMLESS_INCONCLUSIVE)
        else:
            what = ABSORBED
        differs = difference(line, run.line) if not same else "nothing"
        return self.result(mutation, what, report["summary"], verdict, differs, against)

    def result(self, mutation, what, summary, verdict=None, differs=None, against=0):
        plan = self.plan_of_both(mutation, against) if against else self.plan(mutation)
        return {"seed": self.seed, "mutate": mutation, "against": against, **plan, "what": what,
                "verdict": verdict, "differs": differs, "summary": summary}


def has_held(run, number):
    """What any worker of a run has held at some time, in memory (0) or as numbers (1): a model may be another's
    before it is adopted."""
    return {content.split(":")[number] for worker in run["workers"] for field in ("holds", "seen")
            for content in worker.get(field, ())}


def holds_other_contents(mine, theirs):
    """Plain tensors that only one run's worker still holds are no difference where the other run has held
    the same at some time: the same memory, or the same numbers in other memory."""
    memories, numbers = has_held(theirs, 0), has_held(theirs, 1)
    contents = (content.split(":") for content in mine.get("holds", ()))
    return any(memory not in memories and number not in numbers for memory, number in contents)


def reads_other_numbers(one, other):
    """Numbers more that only one run reads are no difference, such as metrics."""
    mine, theirs = (collections.Counter(each.get("reads", ())) for each in (one, other))
    return bool(mine - theirs) and bool(theirs - mine)


def failures(line):
    """How many instructions threw, by worker: LibTorch's thread pool now and then does in a child."""
    try:
        return [worker.get("failures") for worker in json.loads(line)["workers"]]
    except ValueError:
        return []


def difference(left, right):
    """Which of the things that two runs leave differ, by worker; empty where none do."""
    try:
        one, other = json.loads(left), json.loads(right)
    except ValueError:
        return "" if left == right else f"{left!r} and {right!r}"
    found = [] if one["generator"] == other["generator"] else ["default generator"]
    if len(one["workers"]) != len(other["workers"]):
        found.append("number of workers")
    for mine, theirs in zip(*(sorted(run["workers"], key=lambda worker: worker.get("name", ""))
                              for run in (one, other))):
        fields = [field for field in mine if field not in ("holds", "seen", "held", "reads", "failures") and
                  mine[field] != theirs.get(field)]
        if reads_other_numbers(mine, theirs):
            fields.append("numbers")
        if holds_other_contents(mine, other) or holds_other_contents(theirs, one):
            fields.append("held")
        if fields:
            found.append(f"{mine.get('name', 'a child')}: {', '.join(fields)}")
    return "; ".join(found)


def kinds_of_difference(result):
    """What differs, whoever left it, where it is one kind alone."""
    differs = result["differs"]
    if differs in (None, "nothing"):
        return "nothing"
    kinds = set()
    for part in differs.split("; "):
        kinds.update(part.rpartition(": ")[2].split(", "))
    return kinds.pop() if len(kinds) == 1 else "several"


def command(arguments, result):
    return (f"{sys.argv[0]} --bin {arguments.bin} --seed {result['seed']} --mutate {result['mutate']}"
            f"{' --against ' + str(result['against']) if result.get('against') else ''}")


def show(arguments, result):
    print(f"{result['what']}: {result['kind']}, main {result['ending']}; {result['mutation']}"
          f"{' (' + result['place'] + ')' if result['place'] else ''}"
          f"{', in what dies before the end' if result['dies'] else ''}\n"
          f"    left differently: {result['differs']}\n    {result['summary']}\n"
          f"    {command(arguments, result)}", flush=True)


def table(title, results, field):
    """Counts by what a field says, one row for each."""
    rows = collections.defaultdict(collections.Counter)
    for result in results:
        rows[result[field]][result["what"]] += 1
        rows["all"][result["what"]] += 1
    columns = [column for column in COLUMNS if rows["all"][column]]
    print(f"\n| {title} | pairs | {' | '.join(columns)} |")
    print("|---|" + "---|" * (len(columns) + 1))
    for name in sorted(rows, key=lambda name: (name == "all", name)):
        counts = [str(rows[name][column] or "") for column in columns]
        print(f"| {name} | {sum(rows[name].values())} | {' | '.join(counts)} |")


def keep(arguments, result):
    if arguments.results:
        with open(arguments.results, "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")


def kept(files):
    for name in files:
        with open(name, encoding="utf-8") as file:
            yield from map(json.loads, file)


def judge_seed(arguments, seed, mutations):
    program = Seed(arguments, seed)
    try:
        return list(program.pairs(mutations))
    finally:
        program.close()


def seeds_of(arguments, count):
    """The first seeds whose programs are of the kinds that are asked for."""
    seed = arguments.seed
    while count:
        if arguments.kind:
            plan = subprocess.run([os.path.join(arguments.bin, "random_plan"), "--seed", str(seed),
                                   "--json"], capture_output=True, text=True, check=True).stdout
            if json.loads(plan)["kind"] not in arguments.kind:
                seed += 1
                continue
        yield seed
        seed, count = seed + 1, count - 1


def judge_all(arguments):
    each = arguments.mutations + 1
    pairs = each + (math.comb(arguments.mutations, 2) if arguments.crossed else 0)
    seeds = list(seeds_of(arguments, -(-arguments.pairs // pairs)))
    results = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for judged in pool.map(lambda seed: judge_seed(arguments, seed, range(each)), seeds):
            for result in judged:
                results.append(result)
                keep(arguments, result)
                if result["what"] in FAILURES:
                    show(arguments, result)
    return results


def judge_one(arguments):
    """One pair, again and again."""
    program = Seed(arguments, arguments.seed)
    try:
        print(program.listing(arguments.mutate))
        results = []
        for _ in range(arguments.repeats):
            for result in program.pairs([*([arguments.against] if arguments.against else []), arguments.mutate]):
                if (result["mutate"], result["against"]) == (arguments.mutate, arguments.against):
                    results.append(result)
                    keep(arguments, result)
    finally:
        program.close()
    seen = collections.Counter(json.dumps(result) for result in results)
    for text, count in seen.most_common():
        print(f"{count} of {arguments.repeats}: ", end="")
        show(arguments, json.loads(text))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", help="where ulpscope and random_run are")
    parser.add_argument("--pairs", type=int, default=99)
    parser.add_argument("--seed", type=int, default=1, help="the first program")
    parser.add_argument("--kind", action="append", help="only programs of this kind, as the table names "
                                                        "it; may be given again")
    parser.add_argument("--mutations", type=int, default=2, help="of each program (default 2)")
    parser.add_argument("--crossed", action="store_true",
                        help="mutated runs of one program against one another, too")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--mutate", type=int, help="judge this mutation of --seed alone")
    parser.add_argument("--against", type=int, default=0, help="with --mutate: against this mutation")
    parser.add_argument("--repeats", type=int, default=1, help="with --mutate: so many times")
    parser.add_argument("--keep", metavar="DIR", help="keep the dumps of all pairs here")
    parser.add_argument("--thorough", action="store_true", help="run mutated programs bare too")
    parser.add_argument("--results", metavar="FILE", help="add one JSON object for each pair here")
    parser.add_argument("--tables", metavar="FILE", nargs="+",
                        help="judge nothing: what --results has written here, in one table")
    arguments = parser.parse_args()
    if not arguments.bin and not arguments.tables:
        parser.error("--bin or --tables is needed")
    if arguments.tables:
        results = list(kept(arguments.tables))
    elif arguments.mutate is None:
        results = judge_all(arguments)
    else:
        results = judge_one(arguments)
    if arguments.mutate is None:
        table("mutation", results, "mutation")
        table("program", results, "kind")
        table("main", results, "ending")
        table("left differently", [{**result, "kinds": kinds_of_difference(result)}
                                   for result in results], "kinds")
        for what, meaning in MEANINGS.items():
            if any(result["what"] == what for result in results):
                print(f"{what}: {meaning}")
    failed = sum(result["what"] in FAILURES for result in results)
    print(f"\n{len(results)} pairs, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
