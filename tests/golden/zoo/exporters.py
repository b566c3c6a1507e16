"""PyTorch's two exporters, as docs/MODELS.md says."""

import json
import multiprocessing
import os
import signal

import onnx
import torch

SECONDS = 300


def by_torchscript(model, inputs, names, outputs, path, dynamic):
    torch.onnx.export(model, inputs, path, dynamo=False, opset_version=17,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                      input_names=names, output_names=outputs,
                      dynamic_axes={name: {0: "N"} for name in names} if dynamic else None)


def by_dynamo(model, inputs, names, outputs, path, dynamic):
    sizes = tuple({0: torch.export.Dim("N", min=2)} for _ in names)
    if takes_any_number(model):
        sizes = (sizes,)
    program = torch.onnx.export(model, inputs, dynamo=True, optimize=False, verbose=False,
                                training=torch.onnx.TrainingMode.TRAINING,
                                input_names=names, output_names=outputs,
                                dynamic_shapes=sizes if dynamic else None)
    program.save(path, external_data=False)


EXPORTERS = {"torchscript": by_torchscript, "dynamo": by_dynamo}


def takes_any_number(model):
    code = model.forward.__code__
    return bool(code.co_flags & 0x04)    # CO_VARARGS: def forward(self, *fields)


def reason_of(error):
    """In a line, the error that began it; the newer exporter wraps it several times."""
    while error.__cause__:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def quietly():
    """Exporters talk much; the older one is of C++."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1), os.dup2(nowhere, 2)


def attempt(entry, exporter, path, way):
    """In a process of its own, as exporters crash now and then, and some never end: the answer goes to a
    file beside `path`."""
    quietly()
    signal.alarm(SECONDS)
    network, batch, names = entry.network().train(), entry.batches()[0], entry.fed()
    outputs = ["logits", "loss"] if entry.own_loss else ["logits"]
    try:
        EXPORTERS[exporter](network, tuple(batch[n] for n in names), names, outputs, str(path),
                            way == "dynamic")
        reason = ""
    except Exception as error:    # whatever an exporter raises is its answer
        reason = reason_of(error)
        path.unlink(missing_ok=True)
    path.with_suffix(".reason").write_text(reason)
    os._exit(0)


def export(entry, exporter, path):
    """Writes the file. How it came to be: with a batch that is a symbol ("dynamic") or as it was seen
    ("fixed"), None if not at all; and why not better."""
    reason = ""
    for way in ("dynamic", "fixed"):
        child = multiprocessing.get_context("fork").Process(target=attempt,
                                                            args=(entry, exporter, path, way))
        child.start()
        child.join()
        answer = path.with_suffix(".reason")
        if child.exitcode != 0:
            reason = f"The exporter ends by signal {-child.exitcode}."
            path.unlink(missing_ok=True)
        elif not (said := answer.read_text()):
            return way, reason
        else:
            reason = said
    return None, reason


def note_moves(network, path, noted):
    """What docs/MODELS.md advises to write into a file: what is a parameter, and whether it moves."""
    file = onnx.load(path)
    parameters = {k: p.requires_grad for k, p in network.named_parameters(remove_duplicate=False)}
    buffers = [k for k, _ in network.named_buffers(remove_duplicate=False)]
    for key, value in {"tequio.parameters": parameters, "tequio.buffers": buffers}.items():
        file.metadata_props.add(key=key, value=json.dumps(value))
    onnx.save(file, noted)
