"""Writes tensors as a safetensors file."""
import json
import struct

TYPES = {"torch.float32": "F32", "torch.int64": "I64", "torch.int32": "I32", "torch.uint8": "U8", "torch.bool": "BOOL"}


def write(path, tensors):
    header, at, contents = {}, 0, []
    for name, tensor in tensors.items():
        data = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": TYPES[str(tensor.dtype)], "shape": list(tensor.shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
        contents.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(contents))
