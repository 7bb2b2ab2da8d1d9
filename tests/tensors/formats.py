"""Files of NumPy, h5py, PyTables and ONNX, and what is said of how they differ, which NumPy computes
in its own way: formats.py ULPSCOPE"""

import struct
import subprocess
import sys
import zipfile

import h5py
import numpy as np
import onnx
import onnx.numpy_helper
import tables

import support


def arrays():
    random = np.random.default_rng(7)
    return {"conv1.weight": random.standard_normal((8, 3, 3, 5)).astype(np.float32),
            "conv1.bias": random.standard_normal(8).astype(np.float32),
            "fc.weight": random.standard_normal((10, 72)),
            "half": random.standard_normal(9).astype(np.float16),
            "steps": np.int64(5), "mask": np.array([True, False]),
            "ids": np.arange(-4, 4, dtype=np.int32), "bytes": np.arange(7, dtype=np.uint8),
            "empty": np.zeros((0, 3), np.float32)}


def write_h5(path, contents, **properties):
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in contents.items():
            chunked = properties if np.ndim(array) > 0 and np.size(array) > 0 else {}
            file.create_dataset(name.replace(".", "/"), data=array, **chunked)


def write_onnx(path, contents, **external):
    tensors = [onnx.numpy_helper.from_array(np.asarray(array), name)
               for name, array in contents.items()]
    graph = onnx.helper.make_graph([], "graph", [], [], initializer=tensors)
    onnx.save_model(onnx.helper.make_model(graph), path, **external)


def lattice(array):
    """Numbers as integers of which neighbors are 1 apart."""
    bits = array.view({2: np.int16, 4: np.int32, 8: np.int64}[array.dtype.itemsize]).astype(object)
    lowest = -(1 << (8 * array.dtype.itemsize - 1))
    return np.where(bits < 0, lowest - bits, bits)


