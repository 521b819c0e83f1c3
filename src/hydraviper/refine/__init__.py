"""Refinement: a direct search over a team's trees for a better score than imitation of the expert can give.

    search.py       refine(): checks its inputs, chooses a way of searching, and compares the result on held-out seeds
    records.py      settings, the state that the ways of searching share, and the result

Where the game has a compiled arena and episodes are cheap:

    annealing.py    islands are annealed side by side, the best survive, the winner is tidied
    islands.py      one island: simulated annealing of a team's trees
    crossover.py    trees taken over from other islands
    budget.py       how seconds and rollouts are divided

Where episodes are dear, or the game is not compiled:

    racing.py       candidates, proposed without playing, are raced by successive halving
    experience.py   what actions are worth, by fitted Q-evaluation

For both:

    starts.py       trees that imitate the game's scripted rules
    moves.py        random changes of one tree
"""
