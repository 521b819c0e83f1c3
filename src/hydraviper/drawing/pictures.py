"""Pictures made of pixels, as PNG inside a page."""

import base64
import struct
import zlib

import numpy as np


def to_png(pixels: np.ndarray) -> bytes:
    """An RGB picture [H, W, 3] uint8 as a PNG file."""
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # every row begins with the number of its filter, 0: none
    rows[:, 1:] = pixels.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )


def smaller(pixels: np.ndarray, most: int) -> np.ndarray:
    """The picture with at most so many pixels on its longer side: each is the mean of those that it stands for."""
    times = -(-max(pixels.shape[:2]) // most)
    if times == 1:
        return pixels
    height, width = (size // times * times for size in pixels.shape[:2])
    blocks = pixels[:height, :width].reshape(height // times, times, width // times, times, 3)
    return blocks.mean(axis=(1, 3)).round().astype(np.uint8)


def image(pixels: np.ndarray, words: str) -> str:
    """An `<img>` that holds the picture itself; `words` must be escaped."""
    height, width, _ = pixels.shape
    content = base64.b64encode(to_png(pixels)).decode()
    return f'<img src="data:image/png;base64,{content}" width="{width}" height="{height}" alt="{words}">'
