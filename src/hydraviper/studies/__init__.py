"""The paper's tables and figures by command, and studies of one's own.

A study is a folder here with a `STUDY` (`study.Study`): arms that are compared in every game, questions that its
report answers, figures and tables beside the usual ones. `epsilon` is the smallest to copy. A new one is added to
`catalogue.STUDIES`; the rest follows from it:

    study       Study, what a study consists of; design has its arms
    cells       one job of a study and its result, as stored
    planning    which cells a call asks for
    runner      runs them, several at once, resumable
    results     the folder they are stored in; adopting takes results from elsewhere
    rows        results of an arm in a game, gathered over seeds
    claims      comparisons between rows, from which questions are answered
    figures, tables, report    what is told of them
    conduct, check             all of it in one call
    paper       the numbers that the paper publishes
"""
