"""From a game and an expert to coordinated trees, and what they are worth next to the expert."""

import hydraviper

game = hydraviper.make("cooperative-navigation")
expert = hydraviper.shipped_expert(game)
result = hydraviper.distill(game, expert, hydraviper.Settings(train_budget=100, valid_budget=200, iterations=20))

scores = hydraviper.evaluate(result, episodes=500)
print(f"{game.score.name}: trees {scores.score:.1f}, expert {scores.expert:.1f}")

for agent, tree in result.profile.students.items():
    print(f"{game.agents[agent].name}: {tree.leaves} leaves, {tree.depth} questions at most")
