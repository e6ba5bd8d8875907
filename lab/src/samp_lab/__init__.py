"""The laboratory of samp: the paper's tables and figures as experiments that can be run, resumed and extended.

- `registry` lists all experiments; each is a module in `tables`, `figures` or `theory`.
- An experiment names its measurements (`measurements`): each yields one number per image of a setup (`setups`: a data
  set, a net and a protocol).
- `workspace` holds the nets and images of a run, `runner` measures what the `store` does not hold yet, and `reproduce`
  does both for whole experiments, then draws their figures.
- `report` writes the results beside the paper's, with verdicts by the rule in `statistics`.
- `datasets`, `nets` and `training` read data and make nets; `bench` times samp itself.
"""

__version__ = "0.2.0"  # that of samp, whose laboratory this is
