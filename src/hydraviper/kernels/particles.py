"""The physics, views and rewards of the particle worlds, for many episodes at once."""

import numba as nb
import numpy as np

TIME_STEP, DAMPING, FORCE = 0.1, 0.25, 5.0
AGENT_SIZE, CONTACT_FORCE, CONTACT_MARGIN = 0.15, 100.0, 1e-3


@nb.njit(cache=True, nogil=True, inline="always")
def draw(seeds, positions, landmarks, goals):
    """Fill positions and landmarks uniformly in [-1, 1]^2 and pick a goal, by splitmix64 from each episode's seed."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    for b in range(seeds.shape[0]):
        state = seeds[b]
        for group in range(3):
            count = positions.shape[1] if group == 0 else landmarks.shape[1] if group == 1 else 1
            for k in range(count):
                for d in range(2):
                    state += golden
                    z = state
                    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                    z = z ^ (z >> np.uint64(31))
                    unit = np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)
                    if group == 0:
                        positions[b, k, d] = 2.0 * unit - 1.0
                    elif group == 1:
                        landmarks[b, k, d] = 2.0 * unit - 1.0
                    elif d == 0:
                        goals[b] = np.int64(unit * landmarks.shape[1])


@nb.njit(cache=True, nogil=True, inline="always")
def move(positions, velocities, actions, collide, mpe2, force):
    """Forces, then velocity and position (mpe2: position first), for every episode; force [N, 2] is room to work in."""
    agents = positions.shape[1]
    for b in range(positions.shape[0]):
        for i in range(agents):
            action = actions[b, i]
            force[i, 0] = FORCE * ((action == 2) - (action == 1))
            force[i, 1] = FORCE * ((action == 4) - (action == 3))
        if collide:
            for i in range(agents):
                for j in range(i + 1, agents):
                    dx = positions[b, i, 0] - positions[b, j, 0]
                    dy = positions[b, i, 1] - positions[b, j, 1]
                    distance = np.sqrt(dx * dx + dy * dy)
                    depth = -(distance - 2.0 * AGENT_SIZE) / CONTACT_MARGIN
                    # softplus; below -40 it is smaller than any force that could change a bit of the result
                    if depth > -40.0:
                        penetration = (depth if depth > 40.0 else np.log1p(np.exp(depth))) * CONTACT_MARGIN
                        push = CONTACT_FORCE * penetration / distance
                        force[i, 0] += push * dx
                        force[i, 1] += push * dy
                        force[j, 0] -= push * dx
                        force[j, 1] -= push * dy
        for i in range(agents):
            for d in range(2):
                old = velocities[b, i, d]
                new = old * (1.0 - DAMPING) + force[i, d] * TIME_STEP
                velocities[b, i, d] = new
                positions[b, i, d] += (old if mpe2 else new) * TIME_STEP


@nb.njit(cache=True, nogil=True, inline="always")
def _look_around(row, column, positions, landmarks, b, i):
    """Write where landmarks and other agents lie as seen by agent i, from a column on; the first column behind."""
    x, y = positions[b, i, 0], positions[b, i, 1]
    for k in range(landmarks.shape[1]):
        row[column], row[column + 1] = landmarks[b, k, 0] - x, landmarks[b, k, 1] - y
        column += 2
    for j in range(positions.shape[1]):
        if j != i:
            row[column], row[column + 1] = positions[b, j, 0] - x, positions[b, j, 1] - y
            column += 2
    return column


@nb.njit(cache=True, nogil=True, inline="always")
def observe_navigation(positions, velocities, landmarks, out):
    """Write [N, B, F]: velocity, position, landmarks relative, others relative; communication stays 0."""
    for i in range(positions.shape[1]):
        for b in range(positions.shape[0]):
            row = out[i, b]
            row[0], row[1] = velocities[b, i, 0], velocities[b, i, 1]
            row[2], row[3] = positions[b, i, 0], positions[b, i, 1]
            column = _look_around(row, 4, positions, landmarks, b, i)
            for c in range(column, out.shape[2]):
                row[c] = 0.0


@nb.njit(cache=True, nogil=True, inline="always")
def reward_navigation(positions, landmarks, mpe2, rewards):
    """Minus the landmarks' distances to their nearest agent, minus collisions.

    Originally every agent collides with itself as well; mpe2 leaves that out and halves the sum.
    """
    agents = positions.shape[1]
    for b in range(positions.shape[0]):
        distances = 0.0
        for k in range(agents):
            nearest = np.inf
            for i in range(agents):
                dx = positions[b, i, 0] - landmarks[b, k, 0]
                dy = positions[b, i, 1] - landmarks[b, k, 1]
                nearest = min(nearest, dx * dx + dy * dy)
            distances += np.sqrt(nearest)
        for i in range(agents):
            collisions = 0.0
            for j in range(agents):
                dx = positions[b, i, 0] - positions[b, j, 0]
                dy = positions[b, i, 1] - positions[b, j, 1]
                if np.sqrt(dx * dx + dy * dy) < 2.0 * AGENT_SIZE:
                    collisions += 1.0
            rewards[b, i] = -0.5 * (distances + collisions - 1.0) if mpe2 else -distances - collisions


@nb.njit(cache=True, nogil=True, inline="always")
def observe_deception(positions, landmarks, goals, adversary, defenders):
    """Write the adversary's [B, F] and the defenders' [N - 1, B, F + 2] views; only defenders see the goal."""
    for b in range(positions.shape[0]):
        for i in range(positions.shape[1]):
            row, column = (adversary[b], 0) if i == 0 else (defenders[i - 1, b], 2)
            if i > 0:
                row[0] = landmarks[b, goals[b], 0] - positions[b, i, 0]
                row[1] = landmarks[b, goals[b], 1] - positions[b, i, 1]
            _look_around(row, column, positions, landmarks, b, i)


@nb.njit(cache=True, nogil=True, inline="always")
def reward_deception(positions, landmarks, goals, mpe2, rewards, adversary_distance):
    """Defenders: the adversary's distance to the goal minus their nearest one's. Adversary: minus its own."""
    for b in range(positions.shape[0]):
        goal = landmarks[b, goals[b]]
        nearest, adversary = np.inf, 0.0
        for i in range(positions.shape[1]):
            dx, dy = positions[b, i, 0] - goal[0], positions[b, i, 1] - goal[1]
            distance = np.sqrt(dx * dx + dy * dy)
            if i == 0:
                adversary = distance
            else:
                nearest = min(nearest, distance)
        rewards[b, 0] = -adversary if mpe2 else -adversary * adversary
        for i in range(1, positions.shape[1]):
            rewards[b, i] = adversary - nearest
        adversary_distance[b] += adversary
