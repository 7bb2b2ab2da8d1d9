"""What a program leaves, in a line that differs if one bit of it does."""

import hashlib


def print_digest(*modules, **values) -> None:
    digest = hashlib.sha256()
    for module in modules:
        for name, tensor in module.state_dict().items():
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    print("digest", digest.hexdigest()[:16], values)
