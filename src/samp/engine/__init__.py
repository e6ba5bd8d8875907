"""The engine: Algorithm 1 as a walk that yields Steps, and what is made of them.

`problem` poses the question, `walk` takes the steps, `paths` and `step_rules` say where to and how far, `credit` and
`concave_credit` what each step earned, `record` what is kept, and `driver` walks every sample in batches that fit.
"""
