"""Films of an episode: vehicles and lights where they are, in a file that others can play."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageColor

from hydraviper.data import InputError
from hydraviper.drawing import film
from hydraviper.geometry import Car, Frame, Lane, MapSignal, RoadMap

SIGNAL = MapSignal("signal-1", "A", (0.0, 0.0), ("east-west",), ("west", "south"))
FAR = MapSignal("signal-2", "B", (500.0, 100.0), ("east-west",), ("east",))
LANES = {
    "west": Lane(((-190.0, 0.0), (-10.0, 0.0)), 6.0),
    "south": Lane(((0.0, -190.0), (0.0, -10.0)), 6.0),
    "east": Lane(((700.0, 100.0), (510.0, 100.0)), 6.0),
}
MAP = RoadMap(LANES, (), (SIGNAL, FAR))
STANDING, DRIVING = Car((-40.0, 0.0), 90.0, 20.0, 0.0), Car((0.0, -100.0), 0.0, 20.0, 13.0)
FRAMES = [Frame(float(k), (STANDING, DRIVING), {"west": "r", "south": "G"}, 3 * k) for k in range(4)]


def is_near(pixel, colour: str) -> bool:
    return all(abs(a - b) <= 8 for a, b in zip(pixel, ImageColor.getrgb(colour), strict=True))


def at(studio: film.Film, point) -> tuple[int, int]:
    return tuple(round(value) for value in studio._place(point))


def test_vehicles_and_lights_are_where_they_are():
    studio = film.Film(MAP, "a crossing")
    picture = studio.picture(FRAMES[0])
    assert picture.size == studio.size
    seen = {
        point: picture.getpixel(at(studio, point)) for point in ((-50, 0), (0, -110), (-10, 0), (0, -10), (-120, 0))
    }
    assert is_near(seen[-50, 0], film.WAITS)
    assert is_near(seen[0, -110], film.GOES)
    assert is_near(seen[-10, 0], film.RED)
    assert is_near(seen[0, -10], film.LIGHTS["G"])
    assert is_near(seen[-120, 0], film.ROAD)
    assert is_near(picture.getpixel(at(studio, (-100, -100))), "#ffffff")


def test_around_a_signal_everything_is_larger():
    near, whole = film.Film(MAP, "", SIGNAL.position), film.Film(MAP, "")
    assert near._scale > whole._scale
    assert near._place((0, 0)) == pytest.approx((near.size[0] / 2, (near.size[1] + film._HEAD) / 2), abs=1)


def test_words_tell_the_time_and_who_stands():
    assert film.told(FRAMES[0]) == "00:00   2 vehicles, 1 standing (orange)"
    assert film.told(Frame(754.0, (), {}, 12)) == "12:34   0 vehicles, 0 standing (orange), 12 waiting to enter"


def test_a_gif_holds_all_pictures_and_their_colours(tmp_path: Path):
    studio = film.Film(MAP, "a crossing")
    path = tmp_path / "new" / "film.gif"
    film.write(path, map(studio.picture, FRAMES), studio.size, 12.5)
    with Image.open(path) as written:
        assert (written.n_frames, written.size) == (4, studio.size)
        assert written.info["duration"] == 80
        written.seek(3)
        pixel = written.convert("RGB").getpixel(at(studio, (-50, 0)))
    assert is_near(pixel, film.WAITS)
    assert [entry.name for entry in path.parent.iterdir()] == ["film.gif"]  # nothing half done


def test_other_films_are_written_by_ffmpeg(tmp_path: Path, monkeypatch):
    """A program that takes what ffmpeg takes: as many pictures of the right size as there are."""
    studio, seen = film.Film(MAP, "a crossing"), tmp_path / "seen"
    program = tmp_path / "ffmpeg"
    program.write_text(f'#!/bin/sh\necho "$@" > {seen}.words\nfor last; do :; done\nwc -c > "$last"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    film.check(tmp_path / "film.mp4")
    film.write(tmp_path / "film.mp4", map(studio.picture, FRAMES), studio.size, 12.5)
    wide, tall = studio.size
    assert int((tmp_path / "film.mp4").read_text()) == 4 * 3 * wide * tall
    words = Path(f"{seen}.words").read_text()
    assert f"-s {wide}x{tall} -r 12.5" in words
    assert wide % 2 == tall % 2 == 0  # else it refuses
    program.write_text("#!/bin/sh\ncat > /dev/null\necho no such codec >&2\nexit 1\n")
    with pytest.raises(film.JobError, match="no such codec"):
        film.write(tmp_path / "film.webm", map(studio.picture, FRAMES), studio.size, 12.5)
    assert not (tmp_path / "film.webm").exists()


def test_what_cannot_be_written_is_refused_at_once(tmp_path: Path, monkeypatch):
    with pytest.raises(InputError, match=r"ends in \.gif, \.mp4 or \.webm"):
        film.check(tmp_path / "film.avi")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(film, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs ffmpeg.*\.gif"):
        film.check(tmp_path / "film.mp4")
    film.check(tmp_path / "film.gif")

    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(film, "import_module", missing)
    with pytest.raises(InputError, match="pip install 'hydraviper\\[video\\]'"):
        film.check(tmp_path / "film.gif")
