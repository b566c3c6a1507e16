"""The machine and the program: builds it for the GPU that is there, takes the one of an archive, or packs that."""
import dataclasses
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILT = "build/gpu"
TEST_IMAGES = "t10k-*"  # of Fashion-MNIST; an archive has no others


@dataclasses.dataclass
class Machine:
    tequio: str
    gpu: str             # "NVIDIA H200"
    chip: int            # 90
    n_gpus: int
    driver: str
    libraries: str
    version: str
    commit: str
    has_tests: bool      # the programs of ctest -L gpu are there
    packed: str          # the folder of an archive's data, or ""


def no_gpu(why):
    print(f"no GPU: {why}")
    sys.exit(77)


def output(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout


def built_tests():
    return sorted(re.findall("gpu_(.*)_test$", path)[0] for path in glob.glob(f"{BUILT}/tests/gpu/gpu_*_test"))


def build(archs):
    subprocess.run(["scripts/setup", "--cuda", "g++", "libcmocka-dev", "dataset-fashion-mnist"], check=True)
    subprocess.run(["cmake", "--preset", "release", "-B", BUILT, "-DBUILD_TESTING=ON", "-DTEQUIO_CUDA=ON",
                    f"-DTEQUIO_CUDA_ARCHS={archs}"], stdout=subprocess.DEVNULL, check=True)
    with open(f"{BUILT}/tests/gpu/CTestTestfile.cmake", encoding="utf-8") as file:
        tests = [f"gpu_{name}" for name in re.findall(r"^add_test\(\[=\[gpu/(.*?)\]=\]", file.read(), re.M)]
    subprocess.run(["cmake", "--build", BUILT, "--target", "tequio", *tests], check=True)


# --- an archive

ARCHIVE_MOST = 64 << 20  # bytes that go to a machine that is lent

BESIDE = """#!/bin/sh
# the libraries of the archive, for this program alone: a peer has its own
here=$(cd "$(dirname "$0")/{up}" && pwd)
LD_LIBRARY_PATH=$here/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}} exec "$here/bin/{name}" "$@"
"""


def copy_programs(to):
    programs = [f"{BUILT}/tequio", *glob.glob(f"{BUILT}/tests/gpu/gpu_*_test")]
    os.makedirs(f"{to}/{BUILT}/bin")
    os.makedirs(f"{to}/{BUILT}/lib")
    os.makedirs(f"{to}/{BUILT}/tests/gpu")
    for program in programs:
        name, up = os.path.basename(program), "." if program.endswith("tequio") else "../.."
        subprocess.run(["strip", "-o", f"{to}/{BUILT}/bin/{name}", program], check=True)
        with open(f"{to}/{program}", "w", encoding="utf-8") as file:
            file.write(BESIDE.format(up=up, name=name))
        os.chmod(f"{to}/{program}", 0o755)
    for library in sorted(set(re.findall(r"=> (/\S+)", output(["ldd", *programs])))):
        # not what belongs to the system's own loader
        if not re.search(r"/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv))\.so", library):
            shutil.copy(library, f"{to}/{BUILT}/lib")


def size_of(archive):
    """In MiB; an archive that a machine that is lent does not take ends the program."""
    size = os.path.getsize(archive)
    if size > ARCHIVE_MOST:
        sys.exit(f"{archive}: {size / 2**20:.1f} MiB, and a machine that is lent takes {ARCHIVE_MOST >> 20}")
    return size >> 20


def pack(archive):
    """A folder that is laid out as this one, with all that runs and what its programs are linked with."""
    build(os.environ.get("ARCHS", "90"))
    with tempfile.TemporaryDirectory() as work:
        to = f"{work}/tequio-gpu-check"
        copy_programs(to)
        for folder in "scripts", "bench", "examples", "tests/golden/data", "tests/golden/onnx":
            shutil.copytree(folder, f"{to}/{folder}")
        os.makedirs(f"{to}/tests/tools")
        for tool in "make_arrays.py", "make_decoder.py":
            shutil.copy(f"tests/tools/{tool}", f"{to}/tests/tools")
        os.makedirs(f"{to}/{BUILT}/fashion-mnist")
        for path in glob.glob(f"/usr/share/datasets/fashion-mnist/{TEST_IMAGES}"):
            shutil.copy(path, f"{to}/{BUILT}/fashion-mnist")
        with open(f"{to}/commit", "w", encoding="utf-8") as file:
            file.write(output(["git", "rev-parse", "--short", "HEAD"]))
        subprocess.run(["tar", "-C", work, "-cJf", archive, "tequio-gpu-check"], check=True,
                       env={**os.environ, "XZ_OPT": "-9"})
    print(f"written: {archive}, {size_of(archive)} MiB. There: tar xf, "
          "tequio-gpu-check/scripts/gpu-check")
    return 0


# --- what is there

def program():
    if os.environ.get("TEQUIO"):
        return os.environ["TEQUIO"]
    if not os.path.isdir(f"{BUILT}/lib"):  # no archive
        try:
            chip = output(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]).split("\n")[0]
        except FileNotFoundError:
            chip = ""
        if not chip:
            no_gpu("nvidia-smi names none")
        build(chip.replace(".", "") + "-real")
    return os.path.abspath(f"{BUILT}/tequio")


def driver():
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            return re.search(r"Kernel Module\D*([0-9.]+)", file.read()).group(1)
    except (OSError, AttributeError):
        return "unknown"


def find():
    """Ends the process where there is no GPU."""
    tequio = program()
    told = {c["name"]: c["text"] for c in json.loads(output([tequio, "doctor", "--json"]))["checks"]}
    gpus = [text for name, text in told.items() if re.match(r"cuda:\d", name) and not text.startswith("absent: ")]
    if not gpus:
        no_gpu(told.get("cuda:0", told["cuda"]))
    libraries = {name: told[name] for name in ("cuBLASLt", "cuDNN", "NVRTC", "NCCL") if name in told}
    for name, text in {"cuda": told["cuda"], "cuda:0": gpus[0], **libraries}.items():
        print(f"{name:10} {text}")
    gpu, chip = gpus[0].split(", ")[:2]
    if os.path.exists("commit"):
        with open("commit", encoding="utf-8") as file:
            commit = file.read()
    else:
        commit = output(["git", "rev-parse", "--short", "HEAD"])
    return Machine(
        tequio=tequio, gpu=gpu, chip=int(chip.split("_")[1]), n_gpus=len(gpus),
        driver=driver(), version=output([tequio, "--version"]).split("\n")[0],
        libraries=", ".join(f"{n} {t.split(',')[0]}" for n, t in libraries.items() if not t.startswith("absent")),
        commit=commit.strip() or "unknown", has_tests=not os.environ.get("TEQUIO") and bool(built_tests()),
        packed=os.path.abspath(f"{BUILT}/fashion-mnist") if os.path.isdir(f"{BUILT}/fashion-mnist") else "")
