"""The sentences that families of errors are made of: `(a|b)` is a choice, `@x` a rule named beside it."""
