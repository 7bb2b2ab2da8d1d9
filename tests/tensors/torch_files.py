"""Files of torch.save and torch.jit.save: torch_files.py ULPSCOPE, with PyTorch on PYTHONPATH"""

import os
import sys

import numpy as np
import torch

import support


class Malicious:
    def __reduce__(self):
        return (eval, ("open('executed', 'w')",))


class TorchFiles(support.Case):
    def network(self):
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4),
                                   torch.nn.Flatten(), torch.nn.Linear(144, 5))

    options = {}

    def save(self, name, value):
        torch.save(value, self.path(name), **self.options)

    def test_state_dict(self):
        state = self.network().state_dict()
        self.save("a.pt", state)
        np.savez(self.path("b.npz"), **{name: value.numpy() for name, value in state.items()})
        self.assert_identical("a.pt", "b.npz", tensors=len(state))

    def test_torchscript_has_the_names_of_its_state_dict(self):
        network = self.network().eval()
        state = network.state_dict()
        self.save("a.pt", state)
        torch.jit.save(torch.jit.trace(network, torch.ones(1, 3, 8, 8)), self.path("b.pt"))
        self.assert_identical("a.pt", "b.pt", tensors=len(state))
        torch.jit.script(network).save(self.path("c.pt"))
        self.assert_identical("a.pt", "c.pt", tensors=len(state))

    def test_one_bit_is_found_in_a_checkpoint(self):
        network = self.network()
        optimizer = torch.optim.Adam(network.parameters())
        network(torch.ones(1, 3, 8, 8)).sum().backward()
        optimizer.step()
        for name in ("a.pt", "b.pt"):
            self.save(name, {"model": network.state_dict(), "optimizer": optimizer.state_dict(),
                             "epoch": 3 if name == "a.pt" else 4})
            optimizer.state_dict()["state"][2]["exp_avg"].view(torch.int32)[1] ^= 1
        findings = self.report("a.pt", "b.pt")["findings"]
        self.assertEqual([finding["tensors"][0]["name"] for finding in findings],
                         ["optimizer.state.2.exp_avg", "epoch"])

    def test_views_share_a_storage(self):
        base = torch.arange(24.0).reshape(4, 6)
        views = {"base": base, "turned": base.t(), "part": base[1:, ::2],
                 "expanded": base[0].expand(3, 6), "scalar": base[2, 3],
                 "last": torch.ones(1, 3, 2, 2).to(memory_format=torch.channels_last),
                 "empty": torch.empty(0, 3), "parameter": torch.nn.Parameter(base[0])}
        self.save("a.pt", views)
        np.savez(self.path("b.npz"), **{name: view.detach().numpy() for name, view in views.items()})
        self.assert_identical("a.pt", "b.npz", tensors=len(views))

    def test_dtypes(self):
        bits = torch.arange(8, dtype=torch.uint8)
        names = ("float8_e4m3fn", "float8_e5m2", "bfloat16", "float16", "uint16", "int8", "complex64",
                 "bool", "float64")
        self.save("a.pt", {name: (bits > 3) if name == "bool" else
                           bits.clone().view(getattr(torch, name)) for name in names})
        self.assert_identical("a.pt", "a.pt", tensors=len(names))

    def test_values_beside_tensors_count(self):
        self.save("a.pt", {"lr": 0.1, "name": "x", "none": None, "list": [1, (True, torch.ones(1))]})
        self.save("b.pt", {"lr": 0.2, "name": "y", "none": 1, "list": [1, (False, torch.ones(1))]})
        findings = self.report("a.pt", "b.pt")["findings"]
        self.assertEqual([finding["tensors"][0]["name"] for finding in findings],
                         ["lr", "name", "none", "list.1.0"])

    def test_conjugated_views_are_not_compared(self):
        self.save("a.pt", {"x": torch.ones(2, dtype=torch.complex64).conj(), "y": torch.ones(1)})
        self.assertEqual(self.report("a.pt", "a.pt")["verdict"], "inconclusive")

    def test_code_is_refused_by_name_and_not_executed(self):
        self.save("a.pt", {"x": torch.ones(2), "y": Malicious()})
        self.assert_refused("a.pt", "a.pt", saying="eval, which is not one of those that build tensors")
        self.assertNotIn("executed", os.listdir(self.folder))

    def test_a_whole_module_is_refused_by_name(self):
        self.save("a.pt", self.network())
        self.assert_refused("a.pt", "a.pt", saying="torch.nn.modules.container.Sequential")

    def test_later_protocols_of_pickles(self):
        network = self.network()
        value = {"model": network.state_dict(), "parameter": next(network.parameters()), "number": 1 << 40,
                 "dtype": torch.float16, "size": torch.Size([1, 2]), "text": "x" * 300}
        self.save("a.pt", value)
        for protocol in (3, 4, 5):
            with self.subTest(protocol):
                torch.save(value, self.path("b.pt"), pickle_protocol=protocol, **self.options)
                self.assert_identical("a.pt", "b.pt", tensors=len(network.state_dict()) + 6)

    def test_bytes_beside_tensors(self):
        """Protocol 2 makes bytes by a call, which is refused."""
        for name, value in (("a.pt", b"abc"), ("b.pt", b"abd")):
            torch.save({"x": torch.ones(1), "y": value}, self.path(name), pickle_protocol=4, **self.options)
        self.assertEqual(self.report("a.pt", "b.pt")["findings"][0]["tensors"][0]["name"], "y")

    def test_code_in_later_protocols_is_refused_by_name(self):
        for protocol in (4, 5):
            torch.save({"y": Malicious()}, self.path("a.pt"), pickle_protocol=protocol, **self.options)
            self.assert_refused("a.pt", "a.pt", saying="eval, which is not one of those that build tensors")
        self.assertNotIn("executed", os.listdir(self.folder))


class LegacyFiles(TorchFiles):
    """The form of PyTorch before 1.6, which later ones still write: all that is said of archives
    holds of these, too."""

    options = {"_use_new_zipfile_serialization": False}

    def test_every_protocol(self):
        state = self.network().state_dict()
        np.savez(self.path("b.npz"), **{name: value.numpy() for name, value in state.items()})
        for protocol in (2, 3, 4, 5):
            with self.subTest(protocol):
                torch.save(state, self.path("a.pt"), pickle_protocol=protocol, **self.options)
                with open(self.path("a.pt"), "rb") as file:
                    self.assertEqual(file.read(2), bytes((0x80, protocol)))
                self.assert_identical("a.pt", "b.npz", tensors=len(state))

    def test_both_forms_have_the_same_names(self):
        network = self.network()
        value = {"model": network.state_dict(), "lr": 0.1, "steps": [1, torch.ones(3)],
                 "storage": torch.arange(3.0).untyped_storage()}
        self.save("a.pt", value)
        torch.save(value, self.path("b.pt"))
        self.assert_identical("a.pt", "b.pt", tensors=len(network.state_dict()) + 4)


if __name__ == "__main__":
    support.main(sys.argv[1])
