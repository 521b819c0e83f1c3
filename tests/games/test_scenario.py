"""What is loaded of a .sumocfg and its files: nothing is written, nothing listens, nothing grows without end."""

from __future__ import annotations

import gzip
import os
from xml.etree import ElementTree

import numpy as np
import pytest

import hydraviper
from hydraviper.games import scenario
from tests.helpers.command_line import refuses
from tests.helpers.street import FOLDER, configuration

SEEDS = np.arange(2, dtype=np.uint64)
PRECIOUS = "a thesis"
# Options that make SUMO write or wait, by every name that it knows for them.
WRITING = """
    tripinfo-output tripinfo summary-output summary vehroute-output vehroutes netstate-dump ndump netstate
    netstate-output fcd-output emission-output battery-output queue-output full-output vtk-output amitran-output
    link-output lanechange-output stop-output collision-output edgedata-output lanedata-output statistic-output
    statistics-output deadlock-output person-summary-output personinfo-output personroute-output bt-output
    railsignal-block-output device.ssm.file device.toc.file device.rerouting.output
    device.taxi.dispatch-algorithm.output log l log-file message-log error-log save-configuration C save-template
    save-schema save-state.files pedestrian.jupedsim.wkt pedestrian.jupedsim.py
"""


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "thesis.txt"
    path.write_text(PRECIOUS)
    return path


def play(file):
    """Two episodes to their ends: SUMO writes most of its files then."""
    game = hydraviper.make(f"traffic:{file},steps=3")
    return game, hydraviper.play(game, game.offers.scoring.yardsticks["longest queue"], SEEDS)


def additional(folder, content, name="own.add.xml"):
    path = folder / name
    path.write_text(f"<additional>{content}</additional>")
    return path


