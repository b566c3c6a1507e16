"""All rows of the zoo, by what they are."""

from . import composed, language, perception, small, vision

GROUPS = {
    "Hugging Face's, over tokens": language.ZOO,
    "Hugging Face's, over images, sound and time": perception.ZOO,
    "torchvision's": vision.ZOO,
    "written out": small.ZOO,
    "written out, with a loss of their own in the file": composed.ZOO,
}
ZOO = {name: entry for rows in GROUPS.values() for name, entry in rows.items()}
