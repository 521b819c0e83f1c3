"""Figure on agent clustering: six ways to put the signals of the Ingolstadt corridor into two teams."""

from hydraviper.settings import PARTITIONS
from hydraviper.studies.design import Arm, Study
from hydraviper.studies.published import INGOLSTADT

STUDY = Study(
    name="clustering",
    title="Agent clustering on the Ingolstadt corridor",
    about="HYDRAVIPER with all seven signals in one team, and with two teams found in five ways.",
    arms=tuple(
        Arm("hydraviper", level, level, {"partition": partition}, label=partition)
        for level in ("high", "low")
        for partition in PARTITIONS
    ),
    games=(INGOLSTADT,),
    experts={INGOLSTADT: ("mplight-joint",)},  # local values cannot tell who influences whom
    figures=("bars", "tradeoff", "steps"),
    reference="none",
    questions=("rq3",),
    timed=True,
)