@pytest.mark.parametrize("option", WRITING.split())
def test_no_option_writes(tmp_path, victim, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    more = {"save-state.files": {"save-state_times": 10}}.get(option, {})
    file = configuration(tmp_path, **{option: victim, "device.ssm.probability": 1, **more})
    inputs = scenario.read(file)
    assert option in inputs.left_out
    assert str(victim) not in " ".join(scenario.Scenario(file).arguments(0))
    if option in ("tripinfo", "l", "save-state.files"):  # the rest are like these
        game, _ = play(file)
        assert any(option in note for note in game.offers.notes)
    assert victim.read_text() == PRECIOUS
    assert {path.name for path in tmp_path.iterdir()} == {"own.sumocfg", "thesis.txt"}


WRITERS = {
    "e1": '<e1Detector id="d" lane="WA_0" pos="10" period="10" file="{}"/>',
    "instant": '<instantInductionLoop id="d" lane="WA_0" pos="10" file="{}"/>',
    "e2": '<e2Detector id="d" lane="WA_0" pos="1" length="9" period="10" file="{}"/>',
    "e3": '<e3Detector id="d" period="10" file="{}"><detEntry lane="WA_0" pos="1"/>'
    '<detExit lane="WA_0" pos="20"/></e3Detector>',
    "edges": '<edgeData id="d" file="{}" period="10"/>',
    "lanes": '<laneData id="d" file="{}"/>',
    "probe": '<routeProbe id="d" edge="WA" period="10" file="{}"/>',
    "types": '<vTypeProbe id="d" period="10" file="{}"/>',
    "event": '<timedEvent type="SaveTLSStates" source="A" dest="{}"/>',
    "switches": '<timedEvent type="SaveTLSSwitchStates" source="A" dest="{}"/>',
    "calibrator": '<calibrator id="d" edge="WA" pos="0" output="{}"><flow begin="0" end="99" vehsPerHour="100"'
    ' from="WA" to="BE" type="DEFAULT_VEHTYPE"/></calibrator>',
    "actuated": '<tlLogic id="A" type="actuated" programID="1" offset="0"><param key="file" value="{}"/>'
    '<param key="freq" value="10"/><phase duration="30" minDur="5" maxDur="40" state="rrrGGgrrrGGg"/>'
    '<phase duration="30" minDur="5" maxDur="40" state="GGgrrrGGgrrr"/></tlLogic>',
    "ssm": '<vType id="t"><param key="has.ssm.device" value="true"/><param key="device.ssm.file" value="{}"/></vType>'
    '<flow id="f" type="t" begin="0" end="60" period="3" from="WA" to="BE"/>',
    "entity in a key": '<vType id="t"><param key="has.ssm.device" value="true"/>'
    '<param key="device.ssm&#46;file" value="{}"/></vType>'
    '<flow id="f" type="t" begin="0" end="60" period="3" from="WA" to="BE"/>',
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRITERS)
def test_no_element_writes(tmp_path, victim, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = configuration(tmp_path, additional_files=additional(tmp_path, WRITERS[kind].format(victim)))
    game, _ = play(file)
    assert any("thesis.txt" in note for note in game.offers.notes)
    assert victim.read_text() == PRECIOUS
    assert {path.name for path in tmp_path.iterdir()} == {"own.add.xml", "own.sumocfg", "thesis.txt"}


def test_vehicles_devices_write_nothing_by_themselves(tmp_path, monkeypatch):
    """A vehicle with a device for conflicts writes ssm_*.xml where SUMO runs, unless it is told not to."""
    monkeypatch.chdir(tmp_path)
    content = WRITERS["ssm"].replace('<param key="device.ssm.file" value="{}"/>', "")
    play(configuration(tmp_path, additional_files=additional(tmp_path, content)))
    assert {path.name for path in tmp_path.iterdir()} == {"own.add.xml", "own.sumocfg"}


def test_networks_and_routes_write_nothing(tmp_path, victim):
    """SUMO reads networks and additional files alike, and routes carry devices."""
    net, routes = tmp_path / "own.net.xml", tmp_path / "own.rou.xml"
    tree = ElementTree.parse(FOLDER / "street.net.xml")
    tree.getroot().append(ElementTree.fromstring(WRITERS["e1"].format(victim)))
    tree.write(net)
    device = f'<vType id="t">{WRITERS["ssm"].format(victim).partition("</vType>")[0].partition(">")[2]}</vType>'
    routes.write_text((FOLDER / "street.rou.xml").read_text().replace("<routes>", f"<routes>{device}"))
    file = configuration(tmp_path, net_file=net, route_files=routes)
    _, played = play(file)
    assert victim.read_text() == PRECIOUS
    plain = configuration(tmp_path)
    np.testing.assert_array_equal(played.returns, play(plain)[1].returns)  # the copy is the same network


def test_map_of_a_hostile_scenario_writes_nothing(call, tmp_path, victim):
    extra = additional(tmp_path, WRITERS["e1"].format(victim))
    file = configuration(tmp_path, additional_files=extra, summary=victim, log_file=victim)
    code, printed, complaint = call("map", f"traffic:{file}")
    assert code == 0, complaint
    assert "<svg" in printed
    assert victim.read_text() == PRECIOUS


def test_what_listens_or_asks_for_another_seed_is_left_out(tmp_path):
    plain = play(configuration(tmp_path))[1]
    game, played = play(configuration(tmp_path, random="true", remote_port=51234, num_clients=2, seed=7, threads=4))
    np.testing.assert_array_equal(played.returns, plain.returns)
    assert "remote-port" in game.offers.notes[0]
    again = play(configuration(tmp_path, abs_rand="true"))[1]  # SUMO's other name for it
    np.testing.assert_array_equal(again.returns, plain.returns)


LAUGHS = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>'


def test_entities_are_refused_in_every_file(call, tmp_path):
    file = configuration(tmp_path)
    (tmp_path / "deep.xml").write_text("<a>" * 300 + "</a>" * 300)
    deep = configuration(tmp_path, additional_files=tmp_path / "deep.xml")
    refuses(call, "more than 100 elements inside one another", "map", f"traffic:{deep}")
    (tmp_path / "deep.xml").write_text("<net/>")
    refuses(call, "has no <edge> in it", "map", f"traffic:{configuration(tmp_path, net_file=tmp_path / 'deep.xml')}")
    file = configuration(tmp_path)
    file.write_text(LAUGHS + file.read_text().replace("<configuration>", '<configuration><begin value="&c;"/>'))
    refuses(call, "hydraviper: " + str(file) + " has a document type", "map", f"traffic:{file}")
    bomb = tmp_path / "bomb.xml"
    bomb.write_text(LAUGHS + "<additional>&c;</additional>")
    for option in ("net_file", "route_files", "additional_files"):
        refuses(call, "bomb.xml has a document type", "map", f"traffic:{configuration(tmp_path, **{option: bomb})}")


def test_a_file_in_another_encoding_is_read_all_the_same(tmp_path, victim):
    """UTF-16 hides names from whoever looks for bytes."""
    extra = tmp_path / "own.add.xml"
    text = f'<?xml version="1.0" encoding="UTF-16"?><additional>{WRITERS["e1"].format(victim)}</additional>'
    extra.write_bytes(text.encode("utf-16"))
    play(configuration(tmp_path, additional_files=extra))
    assert victim.read_text() == PRECIOUS


def test_packed_files_are_played_and_bombs_are_not(call, tmp_path, monkeypatch):
    packed = {}
    for name, option in (("street.net.xml", "net_file"), ("street.rou.xml", "route_files")):
        packed[option] = tmp_path / f"{name}.gz"
        packed[option].write_bytes(gzip.compress((FOLDER / name).read_bytes()))
    plain = play(configuration(tmp_path))[1]
    np.testing.assert_array_equal(play(configuration(tmp_path, **packed))[1].returns, plain.returns)
    monkeypatch.setattr("hydraviper.games.sumo_files.LARGEST", 2**21)
    packed["net_file"].write_bytes(gzip.compress(b"<net>" + b" " * 2**23))
    refuses(call, "is larger than 2 MB", "map", f"traffic:{configuration(tmp_path, **packed)}")
    packed["net_file"].write_bytes(gzip.compress(b"<net></net>")[:-9])
    refuses(call, "cannot be read", "map", f"traffic:{configuration(tmp_path, **packed)}")


def test_what_is_no_plain_file_is_refused(call, tmp_path):
    os.mkfifo(tmp_path / "pipe.xml")
    for other in (tmp_path / "pipe.xml", "/dev/zero", "/proc/kmsg", tmp_path, tmp_path / "missing.xml", "x" * 5000):
        refuses(call, "is not accessible", "map", f"traffic:{configuration(tmp_path, route_files=other)}")
    include = additional(tmp_path, '<include href="/etc/passwd"/>')
    refuses(call, "includes another file", "map", f"traffic:{configuration(tmp_path, additional_files=include)}")


def test_files_that_a_file_reads_are_found_beside_it(tmp_path):
    """A rerouter may keep its definitions in a file of its own; a copy in memory must still find it."""
    rules = '<rerouter><interval begin="0" end="9"><destProbReroute id="BE" probability="1"/></interval></rerouter>'
    (tmp_path / "rules.xml").write_text(rules)
    extra = additional(tmp_path, '<rerouter id="r" edges="WA" file="rules.xml"/>' + WRITERS["e1"].format("own.xml"))
    file = configuration(tmp_path, additional_files=extra)
    game, _ = play(file)
    assert tmp_path / "rules.xml" in scenario.files_of(file)
    (tmp_path / "rules.xml").write_text(rules.replace('end="9"', 'end="8"'))
    assert hydraviper.make(f"traffic:{file},steps=3").offers.content != game.offers.content


def test_errors_name_the_users_file_and_not_its_copy(call, tmp_path):
    broken = additional(tmp_path, WRITERS["e1"].replace("WA_0", "nowhere_0").format("own.xml"))
    code, _, complaint = call("map", f"traffic:{configuration(tmp_path, additional_files=broken)}")
    assert code == 2
    assert "nowhere_0" in complaint
    assert "/proc/self" not in complaint


def test_folders_with_odd_names_are_played(tmp_path):
    folder = tmp_path / "a, b; $HOME ~"
    folder.mkdir()
    for name in ("street.net.xml", "street.rou.xml"):
        (folder / name).write_bytes((FOLDER / name).read_bytes())
    (folder / "own.sumocfg").write_text(
        "<configuration><input><net>street.net.xml</net><r v='street.rou.xml'/></input></configuration>"
    )
    played = hydraviper.play(
        game := hydraviper.make("traffic", {"file": str(folder / "own.sumocfg"), "steps": 3}),
        game.offers.scoring.yardsticks["longest queue"],
        SEEDS,
    )
    np.testing.assert_array_equal(played.returns, play(configuration(tmp_path))[1].returns)


def test_physics_options_still_count(tmp_path):
    slow = configuration(tmp_path, step_length="0.5", scale="0.5", **{"time-to-teleport.highways": "0"})
    inputs = scenario.read(slow)
    assert dict(inputs.options) == {"step-length": "0.5", "scale": "0.5", "time-to-teleport.highways": "0"}
    assert inputs.left_out == ()
    assert (play(slow)[1].returns > play(configuration(tmp_path))[1].returns).any()


def test_numbers_that_bring_sumo_down_are_refused(call, tmp_path):
    numbers = {"thread_rngs": (0, 10**9), "step_length": (1e-9, 2), "scale": ("inf",)}
    for option, value in ((option, value) for option, values in numbers.items() for value in values):
        refuses(call, f"of {value}: choose one", "map", f"traffic:{configuration(tmp_path, **{option: value})}")
    refuses(call, "asks for mesosim", "map", f"traffic:{configuration(tmp_path, mesosim='true')}")
    assert hydraviper.make(f"traffic:{configuration(tmp_path, mesosim='false')},steps=3").offers.notes == ()
    broken = configuration(tmp_path, ignore_route_errors="maybe")
    refuses(call, "While processing option 'ignore-route-errors'", "map", f"traffic:{broken}")


def test_the_content_is_that_of_all_files(tmp_path):
    names = {"net_file": "street.net.xml", "route_files": "street.rou.xml", "additional_files": "one-phase.add.xml"}
    own = {option: tmp_path / name for option, name in names.items()}
    for path in own.values():
        path.write_bytes((FOLDER / path.name).read_bytes())

    def content(**more):
        return scenario.Scenario(configuration(tmp_path, **own, **more)).content

    seen = {content(), content(begin=5)}
    assert content(summary="elsewhere.xml") in seen  # what is left out does not count
    for path in own.values():
        path.write_text(path.read_text() + "<!-- changed -->")
        seen.add(content())
    assert len(seen) == 5
    assert set(scenario.files_of(tmp_path / "own.sumocfg")) == {tmp_path / "own.sumocfg", *own.values()}
