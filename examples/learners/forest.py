"""A random forest in place of trees: what imitation could reach if nobody had to read it.

python examples/learners/forest.py

A forest has a score and no drawing: it cannot be proved, edited or exported. hydraviper's own forest, which grows on
the same histograms as its trees, is `hydraviper distill GAME --learner forest`.
"""

from sklearn.ensemble import RandomForestClassifier

import hydraviper

FOREST = RandomForestClassifier(n_estimators=20, max_depth=8, n_jobs=1, random_state=0)

if __name__ == "__main__":
    game = hydraviper.make("cooperative-navigation")
    expert = hydraviper.shipped_expert(game)
    settings = hydraviper.Settings(train_budget=40, valid_budget=100, iterations=3)
    result = hydraviper.distill(game, expert, settings, hydraviper.VARIANTS["hydraviper"].with_classifier(FOREST))
    scores = hydraviper.evaluate(result, episodes=500)
    print(f"{game.score.name}: trees {scores.score:.1f}, expert {scores.expert:.1f}")
