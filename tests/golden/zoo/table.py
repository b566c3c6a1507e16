"""What results mean: a line for each, and the table of docs/MODELS.md."""

import json
import math
import pathlib
import re

import models
from exporters import EXPORTERS

LOSS, GRADIENT, STATISTICS, EXPORT = 1e-5, 1e-3, 1e-3, 1e-4
CHAOS = 10    # how much farther from PyTorch in float64 than PyTorch in float32 we may be
PAGE = pathlib.Path(__file__).parents[3] / "docs" / "MODELS.md"
BEGIN, END = "<!-- tests/golden/zoo -->", "<!-- end -->"

NOTED = ("With the five lines of \"What moves and what does not\". Without them other weights move than in "
         "PyTorch: the program warns of what it guesses, but no exporter writes requires_grad.")


def worst(distances, key):
    return max((d.get(key, math.nan) for d in distances), default=math.nan)


def least(by_type):
    """Of the distances to PyTorch in float32 and in float64."""
    return min(d["worst"] for d in by_type.values())


def is_chaotic(distance):
    return not distance["float32"] <= LOSS


def agrees(distance):
    """float32's loss is near, or float64's as near as PyTorch's own float32 comes to that."""
    far = distance.get("float64", math.inf)
    return not is_chaotic(distance) or far <= max(LOSS, CHAOS * distance.get("apart", 0.0))


def statistics(result):
    """After the first step alone, where rounding decides how the others go."""
    chaotic = any(is_chaotic(d) for d in result["loss"].values())
    return least(result["first statistics" if chaotic else "statistics"])


def faults(result):
    """Everything that differs."""
    found = [f"loss of {name}" for name, d in result["loss"].items() if not agrees(d)]
    if not least(result["gradient"]) <= max(GRADIENT, CHAOS * result["gradient apart"]):
        found.append("gradient of " + result["gradient"]["float32"]["whose"])
    if not statistics(result) <= STATISTICS:
        found.append("running statistics")
    if not result["export"].get("distance", math.inf) <= EXPORT:
        found.append("export" + (f" ({e})" if (e := result["export"].get("error")) else ""))
    return found


def is_off(result):
    """The exporter's own file differs from PyTorch."""
    return result.get("off", 0.0) > 1e-3


def is_accepted(result):
    return "loss" in result and "refused" not in result and not faults(result)


def line(result):
    """For the terminal."""
    if "no file" in result:
        return "NO FILE " + result["no file"]
    if "refused" in result:
        return "REFUSED " + result["refused"] + (" (elsewhere too)" if result["elsewhere"] else "")
    found, losses = faults(result), result["loss"].values()
    return (("DIFFERS " + "; ".join(found) if found else "ok") + f", batch {result['batch']}, "
            f"loss {worst(losses, 'float32'):.1e} (float64 {worst(losses, 'float64'):.0e}, "
            f"PyTorch's own {worst(losses, 'apart'):.0e}), gradient {least(result['gradient']):.1e}, "
            f"statistics {statistics(result):.1e}, "
            f"export {result['export'].get('distance', math.nan):.1e}" +
            (", noted" if result["noted"] else ""))


# --- the page ---

CHATTER = (r"\[Caused by", "Please feel free", "If you are trying", r"Support for this", r"\(unhinted")


class Notes:
    """Reasons, each with a number."""

    def __init__(self):
        self.texts = []

    def mark(self, text):
        text = " ".join(re.split("|".join(CHATTER), text)[0].replace("|", "/").split())
        if text not in self.texts:
            self.texts.append(text)
        return f"({self.texts.index(text) + 1})"


def number(x):
    return "0" if x == 0 else f"{x:.0e}".replace("e-0", "e-").replace("e+0", "e+")


def cells(result, notes):
    """Loss, gradient and export."""
    if result is None:
        return ["", "", ""]
    if "no file" in result:
        return ["no file " + notes.mark(result["no file"]), "", ""]
    if "refused" in result:
        too = ". ONNX Runtime refuses it, too." if result["elsewhere"] else ""
        said = re.sub("^exit [0-9]+: tequio: (model: )?model.onnx: ", "", result["refused"])
        return ["refused " + notes.mark(said + too), "", ""]
    losses, found = result["loss"].values(), faults(result)
    loss = number(worst(losses, "float32"))
    if any(is_chaotic(d) for d in losses):
        loss += f"; float64 {number(worst(losses, 'float64'))}, its own {number(worst(losses, 'apart'))}"
    if found and is_off(result):
        loss += " " + notes.mark("The file is not PyTorch's network: by ONNX Runtime, too, its outputs are up to "
                                 f"{number(result['off'])} of the largest from PyTorch's, in batches other "
                                 "than the one that was traced.")
    elif found:
        loss = "**differs** " + notes.mark("; ".join(found)) + " " + loss
    if result["noted"]:
        loss += " " + notes.mark(NOTED)
    if result["note"]:
        loss += " " + notes.mark(result["note"])
    if result["batch"] == "fixed":
        loss += " " + notes.mark("For the batch that was seen alone: " + result["fixed because"])
    export = number(result["export"].get("distance", math.nan))
    if result["export"].get("judge") == "by_reference":
        export += " " + notes.mark("By onnx.reference: ONNX Runtime crashes at this file, and at the "
                                   "exporter's own.")
    return [loss, number(least(result["gradient"])), export]


def read(folder):
    found = {}
    for name in models.ZOO:
        for exporter in EXPORTERS:
            path = folder / name / exporter / "result.json"
            found[name, exporter] = json.loads(path.read_text()) if path.exists() else None
    return found


def summary(results):
    files = [r for r in results.values() if r and "no file" not in r]
    refused = [r for r in files if "refused" in r]
    wrong = [r for r in files if is_off(r) or r.get("elsewhere")]
    accepted = [r for r in files if is_accepted(r)]
    with_file = {name for (name, _), r in results.items() if r and "no file" not in r}
    some = {name for (name, _), r in results.items() if r and is_accepted(r)}
    differ = [r for r in files if r not in accepted and r not in refused and not is_off(r)]
    return (f"{len(with_file)} networks in {len(files)} files: {len(accepted)} files agree, of "
            f"{len(some)} networks. {len(wrong)} files are wrong by ONNX Runtime, too; "
            f"refused beside these: {len([r for r in refused if not r['elsewhere']])}; that differ: {len(differ)}.")


def write(folder):
    results, notes, out = read(folder), Notes(), []
    for title, rows in models.GROUPS.items():
        out += ["", f"| {title} | TorchScript: loss | gradient | export | torch.export: loss | gradient "
                    "| export |", "|---|---|---|---|---|---|---|"]
        for name in (name for name in rows if any(results[name, e] for e in EXPORTERS)):
            row = [c for exporter in EXPORTERS for c in cells(results[name, exporter], notes)]
            out.append("| " + " | ".join([name, *row]) + " |")
    out += ["", *(f"{i + 1}. {text}" for i, text in enumerate(notes.texts))]
    before, rest = PAGE.read_text().split(BEGIN + "\n")
    after = rest.split(END + "\n", 1)[1]
    PAGE.write_text(before + "\n".join([BEGIN, summary(results), *out, END]) + "\n" + after)
    print(summary(results))