class Formats(support.Case):
    def setUp(self):
        super().setUp()
        self.arrays = arrays()
        np.savez(self.path("a.npz"), **self.arrays)

    def assert_as_npz(self, other):
        self.assert_identical("a.npz", other, tensors=len(self.arrays))

    def test_compressed_npz(self):
        np.savez_compressed(self.path("b.npz"), **self.arrays)
        self.assert_as_npz("b.npz")

    def test_directory(self):
        support.write_directory(self.path("b"), self.arrays)
        self.assert_as_npz("b")

    def test_single_arrays_whatever_their_names_are(self):
        np.save(self.path("one.npy"), self.arrays["half"])
        np.save(self.path("other.npy"), self.arrays["half"])
        self.assert_identical("one.npy", "other.npy", tensors=1)

    def test_safetensors(self):
        support.write_safetensors(self.path("b.safetensors"), self.arrays)
        self.assert_as_npz("b.safetensors")

    def test_h5_of_h5py(self):
        write_h5(self.path("b.h5"), self.arrays)
        self.assert_as_npz("b.h5")

    def test_h5_in_compressed_chunks(self):
        write_h5(self.path("b.h5"), self.arrays, chunks=True, compression="gzip", shuffle=True,
                 fletcher32=True)
        self.assert_as_npz("b.h5")

    def test_h5_in_several_boxes(self):
        array = np.random.default_rng(1).standard_normal((301, 3, 5000)).astype(np.float64)
        np.save(self.path("a.npy"), array)
        with h5py.File(self.path("b.h5"), "w") as file:
            file.create_dataset("array", data=array, chunks=(64, 2, 512), compression="gzip",
                                compression_opts=1)
        self.assert_identical("a.npy", "b.h5", tensors=1)

    def test_h5_in_boxes_of_a_later_dimension(self):
        array = (np.arange(54_000_000) % 251).astype(np.uint8).reshape(3, 2, 9_000_000)
        np.save(self.path("a.npy"), array)
        with h5py.File(self.path("b.h5"), "w") as file:
            file.create_dataset("array", data=array, chunks=(1, 2, 1_000_000), compression="gzip",
                                compression_opts=1)
        self.assert_identical("a.npy", "b.h5", tensors=1)

    def test_h5_with_a_filter_that_hdf5_lacks_is_inconclusive(self):
        write_h5(self.path("b.h5"), self.arrays, chunks=True, compression="lzf")
        report = self.report("b.h5", "b.h5")
        self.assertEqual(report["verdict"], "inconclusive")
        self.assertTrue(any("lzf" in note for note in report["coverage"]["unseen"]))

    def test_text_of_h5_is_text_however_it_is_kept(self):
        words = ["rain", "", "straße", "to"]
        with h5py.File(self.path("a.h5"), "w") as file:
            file.create_dataset("words", data=words, dtype=h5py.string_dtype())
            file["one"] = "sentence"
        with h5py.File(self.path("b.h5"), "w") as file:
            fixed = np.array([word.encode() for word in words], dtype="S32")
            file.create_dataset("words", data=fixed, chunks=(2,), compression="gzip")
            file["one"] = np.bytes_("sentence")
        self.assert_identical("a.h5", "b.h5", tensors=2)
        with h5py.File(self.path("b.h5"), "a") as file:
            file["words"][2] = b"strasse"
        report = self.report("a.h5", "b.h5")
        self.assertEqual(report["verdict"], "diverged")
        self.assertEqual([finding["tensors"][0]["name"] for finding in report["findings"]], ["words"])
        self.assertEqual(report["findings"][0]["tensors"][0]["difference"]["differing"], 2)  # the letters of the ß

    def test_very_much_text_of_h5_is_inconclusive(self):
        with h5py.File(self.path("a.h5"), "w") as file:
            file.create_dataset("words", data=["x" * 1_000] * 1_000, dtype=h5py.string_dtype())
            file["y"] = 1.0
        report = self.report("a.h5", "a.h5")
        self.assertEqual(report["verdict"], "inconclusive")
        self.assertEqual(report["tensors"]["compared"], 1)

    def test_records_of_h5_are_compared_field_by_field(self):
        kind = np.dtype([("x", "f4"), ("inner", [("pos", ">f8", (3,)), ("z", "c16")]), ("name", "S5")], align=True)
        rows = np.zeros(1000, kind)
        rows["x"] = np.arange(1000)
        rows["inner"]["pos"] = np.random.default_rng(2).standard_normal((1000, 3))
        rows["inner"]["z"] = 2j
        rows["name"] = b"row"
        write_h5(self.path("a.h5"), {"rows": rows})
        write_h5(self.path("b.h5"), {"rows": rows}, chunks=(100,), compression="gzip")
        self.assert_identical("a.h5", "b.h5", tensors=4)
        np.savez(self.path("a.npz"), **{"rows.x": rows["x"], "rows.inner.pos": rows["inner"]["pos"],
                                        "rows.inner.z": rows["inner"]["z"]})
        self.assert_identical("a.npz", "b.h5", "--ignore", "rows.name", tensors=3)
        rows["inner"]["pos"][700, 1] += 1
        write_h5(self.path("b.h5"), {"rows": rows}, chunks=(100,), compression="gzip")
        tensor, = self.report("a.h5", "b.h5")["findings"][0]["tensors"]
        self.assertEqual(tensor["name"], "rows/inner/pos")
        self.assertEqual(tensor["difference"]["worst"]["index"], [700, 1])

    def test_tables_of_pytables(self):
        class Row(tables.IsDescription):
            epoch = tables.Int32Col()
            loss = tables.Float64Col()
            note = tables.StringCol(8)
        for name, loss in (("a.h5", 0.5), ("b.h5", 0.25)):
            with tables.open_file(self.path(name), "w") as file:
                table = file.create_table("/", "log", Row)
                table.append([(1, loss, b"first"), (2, 0.125, b"")])
        self.assert_identical("a.h5", "a.h5", tensors=3)
        report = self.report("a.h5", "b.h5")
        self.assertEqual([finding["tensors"][0]["name"] for finding in report["findings"]], ["log/loss"])

    def test_soft_links_of_h5_are_followed_inside_of_the_file(self):
        for name in ("a.h5", "b.h5"):
            with h5py.File(self.path(name), "w") as file:
                file["g/x"] = np.arange(3.0)
                file["best"] = h5py.SoftLink("/g/x") if name == "a.h5" else np.arange(3.0)
                file["again"] = h5py.SoftLink("/g")
        self.assert_identical("a.h5", "b.h5", tensors=3)
        with h5py.File(self.path("b.h5"), "a") as file:
            file["best"][1] = 7
        report = self.report("a.h5", "b.h5")
        self.assertEqual([finding["tensors"][0]["name"] for finding in report["findings"]], ["best"])

    def test_what_is_behind_a_link_to_another_file_is_not_missing(self):
        for name, inside in (("a.h5", True), ("b.h5", False)):
            with h5py.File(self.path(name), "w") as file:
                file["x"] = np.ones(2)
                if inside:
                    file["g/inner/y"] = np.arange(3.0)
                else:
                    file["g"] = h5py.ExternalLink("a.h5", "/g")
        for pair in (("a.h5", "b.h5"), ("b.h5", "a.h5")):
            report = self.report(*pair)
            self.assertEqual(report["verdict"], "inconclusive")
            self.assertEqual(report["findings"], [])
            self.assertEqual(report["coverage"]["not_compared"]["opaque"], 2)
            self.assert_identical(*pair, "--ignore", "g", tensors=1)

    def test_elements_of_h5_that_are_larger_than_a_box_are_inconclusive(self):
        with h5py.File(self.path("a.h5"), "w") as file:
            large = np.dtype(("f8", ((1 << 21) + 1,)))
            file.create_dataset("chunks", shape=(1,), dtype=large, chunks=(1,))
            file.create_dataset("unwritten", shape=(1,), dtype=large)
            file.create_dataset("records", shape=(1,), dtype=[("field", large)])[...] = np.zeros(1, [("field", large)])
            file["y"] = 1.0
        report = self.report("a.h5", "a.h5")
        self.assertEqual(report["verdict"], "inconclusive")
        for name in ("chunks", "unwritten", "records/field"):
            self.assertIn(f"{name} of the reference has elements of more than 16 MB that are not stored in one piece",
                          report["coverage"]["unseen"])

    def write_keras(self, name, *assets, **properties):
        """A model in the layout of Keras 3: https://keras.io/guides/serialization_and_saving."""
        write_h5(self.path("model.weights.h5"), self.arrays, **properties)
        with zipfile.ZipFile(self.path(name), "w") as archive:
            archive.writestr("metadata.json", '{"keras_version": "3.15.1"}')
            archive.writestr("config.json", '{"module": "keras", "class_name": "Sequential"}')
            archive.write(self.path("model.weights.h5"), "model.weights.h5")
            for asset in assets:
                archive.writestr(asset, "a word")

    def test_keras(self):
        self.write_keras("b.keras")
        self.assert_as_npz("b.keras")
        self.assert_identical("b.keras", "model.weights.h5", tensors=len(self.arrays))

    def test_keras_with_compressed_chunks_behind_the_first_kilobytes(self):
        self.arrays = {"a": np.random.default_rng(4).standard_normal((300, 200)), **self.arrays}
        np.savez(self.path("a.npz"), **self.arrays)
        self.write_keras("b.keras", chunks=True, compression="gzip")
        self.assert_as_npz("b.keras")

    def test_keras_in_another_layout(self):
        with h5py.File(self.path("w.h5"), "w") as file:
            file["fc"] = self.arrays["fc.weight"].T
        with zipfile.ZipFile(self.path("b.keras"), "w") as archive:
            archive.writestr("config.json", "{}")
            archive.write(self.path("w.h5"), "model.weights.h5")
        np.savez(self.path("a.npz"), fc=self.arrays["fc.weight"])
        self.assert_identical("a.npz", "b.keras", "--layout", "OI=IO", tensors=1)

    def test_assets_of_keras_are_not_compared(self):
        self.write_keras("b.keras", "assets/layers/string_lookup/vocabulary.txt")
        report = self.report("b.keras", "b.keras")
        self.assertEqual(report["verdict"], "inconclusive")
        self.assertIn("assets/layers/string_lookup/vocabulary.txt of the reference is no dataset",
                      report["coverage"]["unseen"])

    def test_h5_of_pytables(self):
        with tables.open_file(self.path("b.h5"), "w") as file:
            for name, array in self.arrays.items():
                if np.size(array) == 0:
                    continue
                *groups, leaf = name.split(".")
                file.create_array("/" + "/".join(groups), leaf, obj=np.asarray(array),
                                  createparents=True)
        # PyTables has no type for bool in arrays but a byte of bits.
        report = self.report("a.npz", "b.h5", "--ignore", "empty", "--ignore", "mask")
        self.assertEqual(report["verdict"], "identical", report["summary"])

    def test_onnx(self):
        write_onnx(self.path("b.onnx"), self.arrays)
        self.assert_as_npz("b.onnx")

    def test_onnx_with_external_data(self):
        write_onnx(self.path("b.onnx"), self.arrays, save_as_external_data=True,
                   location="weights.bin", size_threshold=0)
        self.assert_as_npz("b.onnx")

    def test_onnx_with_typed_data(self):
        numbers = {"f": ("FLOAT", [1.5, -2]), "d": ("DOUBLE", [0.1, 3]), "h": ("FLOAT16", [1.5, 2]),
                   "i": ("INT8", [-1, 3]), "b": ("BOOL", [1, 0]), "l": ("INT64", [-1, 1]),
                   "u": ("UINT32", [7, 8]), "w": ("UINT64", [1 << 63, 0])}
        tensors = [onnx.helper.make_tensor(name, getattr(onnx.TensorProto, kind), [2], values)
                   for name, (kind, values) in numbers.items()]
        graph = onnx.helper.make_graph([], "graph", [], [], initializer=tensors)
        onnx.save_model(onnx.helper.make_model(graph), self.path("b.onnx"))
        types = {"f": "f4", "d": "f8", "h": "f2", "i": "i1", "b": "?", "l": "i8", "u": "u4",
                 "w": "u8"}
        np.savez(self.path("a.npz"), **{name: np.array(values).astype(types[name])
                                        for name, (_, values) in numbers.items()})
        self.assert_identical("a.npz", "b.onnx", tensors=8)

    def write_npy(self, name, descr, data, size):
        """As NumPy writes types that ml_dtypes adds to it: by kind and size."""
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({size},), }}\n".encode()
        with open(self.path(name), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)

    def test_bfloat16_of_jax(self):
        for name, number in (("a.npy", 1.0), ("b.npy", 1.0078125)):
            self.write_npy(name, "<V2", struct.pack("<2f", 3, number)[2:4] + struct.pack("<f", number)[2:], 2)
        tensor, = self.report("a.npy", "b.npy")["findings"][0]["tensors"]
        self.assertEqual((tensor["dtype"], tensor["difference"]["ulp"]["max"]), ("bfloat16", 1))
        self.assertEqual(tensor["difference"]["worst"]["bits"], ["0x3f80", "0x3f81"])

    def test_float8_e5m2_of_jax(self):
        for name, byte in (("a.npy", 0x3C), ("b.npy", 0x3D)):
            self.write_npy(name, "<f1", bytes((byte,)), 1)
        tensor, = self.report("a.npy", "b.npy")["findings"][0]["tensors"]
        self.assertEqual((tensor["dtype"], tensor["difference"]["ulp"]["max"]), ("float8_e5m2", 1))

    def test_types_that_a_file_does_not_name_are_inconclusive(self):
        for descr, size, why in (("<V1", 1, "has a type of one byte that the file does not name"),
                                 ("|V2", 2, "holds bytes that NumPy knows no type of")):
            with self.subTest(descr):
                self.write_npy("a.npy", descr, bytes(size), 1)
                report = self.report("a.npy", "a.npy")
                self.assertEqual(report["verdict"], "inconclusive")
                self.assertIn(f"array of the reference {why}", report["coverage"]["unseen"])

    def test_big_endian_numbers_are_turned_round(self):
        swapped = {name: np.asarray(array).astype(np.asarray(array).dtype.newbyteorder(">"))
                   for name, array in self.arrays.items()}
        np.savez(self.path("b.npz"), **swapped)
        self.assert_as_npz("b.npz")
        write_h5(self.path("b.h5"), swapped)
        self.assert_as_npz("b.h5")

    def test_memory_order_does_not_matter(self):
        np.savez(self.path("b.npz"), **{name: np.asfortranarray(array)
                                        for name, array in self.arrays.items() if np.ndim(array)},
                 steps=self.arrays["steps"])
        self.assert_as_npz("b.npz")

    def test_complex_numbers(self):
        numbers = np.array([1 + 2j, -0.5j])
        np.savez(self.path("a.npz"), a=numbers, b=numbers.astype(np.complex64))
        write_h5(self.path("b.h5"), {"a": numbers, "b": numbers.astype(np.complex64)})
        self.assert_identical("a.npz", "b.h5", tensors=2)


