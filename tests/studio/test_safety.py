"""The studio answers this machine alone, and shows nothing but its folder."""

from __future__ import annotations

import asyncio
import http.client
import json
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from hydraviper import InputError, Wish, edit, load_run
from hydraviper.runs.opening import playing
from hydraviper.runs.starting import NewRun
from hydraviper.studio.guard import Guard
from hydraviper.studio.jobs import Job
from hydraviper.studio.shelf import Shelf


def asked(port: int, path: str = "/", **head: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in {"Host": f"127.0.0.1:{port}", **head}.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read().decode(errors="replace")
    connection.close()
    return answer.status, body


@pytest.mark.slow
def test_foreign_names_and_origins_are_refused(studio):
    assert asked(studio.port)[0] == 200
    assert asked(studio.port, Host=f"localhost:{studio.port}")[0] == 200
    for host in ("evil.example", f"evil.example:{studio.port}", "127.0.0.1:1", ""):
        assert asked(studio.port, Host=host)[0] == 403
    for origin in ("http://evil.example", "null", f"http://evil.example:{studio.port}"):
        assert asked(studio.port, Origin=origin)[0] == 403
        assert asked(studio.port, "/_nicegui_ws/socket.io/?EIO=4&transport=polling", Origin=origin)[0] == 403
    assert asked(studio.port, Origin=studio.address)[0] == 200
    for view in ("trees", "follow", "replay", "questions", "correct"):
        assert "root:" not in asked(studio.port, f"/run/..%2F..%2Fetc%2Fpasswd/{view}")[1]
        assert "no run of this folder" in asked(studio.port, f"/run/%2e%2e/{view}")[1]


def test_websockets_of_other_origins_are_refused():
    sent = []

    async def application(scope, receive, send):
        sent.append("let in")

    async def send(message):
        sent.append(message["type"])

    guard = Guard(application, 80)
    for origin in (b"http://evil.example", b"http://localhost:80"):
        head = [(b"host", b"localhost:80"), (b"origin", origin)]
        with pytest.raises(StopIteration):  # it has run to its end, without an event loop
            guard({"type": "websocket", "headers": head, "query_string": b""}, None, send).send(None)
    assert sent == ["websocket.close", "let in"]


def test_beyond_this_machine_a_token_is_needed():
    sent = []

    async def application(scope, receive, send):
        sent.append("let in")

    async def send(message):
        if "status" in message:
            sent.append((message["status"], dict(message["headers"]).get(b"set-cookie", b"").partition(b";")[0]))

    guard = Guard(application, 80, ("here",), "right")
    for query, cookie in (
        (b"", b""),
        (b"token=wrong", b"studio-token=wrong"),
        (b"token=right", b""),
        (b"", b"a=b; studio-token=right"),
    ):
        scope = {"type": "http", "path": "/new", "query_string": query}
        with pytest.raises(StopIteration):
            guard({**scope, "headers": [(b"host", b"here:80"), (b"cookie", cookie)]}, None, send).send(None)
    assert sent == [(403, b""), (403, b""), (303, b"studio-token=right"), "let in"]


@pytest.mark.parametrize("name", ["..", ".", "", "../second", "/etc", "a/b", "a\0b", "link"])
def test_names_that_lead_elsewhere_are_refused(folder, tmp_path, name):
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(InputError, match="no run of this folder"):
        Shelf(folder).open(name)


@pytest.mark.parametrize("name", ["--trust", "-x"])
def test_no_option_is_smuggled_into_a_new_run(folder, name):
    with pytest.raises(InputError, match="begins with a dash"):
        Shelf(folder).start(NewRun(name))


BAD = '<img src=x onerror="window.stolen=1"><script>window.stolen=1</script>{{7*7}}${7*7}`"\'</svg>'


def hostile(path, text: dict, **changes) -> None:
    """A run with the trees of another one, changed."""
    path.mkdir()
    (path / "trees.json").write_text(json.dumps({**text, **changes}))


@pytest.mark.slow
def test_a_hostile_run_runs_no_script(page, studio):
    """Names with markup come in everywhere: agents, features, actions, the game, the run's folder, its edits."""
    path = studio.folder / "<img src=x onerror=stolen=1>"
    shutil.copytree(studio.folder / "first", path)
    text = json.loads((path / "trees.json").read_text())
    for agent in text["agents"]:
        agent["features"][:6] = [f"{BAD}{k}" for k in range(6)]
        agent["actions"][:2] = [f"{BAD}{k}" for k in range(2)]
    text["agents"][0]["name"] = BAD
    (path / "trees.json").write_text(json.dumps(text))
    summary = json.loads((path / "summary.json").read_text())
    summary["game"] = summary["algorithm"] = summary["score"]["name"] = BAD
    (path / "summary.json").write_text(json.dumps(summary))
    address = f"/run/{quote(path.name, safe='')}"
    try:
        views = [f"{address}/{view}" for view in ("trees", "correct", "replay", "questions", "follow")]
        for view in ("/", f"/compare?runs={quote(path.name)},first", *views):
            page.goto(studio.address + view)
            page.get_by_role("heading", level=1).wait_for()
            if view.endswith(("trees", "correct")):
                page.locator("g.node").first.press("Enter")
                page.get_by_role("heading", name="Node 0: ").wait_for()
            page.wait_for_timeout(200)
            assert page.evaluate("window.stolen") is None
            assert "49" not in page.locator("h1").inner_text()
    finally:
        shutil.rmtree(path)


@pytest.mark.slow
def test_huge_deep_and_cyclic_trees_get_a_sentence_and_do_not_stop_the_studio(page, studio):
    text = json.loads((studio.folder / "first" / "trees.json").read_text())
    agent, tree = text["agents"][0], text["agents"][0]["tree"]
    size = len(tree["feature"])
    inner = next(k for k in range(1, size) if tree["feature"][k] >= 0)
    cycle = {**tree, "left": [0 if k == inner else child for k, child in enumerate(tree["left"])]}
    runs = {
        "cyclic": (cycle, agent["features"], "tree"),
        "deep": (_comb(300, tree), agent["features"], "levels"),
        "huge": (_comb(150, tree, width=40), agent["features"], "nodes"),
        "wordy": (tree, ["x" * 5_000_000, *agent["features"][1:]], "letters"),
        "heavy": (tree, ["x" * 25_000_000, *agent["features"][1:]], "MB"),
    }
    try:
        for name, (changed, features, _) in runs.items():
            agents = [{**agent, "tree": changed, "features": features}, *text["agents"][1:]]
            hostile(studio.folder / name, text, agents=agents)
        for name, (_, _, word) in runs.items():
            for view in ("trees", "correct", "replay"):
                start = time.monotonic()
                assert word in asked(studio.port, f"/run/{name}/{view}")[1]
                assert time.monotonic() - start < 20
        page.goto(studio.address)
        page.get_by_role("link", name="cyclic").wait_for()
    finally:
        for name in runs:
            shutil.rmtree(studio.folder / name)


def _comb(depth: int, tree: dict, width: int = 1) -> dict:
    """A tree that goes on to the right, and on `width` first levels has a copy of the rest at the left."""
    feature, threshold, left, right = [], [], [], []

    def grow(levels: int, copies: int) -> int:
        node = len(feature)
        feature.append(-1 if levels == 0 else 0)
        threshold.append(0.0)
        left.append(-1)
        right.append(-1)
        if levels:
            left[node] = grow(0 if copies == 0 else levels - 1, 0)
            right[node] = grow(levels - 1, max(copies - 1, 0))
        return node

    recursion = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    grow(depth, width)
    sys.setrecursionlimit(recursion)
    actions = len(tree["counts"][0])
    made = {"feature": feature, "threshold": threshold, "left": left, "right": right, "action": [0] * len(feature)}
    return {**tree, **made, "counts": [[1.0] * actions] * len(feature)}


def test_runs_that_cannot_be_read_are_listed_with_the_reason(folder):
    (folder / "first" / "summary.json").write_text('{"game": 3}')
    (folder / "second" / "trees.json").write_text("[" * 100_000)
    found = {one.name: one for one in Shelf(folder).runs()}
    assert "does not fit" in found["first"].problem
    with pytest.raises(InputError):
        Shelf(folder).open("second")


def test_a_browser_that_leaves_before_the_answer_makes_nobody_fail():
    sent = []

    async def breaks(scope, receive, send):  # as engine.io does, which takes the end for a request
        assert (await receive())["type"] == "http.request"

    async def silent(scope, receive, send):
        await receive()

    async def gone():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message["type"])

    def ask(application, receive):  # in a thread of its own: the browser's driver has a loop in this one
        scope = {"type": "http", "path": "/", "query_string": b"", "headers": [(b"host", b"localhost:80")]}
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lambda: asyncio.run(Guard(application, 80)(scope, receive, send))).result()

    for application in (breaks, silent):
        ask(application, gone)
    assert sent == 2 * ["http.response.start", "http.response.body"]

    async def stays():
        return {"type": "http.disguised"}

    with pytest.raises(AssertionError):
        ask(breaks, stays)


def test_a_job_counts_episodes_and_plays_them_as_the_engine_does(navigation, example):
    run = load_run(example)
    wish = Wish(0, cut=True)
    job = Job("Both versions play", 40)
    with playing(run.game, None, 1) as engine, playing(run.game, engine, 1, job.reach) as telling:
        counted = edit(run, "agent-0", wish, episodes=20, dry_run=True, engine=telling)
        alone = edit(run, "agent-0", wish, episodes=20, dry_run=True, engine=engine)
    assert str(counted) == str(alone)
    assert job.done == 40
    job.done, job.began = 10, time.monotonic() - 10
    assert "10 of 40 episodes, about 30 s left" in str(job)
