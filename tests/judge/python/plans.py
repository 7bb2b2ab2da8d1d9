"""Small random Python programs as data, each derived from a seed, and one change of them."""

import copy
import random

TENSORS = 4  # that a program holds by number
SOURCES = ("torch", "numpy", "own", "python", "from_numpy")
OPS = ("unary", "binary", "in_place", "view_in", "numpy_write", "numpy_copy", "make", "item", "grad", "func_grad", "set_data",
       "weight_write", "weight_set", "weight_in", "index", "cat", "replace", "keep")
FACTORS = (0.5, 1.25, 2.0, 1.0009765625)
MUTATIONS = ("op", "op", "op at the end", "factor", "swap", "respelled", "again", "left out", "hyperparameter", "unused op",
             "unused draw", "weight write", "weight write at the end", "evaluation", "number read", "times one")


def one_op(choose):
    """No tensor over NumPy's own memory is made here: nothing shows one that no op reads."""
    return {"op": choose.choice(OPS), "to": choose.randrange(TENSORS), "a": choose.randrange(TENSORS),
            "b": choose.randrange(TENSORS), "i": choose.randrange(4), "j": choose.randrange(4),
            "which": choose.randrange(6), "factor": choose.choice(FACTORS), "source": choose.choice(SOURCES[:4]),
            "way": choose.choice(("numpy", "data", "pointer"))}


def steps_of_training(choose):
    for number in range(choose.choice((1, 2, 3))):
        if choose.random() < 0.4:
            yield one_op(choose)
        yield {"op": "step", "number": number, "parts": choose.choice((1, 1, 2)), "clip": choose.choice((0, 0, 0.5)),
               "set_to_none": choose.random() < 0.5, "noise": choose.choice(("", "", "torch", "numpy", "python")),
               "reads": choose.random() < 0.6, "scale": 1.0}
        for op, share in (("evaluate", 0.3), ("average", 0.3), ("schedule", 0.2), ("copy_state", 0.2), ("load_state", 0.15)):
            if choose.random() < share:
                yield {"op": op, "factor": 0.9}


def plan(seed):
    choose = random.Random(seed)
    made = {"seed": seed, "width": choose.choice((4, 6, 8)), "outputs": choose.choice((1, 3)),
            "blocks": [choose.choice(("layer_norm", "batch_norm", "dropout", "counter", "function", "plain"))
                       for _ in range(choose.choice((1, 2, 3)))],
            "optimizer": choose.choice(("sgd", "momentum", "adam", "adamw", "rmsprop", "by hand")),
            "lr": choose.choice((0.1, 0.01)), "checkpointed": choose.random() < 0.2,
            "data": choose.choice(("torch", "numpy", "own", "python")),
            "order": choose.choice(("randperm", "slice", "loader", "numpy", "python")),
            "reads_all": choose.random() < 0.4, "respelled": False}
    instructions = [{"op": "make", "to": number, "source": choose.choice(SOURCES)} for number in range(TENSORS)]
    instructions += [one_op(choose) for _ in range(choose.randrange(2, 6))]
    if choose.random() < 0.8:
        instructions += [{"op": "model"}, *steps_of_training(choose)]
    instructions += [one_op(choose) for _ in range(choose.randrange(5))]
    return {**made, "instructions": instructions}


def change_of_training(made, choose):
    what = choose.choice(("lr", "clip", "scale", "set_to_none", "parts"))
    steps = [each for each in made["instructions"] if each["op"] == "step"]
    if what == "lr":
        made["lr"] *= 1.01
    elif steps:
        step = choose.choice(steps)
        step.update({"clip": {"clip": 0.25}, "scale": {"scale": 1.0009765625}, "parts": {"parts": 3 - step["parts"]},
                     "set_to_none": {"set_to_none": not step["set_to_none"]}}[what])
    return what


def mutate(original, number):
    """The plan with the change of this number, and what that is; 0 changes nothing."""
    if number == 0:
        return original, "none"
    choose = random.Random(original["seed"] * 1000 + number)
    made = copy.deepcopy(original)
    instructions = made["instructions"]
    mutation = choose.choice(MUTATIONS)
    at = len(instructions) if mutation.endswith("at the end") else choose.randrange(TENSORS, len(instructions) + 1)
    number_of_tensor = choose.randrange(TENSORS)
    inserted = {
        "op": one_op(choose), "op at the end": one_op(choose), "evaluation": {"op": "evaluate"},
        "unused op": {"op": "unused", "a": number_of_tensor, "which": choose.randrange(6)},
        "unused draw": {"op": "unused_draw", "source": choose.choice(SOURCES[:4])},
        "number read": {"op": "item", "a": number_of_tensor},
        "times one": {"op": "times_one", "to": number_of_tensor, "a": number_of_tensor},
        "again": copy.deepcopy(choose.choice(instructions)),
    }
    inserted["weight write"] = inserted["weight write at the end"] = {
        **one_op(choose), "op": "weight_write", "factor": 1.0009765625}
    place = ""
    if mutation in inserted:
        instructions.insert(at, inserted[mutation])
        place = inserted[mutation]["op"]
    elif mutation == "factor":
        place = choose.choice(instructions)
        place["factor"] = place.get("factor", 1.0) * 1.0009765625
    elif mutation == "swap" and at + 1 < len(instructions):
        instructions[at], instructions[at + 1] = instructions[at + 1], instructions[at]
    elif mutation == "left out" and at < len(instructions) and instructions[at]["op"] != "model":
        place = instructions.pop(at)["op"]
    elif mutation == "respelled":
        made["respelled"] = True
    elif mutation == "hyperparameter":
        place = change_of_training(made, choose)
    return made, f"{mutation} {place}".strip()
