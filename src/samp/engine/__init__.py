"""The engine: Algorithm 1 as a generator of Steps, and the attributions computed from them.

`problem` holds the model, inputs and target; `walk` takes the steps; `paths` chooses the next point and bounds the step
length; `credit` and `concave_credit` compute the credit of each step; `record` collects the results; `driver` walks
every sample in batches that fit into memory.
"""
