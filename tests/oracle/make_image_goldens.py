"""Writes tests/data/images: tiny pictures in every form of file, and goldens.json: what Pillow reads of each, as it
is and in two other sizes (red, green and blue by rows).

    python tests/oracle/make_image_goldens.py
"""

import json
import random
from pathlib import Path

from PIL import Image, ImageOps

FOLDER = Path(__file__).parents[1] / "data/images"
SIZES = [(5, 3), (11, 8)]
XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><tiff:Orientation>3</tiff:Orientation></x:xmpmeta>'
FORMS = [  # mode, name, how it is saved
    ("RGB", "colours.jpg", {"quality": 90}),
    ("RGB", "progressive.jpg", {"progressive": True}),
    ("RGB", "turned.jpg", {"orientation": 6}),
    ("L", "grey.jpg", {}),
    ("RGB", "colours.png", {}),
    ("L", "grey.png", {}),
    ("RGBA", "clear.png", {}),
    ("P", "palette.png", {}),
    ("1", "bits.png", {}),
    ("CMYK", "cmyk.jpg", {}),
    ("RGB", "noted.jpg", {"xmp": XMP}),
    ("RGB", "turned.png", {"orientation": 5}),
    ("P", "palette.gif", {"transparency": 3}),
    ("P", "rows.gif", {"interlace": 1}),
    ("RGB", "colours.webp", {"quality": 60}),
    ("RGBA", "clear.webp", {"lossless": True, "exact": True}),
    ("RGB", "turned.webp", {"lossless": True, "orientation": 8}),
    ("RGB", "colours.bmp", {}),
    ("P", "palette.bmp", {}),
    ("RGBA", "clear.tif", {"compression": "tiff_lzw"}),
    ("RGB", "turned.tif", {"orientation": 7}),
    ("1", "bits.tif", {"compression": "group4"}),
    ("CMYK", "cmyk.tif", {}),
]


def pixels(image):
    return list(image.convert("RGB").tobytes())


def main():
    random.seed(0)
    FOLDER.mkdir(parents=True, exist_ok=True)
    goldens = {}
    for mode, name, options in FORMS:
        picture = Image.frombytes("RGB", (3, 3), random.randbytes(27)).resize((7, 9), Image.Resampling.BICUBIC)
        if orientation := options.pop("orientation", None):
            options["exif"] = Image.Exif()
            options["exif"][0x0112] = orientation
        picture = picture.convert(mode)
        if mode == "RGBA":  # a part is transparent
            picture.putalpha(picture.getchannel("G"))
        picture.save(FOLDER / name, **options)
        read = ImageOps.exif_transpose(Image.open(FOLDER / name)).convert("RGB")
        goldens[name] = {
            "width": read.width,
            "height": read.height,
            "pixels": pixels(read),
            "resized": [
                {"width": width, "height": height, "resampling": int(resampling),
                 "pixels": pixels(read.resize((width, height), resampling))}
                for (width, height), resampling in zip(SIZES, (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC))
            ],
        }  # fmt: skip
    (FOLDER / "goldens.json").write_text(json.dumps(goldens, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
