"""Files of tensors for the tests, and what `ulpscope compare` says of them."""

import json
import os
import resource
import struct
import subprocess
import tempfile
import unittest

import numpy as np

SAFETENSORS = {"float32": "F32", "float64": "F64", "float16": "F16", "int64": "I64", "int32": "I32",
               "int16": "I16", "int8": "I8", "uint8": "U8", "uint16": "U16", "uint32": "U32",
               "uint64": "U64", "bool": "BOOL", "complex64": "C64"}

UNLIMITED = "TENSORS_UNLIMITED" in os.environ  # AddressSanitizer takes terabytes of addresses


def safetensors_of(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def write_safetensors(path, arrays):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, array in arrays.items():
        # Not ascontiguousarray, which gives a number one dimension.
        content = np.asarray(array).tobytes()
        header[name] = {"dtype": SAFETENSORS[np.asarray(array).dtype.name],
                        "shape": np.shape(array),
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    with open(path, "wb") as file:
        file.write(safetensors_of(header, data))


def write_directory(path, arrays):
    for name, array in arrays.items():
        file = os.path.join(path, name.replace(".", "/") + ".npy")
        os.makedirs(os.path.dirname(file), exist_ok=True)
        np.save(file, array)


class Case(unittest.TestCase):
    """Every test has a folder of its own, in which commands run."""

    ulpscope = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def compare(self, *arguments, memory=None):
        """The finished process; `memory` in bytes limits what it may hold."""
        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        return subprocess.run([self.ulpscope, "compare", *arguments], cwd=self.folder, text=True,
                              capture_output=True, timeout=240,
                              preexec_fn=limit if memory and not UNLIMITED else None, check=False)

    def report(self, *arguments):
        result = self.compare(*arguments, "--format", "json")
        self.assertEqual(result.stderr, "")
        report = json.loads(result.stdout)
        expected = {"identical": 0, "within": 0, "diverged": 1, "inconclusive": 2}
        self.assertEqual(result.returncode, expected[report["verdict"]])
        return report

    def assert_identical(self, *arguments, tensors):
        report = self.report(*arguments)
        self.assertEqual(report["verdict"], "identical", report["summary"])
        self.assertEqual(report["tensors"]["compared"], tensors)
        return report

    def assert_refused(self, *arguments, saying, memory=None):
        """Exit code 2 and one line that says why, a second one at most with help."""
        result = self.compare(*arguments, memory=memory)
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "")
        lines = result.stderr.splitlines()
        self.assertTrue(lines[0].startswith("ulpscope: error: "), result.stderr)
        self.assertIn(saying, lines[0])
        self.assertLessEqual(len(lines), 2, result.stderr)
        self.assertLessEqual(len(lines[0]), 4200)  # a byte of 1,000 may become four
        if len(lines) == 2:
            self.assertTrue(lines[1].startswith("help: "), result.stderr)


def main(ulpscope):
    Case.ulpscope = os.path.abspath(ulpscope)
    unittest.main(argv=["tensors"], verbosity=1)
