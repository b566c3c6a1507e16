"""Golden videos: a file of every container, and what ffmpeg, the program, makes of their frames.

    python make_videos.py ../unit/data/data/videos

With ffmpeg 5.1. numbers.mp4 has 24 frames of one colour each, (20 + 8n, 235 - 8n, 10 + 4n), in groups of eight that
refer to each other; the others have 36 frames of a moving scene. frames.txt has a line a frame of these: the file and
the first half of the SHA-256 of its red, green and blue, [height][width][3].
"""

import pathlib
import subprocess
import sys
import tempfile

OUT = pathlib.Path(sys.argv[1])
EXACT = ["-fflags", "+bitexact", "-flags:v", "+bitexact", "-threads", "1"]
SCENE = ["-f", "lavfi", "-i", "testsrc2=size=48x32:rate=12:duration=3"]
H264 = ["-c:v", "libx264", "-crf", "30", "-bf", "3", "-g", "12", "-pix_fmt", "yuv420p"]
SCENES = {
    "scene.mp4": H264,
    "turned.mov": [*H264, "-metadata:s:v", "rotate=90"],
    "scene.webm": ["-c:v", "libvpx-vp9", "-crf", "40", "-b:v", "0", "-g", "12", "-pix_fmt", "yuv420p"],
    "scene.avi": ["-c:v", "mpeg4", "-q", "12", "-bf", "2", "-g", "12"],
    "scene.mkv": ["-c:v", "mpeg2video", "-q", "12", "-bf", "2", "-g", "12"],
}


def ffmpeg(*options, **how):
    return subprocess.run(["ffmpeg", "-y", "-loglevel", "error", *map(str, options)], check=True, **how)


def write_numbers():
    with tempfile.TemporaryDirectory() as folder:
        for n in range(24):
            colour = bytes([20 + 8 * n, 235 - 8 * n, 10 + 4 * n])
            pathlib.Path(folder, f"{n:02}.ppm").write_bytes(b"P6 32 32 255\n" + colour * 1024)
        ffmpeg("-i", f"{folder}/%02d.ppm", "-c:v", "libx264", "-qp", 4, "-bf", 2, "-pix_fmt", "yuv444p", "-x264-params",
               "open-gop=1:keyint=8:min-keyint=8", *EXACT, OUT / "numbers.mp4")


def hashes(name):
    out = ffmpeg("-i", OUT / name, "-fps_mode", "passthrough", "-sws_flags", "bicubic+accurate_rnd+bitexact+full_chroma_int",
                 "-pix_fmt", "rgb24", "-f", "framehash", "-hash", "sha256", "-", capture_output=True, text=True).stdout
    return [line.split(",")[-1].strip()[:32] for line in out.splitlines() if not line.startswith("#")]


write_numbers()
lines = []
for scene, options in SCENES.items():
    ffmpeg(*SCENE, *options, *EXACT, OUT / scene)
    lines += [f"{scene} {digest}\n" for digest in hashes(scene)]
(OUT / "frames.txt").write_text("".join(lines))
