"""One module per noun of `answerbus NOUN`: options, calls into the other packages, tables or JSON."""
