"""Are the prover's answers right? Random cases, checked by means that share nothing with it."""