class Differences(support.Case):
    def write(self, name, **contents):
        np.savez(self.path(name), **contents)

    def difference(self, reference, candidate, *options):
        self.write("a.npz", x=reference)
        self.write("b.npz", x=candidate)
        report = self.report("a.npz", "b.npz", *options)
        finding = report["findings"][0]
        self.assertEqual(finding["kind"], "parameter")
        return report, finding["tensors"][0]["difference"]

    def test_numbers_are_those_of_numpy(self):
        random = np.random.default_rng(3)
        for dtype in (np.float16, np.float32, np.float64):
            with self.subTest(dtype.__name__):
                a = random.standard_normal((40, 50)).astype(dtype)
                b = np.where(random.random(a.shape) < 0.3,
                             a * (1 + 8 * np.finfo(dtype).eps * random.random(a.shape)),
                             a).astype(dtype)
                _, found = self.difference(a, b)
                steps = np.abs(lattice(a) - lattice(b)).astype(np.float64)
                self.assertEqual(found["differing"], np.count_nonzero(steps))
                self.assertEqual(found["ulp"]["max"], steps.max())
                self.assertAlmostEqual(found["ulp"]["mean"], steps[steps > 0].mean(), places=12)
                apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
                self.assertEqual(found["absolute"]["max"], apart.max())
                self.assertEqual(tuple(found["worst"]["index"]),
                                 np.unravel_index(np.argmax(apart), apart.shape))
                histogram = {low: count for low, count in found["ulp"]["histogram"]}
                for low, count in histogram.items():
                    high = 1 if low == 0 else 2 * low
                    self.assertEqual(count, np.count_nonzero((steps >= low) & (steps < high)))

    def test_the_sign_of_a_zero_and_the_payload_of_a_nan_count(self):
        nans = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(np.float32)
        _, found = self.difference(np.array([0.0, nans[0]], np.float32),
                                   np.array([-0.0, nans[1]], np.float32))
        self.assertEqual(found["differing"], 2)
        self.assertEqual(found["classes"]["signed_zero"], 1)
        self.assertEqual(found["ulp"]["max"], 0)

    def test_tolerances(self):
        a = np.array([1, 2, 3], np.float32)
        b = np.array([1, np.nextafter(np.float32(2), np.float32(3)), 3], np.float32)
        for options, verdict in ((["--max-ulp", "1"], "within"), (["--max-ulp", "0"], "diverged"),
                                 (["--rtol", "1e-6"], "within"), (["--atol", "1e-8"], "diverged")):
            with self.subTest(options):
                report, _ = self.difference(a, b, *options)
                self.assertEqual(report["verdict"], verdict)

    def test_rules_of_a_tolerance_file(self):
        self.write("a.npz", **{"fc.bias": np.float32(1), "head.bias": np.float32(1)})
        self.write("b.npz", **{"fc.bias": np.float32(1.1), "head.bias": np.float32(1.1)})
        with open(self.path("t.toml"), "w", encoding="utf-8") as file:
            file.write('[[rule]]\nmodule = "fc"\nrtol = 0.2\n')
        report = self.report("a.npz", "b.npz", "--tolerance", "t.toml")
        self.assertEqual(report["verdict"], "diverged")
        self.assertEqual(report["tensors"], {"compared": 2, "differing": 2, "inside": 1,
                                             "other_type": 0})
        self.assertEqual((report["rules"][0]["passed"], report["rules"][0]["failed"]), (1, 0))
        self.assertEqual([finding["tensors"][0]["name"] for finding in report["findings"]],
                         ["head.bias", "fc.bias"])  # what is outside comes first
        report = self.report("a.npz", "b.npz", "--tolerance", "t.toml", "--ignore", "head")
        self.assertEqual(report["verdict"], "within")

    def test_tensors_of_one_file_alone(self):
        self.write("a.npz", x=np.ones(2), old=np.ones(3))
        self.write("b.npz", x=np.ones(2), new=np.ones(4))
        report = self.report("a.npz", "b.npz")
        self.assertEqual(report["verdict"], "diverged")
        self.assertEqual([(finding["kind"], finding["tensors"][0]["name"])
                          for finding in report["findings"]],
                         [("sequence", "old"), ("sequence", "new")])
        self.assertEqual(report["coverage"]["only_reference"], 1)
        self.assertEqual(report["coverage"]["only_candidate"], 1)

    def test_one_tensor_more_on_either_side_diverges(self):
        self.write("a.npz", x=np.ones(2))
        self.write("b.npz", x=np.ones(2), more=np.ones(3))
        self.assertEqual(self.report("a.npz", "b.npz")["verdict"], "diverged")
        self.assertEqual(self.report("b.npz", "a.npz", "--max-ulp", "9")["verdict"], "diverged")

    def test_other_dtype_and_shape(self):
        self.write("a.npz", x=np.ones(2, np.float32), y=np.ones((2, 3)))
        self.write("b.npz", x=np.ones(2, np.float64), y=np.ones((3, 2)))
        x, y = self.report("a.npz", "b.npz", "--max-ulp", "9")["findings"]
        self.assertEqual(x["kind"], "metadata")
        self.assertEqual(x["arguments"], [{"name": "dtype", "of": None, "reference": "float32",
                                           "candidate": "float64"}])
        self.assertEqual(y["tensors"][0]["shape"], {"reference": [2, 3], "candidate": [3, 2]})
        self.assertTrue(any("--layout" in note for note in y["notes"]))

    def test_of_very_many_differences_some_are_only_counted(self):
        self.write("a.npz", **{f"x{k}": np.float32(1) for k in range(1002)})
        self.write("b.npz", **{f"x{k}": np.float32(2) for k in range(1002)})
        report = self.report("a.npz", "b.npz")
        self.assertEqual(report["summary"], "diverged: 1,002 of 1,002 tensors differ")
        self.assertEqual(len(report["findings"]), 1000)
        self.assertEqual(report["coverage"]["unseen"],
                         ["2 more that differ are counted and not listed"])

    def test_renamed_tensors(self):
        self.write("a.npz", **{"encoder.0.w": np.ones(2), "encoder.1.w": np.zeros(2)})
        self.write("b.npz", **{"blocks/0/w": np.ones(2), "blocks/1/w": np.zeros(2)})
        with open(self.path("map"), "w", encoding="utf-8") as file:
            file.write("encoder.* -> blocks.*\nnothing -> here\n")
        report = self.assert_identical("a.npz", "b.npz", "--map", "map", tensors=2)
        self.assertEqual(report["coverage"]["unseen"],
                         ["no tensor of the candidate fits nothing -> here"])

    def test_layouts(self):
        kernel = np.random.default_rng(5).standard_normal((8, 3, 5, 7)).astype(np.float32)
        square = np.random.default_rng(6).standard_normal((4, 4))
        self.write("a.npz", kernel=kernel, fc=square, other=square)
        self.write("b.npz", kernel=kernel.transpose(2, 3, 1, 0), fc=square.T, other=square)
        options = ["--layout", "OIHW=HWIO", "--layout", "fc:OI=IO"]
        self.assert_identical("a.npz", "b.npz", *options, tensors=3)
        self.assertEqual(self.report("a.npz", "b.npz", "--layout", "OIHW=HWIO")["findings"][0]
                         ["tensors"][0]["name"], "fc")
        changed = kernel.copy()
        changed[1, 2, 3, 4] += 1
        self.write("b.npz", kernel=changed.transpose(2, 3, 1, 0), fc=square.T, other=square)
        worst = self.report("a.npz", "b.npz", *options)["findings"][0]["tensors"][0]["difference"]
        self.assertEqual(worst["worst"]["index"], [1, 2, 3, 4])

    def test_a_layout_that_fits_nothing_is_named(self):
        self.write("a.npz", kernel=np.ones((2, 2)))
        options = ["--layout", "kernel:OI=IO", "--layout", "dense*:OI=IO", "--layout", "NCHW=NHWC"]
        report = self.report("a.npz", "a.npz", *options)
        self.assertEqual(report["verdict"], "identical")
        self.assertEqual(report["coverage"]["unseen"],
                         ["no tensor of the reference that was compared fits --layout dense*:OI=IO",
                          "no tensor of the reference that was compared fits --layout NCHW=NHWC"])

    def test_what_cannot_be_compared_is_inconclusive(self):
        np.savez(self.path("a.npz"), x=np.ones(2), o=np.array([{}], dtype=object))
        report = self.report("a.npz", "a.npz")
        self.assertEqual(report["verdict"], "inconclusive")
        self.assertIn("o of the reference holds Python objects, which are not unpickled",
                      report["coverage"]["unseen"])
        self.assert_identical("a.npz", "a.npz", "--ignore", "o", tensors=1)

    def test_files_without_a_common_name_are_inconclusive(self):
        self.write("a.npz", x=np.ones(2))
        self.write("b.npz", y=np.ones(2))
        self.assertEqual(self.report("a.npz", "b.npz")["summary"],
                         "inconclusive: no name is in both files")

    def test_text_names_what_differs(self):
        self.write("a.npz", x=np.ones(2, np.float32), y=np.float32(1))
        self.write("b.npz", x=np.array([1, 2], np.float32), y=np.float32(3))
        text = self.compare("a.npz", "b.npz").stdout
        self.assertIn("DIVERGED: 2 of 2 tensors differ", text)
        self.assertIn("--> x", text)
        self.assertIn("8,388,608 ULP at most", text)
        self.assertIn("  y  1 of 1 differ (100%)", text)


