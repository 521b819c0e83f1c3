"""Verification: proofs and counterexamples for properties of trees, trees that keep properties, and repairs.

Data passes from a file of properties to verdicts like this:

    properties.py   a TOML file, or one of shipped/, becomes properties: texts in a checked form
    scene.py        the agents and features that these texts can name
    world.py        which observations can occur: domains and facts
    obligations.py  properties become obligations: every name and variable resolved, one obligation per case
    meaning.py      the definition: does an obligation apply to given observations, is it violated
    facts.py        a check of domains and facts on episodes that are really played
    prover/         obligations and trees become regions, and these a proof, a counterexample or neither
    verdicts.py     what the prover says of each property, and counterexamples in words

Trees that keep obligations are made from the same:

    bounds.py       one agent's obligations as boxes that allow only some actions
    growth.py       training within bounds
    mending.py      the smallest change of a tree that keeps to bounds
    constraints.py  obligations for all agents of a training, and a guard for later changes
    repair.py       existing trees changed until every property holds
"""
