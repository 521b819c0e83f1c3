"""`hydraviper studio`: a web page to look at runs, question them, correct them and compare them.

It stands on the public names and on the runs' room, so that the command line can do what the page does.
"""
