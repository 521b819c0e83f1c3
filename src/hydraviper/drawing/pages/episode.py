"""The report's pictures of an episode."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from hydraviper.drawing.pictures import image, smaller

SIDE = 320  # pixels of a picture's longer side


@dataclass(frozen=True)
class Film:
    """Pictures of an episode that the trees play, or why there are none."""

    seed: int
    pictures: Sequence[tuple[int, np.ndarray]] = ()  # step, RGB uint8 [H, W, 3]
    problem: str = ""


def episode(film: Film | None) -> str:
    """A strip of pictures with the steps under them; nothing for a game that cannot be drawn."""
    if film is None:
        return ""
    if not film.pictures:
        return f"<h2>An episode</h2>\n<p>It could not be drawn: {escape(film.problem)}</p>"
    frames = "".join(
        f"<figure>{image(smaller(pixels, SIDE), f'step {step}')}<figcaption>step {step}</figcaption></figure>"
        for step, pixels in film.pictures
    )
    last = film.pictures[-1][0]
    words = f"The trees play the first unseen episode (seed {film.seed}), which takes {last} steps."
    return f'<h2>An episode</h2>\n<p>{escape(words)}</p>\n<div class="film">{frames}</div>'
