"""What the paper's table beside its figure on clustering has."""

from hydraviper.data import Estimate

# Figure on clustering, its table: seconds on the Ingolstadt corridor at the high budget, and the partition of the worst
# of ten seeds (signals from south to north, numbered from 1).
SECONDS = {
    "none": Estimate(11263.8, 55.8, 10),
    "random": Estimate(6925.5, 897.0, 10),
    "contiguous": Estimate(6731.3, 214.3, 10),
    "graph-metis": Estimate(6026.4, 39.1, 10),
    "marginal-kmeans": Estimate(8538.0, 643.0, 10),
    "marginal-metis": Estimate(6067.5, 57.0, 10),
}
WORST = {
    "none": ((1, 2, 3, 4, 5, 6, 7),),
    "random": ((1, 2, 3, 6, 7), (4, 5)),
    "contiguous": ((1, 2, 3), (4, 5, 6, 7)),
    "graph-metis": ((1, 2, 3), (4, 5, 6, 7)),
    "marginal-kmeans": ((1, 2, 3, 4, 6, 7), (5,)),
    "marginal-metis": ((1, 2, 4, 7), (3, 5, 6)),
}
JOINT_ACTIONS = {"none": 1944, "clustered": 72}  # of the largest team
SAVES = 0.47  # "the total runtime of HYDRAVIPER by up to 47 %"
