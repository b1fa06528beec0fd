"""The sentences that error families are made of, as templates: `(a|b)` is a choice, `@x` a rule of the slots."""
