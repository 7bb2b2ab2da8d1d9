#!/usr/bin/env python3
"""Runs pairs of programs under the oracle: scenarios.py BUILD [--check | --table] [NAME...]

BUILD is a build directory with bin/ and lib/. --check fails where the oracle's first finding is not
the one expected of every machine; --table prints the Markdown table of TRUTH.md.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import oracle_diff

RESNET, MLP, TRANSFORMER = "digits_resnet", "layernorm_mlp", "transformer_encoder"
DEFAULT, AVX2, AVX512 = (f"ATEN_CPU_CAPABILITY={name}" for name in ("default", "avx2", "avx512"))


class Scenario:
    """Two runs of a program: `common` flags, those of A and of B, environment of A and of B.

    `module` is where the first finding stands, found by hand from the op's call number. `expected` is
    how that finding begins wherever the tests run; None where it depends on the processor or on chance,
    "" where there is none. `loaded` runs start from saved weights, and what precedes step 0 is left out.
    """

    def __init__(
        self,
        name,
        program,
        common="",
        a="",
        b="",
        env_a="",
        env_b="",
        module="",
        expected=None,
        loaded=False,
    ):
        self.name, self.program, self.common, self.a, self.b = name, program, common, a, b
        self.env_a, self.env_b, self.module, self.expected = env_a, env_b, module, expected
        self.loaded = loaded


SCENARIOS = [
    Scenario("1 same resnet", RESNET, expected=""),
    Scenario("1 same mlp", MLP, expected=""),
    Scenario("1 same transformer", TRANSFORMER, expected=""),
    Scenario("1 same library encoder", TRANSFORMER, "--encoder torch", expected=""),
    Scenario("2 isa, random init resnet", RESNET, env_a=DEFAULT, env_b=AVX2, module="stem.0"),
    Scenario(
        "2 isa, random init transformer", TRANSFORMER, env_a=DEFAULT, env_b=AVX2, module="embedding"
    ),
    Scenario(
        "3 isa, saved weights resnet",
        RESNET,
        env_a=DEFAULT,
        env_b=AVX2,
        module="stem.1",
        loaded=True,
    ),
    Scenario(
        "3 isa, saved weights mlp", MLP, env_a=DEFAULT, env_b=AVX2, module="input.norm", loaded=True
    ),
    Scenario(
        "3 isa, saved weights transformer",
        TRANSFORMER,
        env_a=DEFAULT,
        env_b=AVX2,
        module="blocks.0.norm1",
        loaded=True,
    ),
    Scenario(
        "4 avx512/avx2 resnet", RESNET, env_a=AVX512, env_b=AVX2, module="none (loss)", loaded=True
    ),
    Scenario("4 avx512/avx2 mlp", MLP, env_a=AVX512, env_b=AVX2, module="none (loss)", loaded=True),
    Scenario(
        "4 avx512/avx2 transformer",
        TRANSFORMER,
        env_a=AVX512,
        env_b=AVX2,
        module="blocks.0.attention, between qkv and proj",
        loaded=True,
    ),
    Scenario("5 threads mlp", MLP, b="--threads 2", module="head"),
    Scenario("5 threads mlp, wide", MLP, "--width 512 --batch 128", b="--threads 2", module="head"),
    Scenario("6 threads resnet", RESNET, b="--threads 2", module="fc"),
    Scenario("6 threads transformer", TRANSFORMER, b="--threads 2", module="head"),
    Scenario(
        "6 threads library encoder", TRANSFORMER, "--encoder torch", b="--threads 2", module="head"
    ),
    Scenario(
        "8 onednn isa resnet",
        RESNET,
        env_a="ONEDNN_MAX_CPU_ISA=SSE41",
        env_b="ONEDNN_MAX_CPU_ISA=AVX2",
        module="stem.0",
    ),
    Scenario(
        "8 onednn isa mlp",
        MLP,
        env_a="ONEDNN_MAX_CPU_ISA=SSE41",
        env_b="ONEDNN_MAX_CPU_ISA=AVX2",
        module="input, between norm and dropout",
    ),
    Scenario("9 onednn off resnet", RESNET, b="--mkldnn 0", module="stem.0"),
    Scenario("9 onednn off mlp", MLP, b="--mkldnn 0", module="input, between norm and dropout"),
    Scenario("12 mkl cbwr mlp", MLP, env_b="MKL_CBWR=COMPATIBLE", module="input.fc"),
    Scenario(
        "15 extra draw resnet",
        RESNET,
        b="--extra-draw 2",
        module="dropout (second finding)",
        expected="sequence | 2 | forward | aten::rand |",
    ),
    Scenario(
        "15 extra draw mlp",
        MLP,
        b="--extra-draw 2",
        module="input.dropout (second finding)",
        expected="sequence | 2 | forward | aten::rand |",
    ),
    Scenario(
        "15 extra draw transformer",
        TRANSFORMER,
        b="--extra-draw 2",
        module="blocks.0.dropout (second finding)",
        expected="sequence | 2 | forward | aten::rand |",
    ),
    Scenario(
        "16 order of modules resnet",
        RESNET,
        b="--order-of-modules",
        module="fc / stem.0",
        expected="sequence | - | setup | aten::empty.memory_format |",
    ),
    Scenario(
        "17 unused layer mlp",
        MLP,
        b="--unused-layer",
        module="none / input.fc",
        expected="sequence | - | setup | aten::empty.memory_format |",
    ),
    Scenario(
        "18 sampler seed resnet",
        RESNET,
        b="--sampler-seed 2",
        module="none (data)",
        expected="data | 0 | forward | aten::clone |",
    ),
    Scenario(
        "18 sampler seed mlp",
        MLP,
        b="--sampler-seed 2",
        module="none (data)",
        expected="arguments | 0 | forward | aten::select.int |",
    ),
    Scenario(
        "18 swapped samples resnet",
        RESNET,
        b="--swap-samples 2",
        module="none (data)",
        expected="data | 2 | forward | aten::clone |",
    ),
    Scenario("19 workers, augmented resnet", RESNET, "--workers 2 --augment", module="none (data)"),
    Scenario("21 half filled resnet", RESNET, "--empty-half", module="fc"),
    Scenario(
        "21 half filled, perturbed mlp",
        MLP,
        "--empty-half",
        env_a="MALLOC_PERTURB_=85",
        env_b="MALLOC_PERTURB_=165",
        module="head",
        expected="data | 0 | forward | aten::addmm |",
    ),
    Scenario(
        "21 half filled, perturbed resnet",
        RESNET,
        "--empty-half",
        env_a="MALLOC_PERTURB_=85",
        env_b="MALLOC_PERTURB_=165",
        module="fc",
        expected="data | 0 | forward | aten::addmm |",
    ),
    Scenario(
        "22 overwritten, perturbed resnet",
        RESNET,
        "--empty-overwritten",
        env_a="MALLOC_PERTURB_=85",
        env_b="MALLOC_PERTURB_=165",
        expected="",
    ),
    Scenario(
        "22 overwritten, perturbed transformer",
        TRANSFORMER,
        "--empty-overwritten",
        env_a="MALLOC_PERTURB_=85",
        env_b="MALLOC_PERTURB_=165",
        expected="",
    ),
    Scenario(
        "23 eps mlp",
        MLP,
        b="--eps 1e-6",
        module="input.norm",
        expected="arguments | 0 | forward | aten::layer_norm |",
    ),
    Scenario(
        "23 eps resnet",
        RESNET,
        b="--eps 1e-6",
        module="stem.1",
        expected="arguments | 0 | forward | aten::batch_norm |",
    ),
    Scenario(
        "24 momentum resnet",
        RESNET,
        b="--momentum 0.2",
        module="stem.1",
        expected="arguments | 0 | forward | aten::batch_norm |",
    ),
    Scenario(
        "25 eval resnet",
        RESNET,
        b="--eval",
        module="stem.1",
        expected="sequence | 0 | forward | aten::add_.Scalar |",
    ),
    Scenario(
        "25 eval mlp",
        MLP,
        b="--eval",
        module="input.dropout",
        expected="arguments | 0 | forward | aten::dropout |",
    ),
    Scenario(
        "27 refactored resnet",
        RESNET,
        b="--refactored-linear",
        module="fc",
        expected="sequence | 0 | forward | aten::addmm |",
    ),
    Scenario(
        "33 learning rate resnet",
        RESNET,
        b="--lr 0.02",
        module="stem.0 (weight)",
        expected="arguments | 0 | optimizer | aten::add_.Tensor |",
    ),
    Scenario(
        "33 learning rate mlp",
        MLP,
        b="--lr 0.002",
        module="input.fc (weight)",
        expected="arguments | 0 | optimizer | aten::addcdiv_ |",
    ),
    Scenario(
        "weight +1 ULP resnet",
        RESNET,
        b="--raw-write 2",
        module="layer2.0.conv1",
        expected="write | 2 | forward | aten::conv2d |",
    ),
    Scenario(
        "weight +1 ULP mlp",
        MLP,
        b="--raw-write 2",
        module="blocks.0.fc",
        expected="write | 2 | forward | aten::addmm |",
    ),
    Scenario(
        "weight +1 ULP transformer",
        TRANSFORMER,
        b="--raw-write 2",
        module="blocks.0.fc1",
        expected="write | 2 | forward | aten::matmul |",
    ),
    Scenario(
        "activation +1 ULP resnet",
        RESNET,
        b="--poke-activation 2",
        module="layer2.0.conv1 reads layer1's output",
        expected="write | 2 | forward | aten::conv2d |",
    ),
    Scenario(
        "activation +1 ULP mlp",
        MLP,
        b="--poke-activation 2",
        module="blocks.0.fc reads input's output",
        expected="write | 2 | forward | aten::addmm |",
    ),
    Scenario(
        "activation +1 ULP transformer",
        TRANSFORMER,
        b="--poke-activation 2",
        module="blocks.0.norm1 reads the embedding",
        expected="write | 2 | forward | aten::layer_norm |",
    ),
]


def run(build, scenario, flags, environment, log):
    """The digest of the trained model; the oracle writes to `log`."""
    command = [build / "bin" / scenario.program, "--steps", "4", *scenario.common.split()]
    if scenario.loaded:
        command += ["--load-weights", saved_weights(build, scenario.program, log.parent)]
    variables = dict(item.split("=", 1) for item in environment.split())
    variables.update(ORACLE_LOG=str(log), LD_PRELOAD=str(build / "lib" / "liboracle.so"))
    done = subprocess.run(
        [*command, *flags.split()],
        env=os.environ | variables,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.split()[-1]


def run_reference(build, scenario, folder, known):
    """Log and digest of A, which several scenarios may have; `known` holds those that were run."""
    circumstances = scenario.program, scenario.common, scenario.loaded, scenario.a, scenario.env_a
    if circumstances not in known:
        log = folder / f"a{len(known)}.log"
        known[circumstances] = log, run(build, scenario, scenario.a, scenario.env_a, log)
    return known[circumstances]


def saved_weights(build, program, folder):
    path = folder / f"{program}.pt"
    if not path.exists():
        command = [build / "bin" / program, "--steps", "1", "--save", path]
        subprocess.run(command, check=True, capture_output=True)
    return path


def compare(build, scenario, folder, known):
    """The findings of a scenario, and whether the trained models are equal."""
    reference, expected = run_reference(build, scenario, folder, known)
    candidate = folder / "b.log"
    digest = run(build, scenario, scenario.b, scenario.env_b, candidate)
    findings = oracle_diff.findings_of(reference, candidate, skip_setup=scenario.loaded)
    return findings, digest == expected


def as_expected(scenario, findings):
    if scenario.expected == "":
        return not findings
    return bool(findings) and findings[0].startswith(scenario.expected)


def second(findings):
    if len(findings) < 2:
        return ""
    kind, step, phase, op = findings[1].rsplit(" | ", 5)[:4]
    return f"{kind.replace(' |', ',')}: {op.split(' in ')[0]}, {phase} of step {step}"


def table_row(scenario, findings, same_model):
    sides = [
        f"{flags} {env}".strip() or "-"
        for flags, env in ((scenario.a, scenario.env_a), (scenario.b, scenario.env_b))
    ]
    pair = f"`{(scenario.program + ' ' + scenario.common).strip()}`: {sides[0]} / {sides[1]}"
    cells = [scenario.name, pair]
    if findings:
        kind, step, phase, op, call, what = findings[0].rsplit(" | ", 5)
        op = op.replace("autograd::engine::evaluate_function: ", "")
        kind = kind.replace(" |", ",")
        named = [item.split(":")[0] for item in what.split("; ")[0].split(", ")]
        cells += [
            kind,
            step,
            phase,
            op,
            call,
            scenario.module,
            what if kind in ("arguments", "sequence") else ", ".join(named),
            str(len(findings)),
        ]
        cells.append(second(findings))
    else:
        cells += ["none"] + [""] * 6 + ["0", ""]
    cells.append("same" if same_model else "differs")
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="scenarios whose name contains one of these")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_intermixed_args()
    build = options.build.resolve()
    failed = ran = 0
    known = {}
    with tempfile.TemporaryDirectory() as folder:
        for scenario in SCENARIOS:
            if options.names and not any(name in scenario.name for name in options.names):
                continue
            if options.check and scenario.expected is None:
                continue
            ran += 1
            findings, same_model = compare(build, scenario, pathlib.Path(folder), known)
            if options.table:
                print(table_row(scenario, findings, same_model), flush=True)
                continue
            good = scenario.expected is None or as_expected(scenario, findings)
            failed += not good
            print(
                f"{'ok  ' if good else 'FAIL'} {scenario.name}: {(findings or ['no difference'])[0]}"
            )
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