class BesideH5diff(support.Case):
    """h5diff and compare agree of datasets that both have."""

    def verdicts(self, a, b):
        for name, contents in (("a.h5", a), ("b.h5", b)):
            write_h5(self.path(name), contents)
        h5diff = subprocess.run(["h5diff", "-q", "a.h5", "b.h5"], cwd=self.folder, check=False)
        return h5diff.returncode, self.compare("a.h5", "b.h5").returncode

    def test_equal_numbers(self):
        self.assertEqual(self.verdicts(arrays(), arrays()), (0, 0))

    def test_one_bit(self):
        changed = arrays()
        changed["fc.weight"].view(np.int64)[3, 4] ^= 1
        self.assertEqual(self.verdicts(arrays(), changed), (1, 1))

    def test_another_shape(self):
        changed = arrays()
        changed["fc.weight"] = changed["fc.weight"].T
        self.assertEqual(self.verdicts(arrays(), changed)[1], 1)

    def test_the_sign_of_a_zero(self):
        self.assertEqual(self.verdicts({"x": np.array([0.0])}, {"x": np.array([-0.0])}), (1, 1))

    def test_text(self):
        words, others = (np.array(text, dtype=h5py.string_dtype()) for text in (["a", "bc"], ["a", "bd"]))
        self.assertEqual(self.verdicts({"t": words}, {"t": words}), (0, 0))
        self.assertEqual(self.verdicts({"t": words}, {"t": others}), (1, 1))

    def test_records(self):
        rows = np.array([(1, 2.5), (3, 4.5)], dtype=[("i", "i4"), ("f", "f8")])
        others = rows.copy()
        others["f"][1] = 4
        self.assertEqual(self.verdicts({"r": rows}, {"r": rows}), (0, 0))
        self.assertEqual(self.verdicts({"r": rows}, {"r": others}), (1, 1))

    def test_soft_links(self):
        """h5diff compares where they lead to, compare what is there."""
        linked = {"x": np.ones(2), "link": h5py.SoftLink("/x")}
        for name, contents in (("a.h5", linked), ("b.h5", linked)):
            with h5py.File(self.path(name), "w") as file:
                for key, value in contents.items():
                    file[key] = value
        h5diff = subprocess.run(["h5diff", "-q", "a.h5", "b.h5"], cwd=self.folder, check=False)
        self.assertEqual((h5diff.returncode, self.compare("a.h5", "b.h5").returncode), (0, 0))


if __name__ == "__main__":
    support.main(sys.argv[1])
